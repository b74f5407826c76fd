// Source: the text of a manifest, and where in it a byte stands; Problems: what is wrong with it, collected.
//
// Everything in this room speaks of byte offsets; only span() turns them into lines and columns, counted the way an
// editor does (a line ends at '\n'). A byte order mark at the start is part of the text and of its first line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace cordon::policy::manifest {

class Source {
 public:
  Source(std::string_view text, std::string_view file);

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::string_view slice(std::size_t begin, std::size_t end) const;

  /// The place of [begin, end), cut at the end of its first line; at least one byte long.
  [[nodiscard]] base::Span span(std::size_t begin, std::size_t end) const;

  /// Start of the line that holds `offset`, and one past its last byte (the '\n' not counted).
  [[nodiscard]] std::size_t line_begin(std::size_t offset) const;
  [[nodiscard]] std::size_t line_end(std::size_t offset) const;

  /// libyaml counts runes, not bytes; this is the byte offset of its `index`.
  [[nodiscard]] std::size_t offset_of_rune(std::size_t index) const;

 private:
  std::string_view text_;
  std::string file_;
  std::vector<std::uint32_t> line_starts_;
  std::vector<std::uint32_t> rune_offsets_;  ///< empty where every rune is one byte
};

/// Collects errors, and apart from them warnings and notes. Bounded: a hostile text can hold half a million mistakes.
class Problems {
 public:
  static constexpr std::size_t kMost = 50;

  void error(std::string code, base::Span at, std::string message, std::string hint = {});
  void note(base::Severity severity, std::string code, base::Span at, std::string message, std::string hint = {});

  [[nodiscard]] bool any() const { return count_ > 0; }
  [[nodiscard]] bool full() const { return count_ >= kMost; }  ///< further errors are only counted: save the wording
  [[nodiscard]] base::Diagnostics take_errors();               ///< in the order of the text
  [[nodiscard]] base::Diagnostics take_notes();

 private:
  std::size_t count_ = 0;
  base::Diagnostics errors_, notes_;
};

}  // namespace cordon::policy::manifest
