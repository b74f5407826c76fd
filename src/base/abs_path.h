// AbsPath: an absolute path, lexically normal: one leading '/', no '.', '..', empty components, trailing '/' or NUL.
//
// Purely lexical: making one touches no disk. Where symbolic links matter the host room resolves first.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::base {

class AbsPath {
 public:
  /// The root directory.
  AbsPath() : text_("/") {}

  /// Normalises an absolute path; nothing for a relative one, an empty one, or one with a NUL byte.
  static std::optional<AbsPath> parse(std::string_view text);

  /// `relative` (or absolute) seen from this directory, normalised lexically. Nothing for NUL or empty.
  [[nodiscard]] std::optional<AbsPath> join(std::string_view relative) const;

  [[nodiscard]] const std::string& str() const { return text_; }
  [[nodiscard]] const char* c_str() const { return text_.c_str(); }
  [[nodiscard]] AbsPath parent() const;         ///< "/" is its own parent
  [[nodiscard]] std::string_view name() const;  ///< last component; "" for "/"
  [[nodiscard]] std::vector<std::string_view> components() const;
  [[nodiscard]] bool is_root() const { return text_ == "/"; }

  /// True where this is `ancestor` or lies below it, by whole components.
  [[nodiscard]] bool is_within(const AbsPath& ancestor) const;

  friend bool operator==(const AbsPath&, const AbsPath&) = default;
  friend auto operator<=>(const AbsPath&, const AbsPath&) = default;

 private:
  explicit AbsPath(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace cordon::base
