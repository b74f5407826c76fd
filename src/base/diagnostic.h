// Diagnostic: a mistake of the user's, with its place and the smallest mend. Collected, never thrown; all problems of
// one input are shown in one go, each with the source line and a caret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::base {

/// A place in a text that a person wrote. Lines and columns count from 1, columns in bytes; line 0 is "the whole file".
struct Span {
  std::string file;  ///< as the user named it; empty for a flag or an environment variable
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t length = 1;  ///< bytes to underline

  friend bool operator==(const Span&, const Span&) = default;
};

enum class Severity { kError, kWarning, kNote };

struct Diagnostic {
  Severity severity = Severity::kError;
  std::string code;  ///< stable, kebab-case: "unknown-key"
  Span at;
  std::string message;  ///< one sentence without a full stop; bytes from outside already quoted
  std::string hint;     ///< the smallest mend, or empty

  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

using Diagnostics = std::vector<Diagnostic>;

/// "file:line:column: error: message", the source line, a caret under the span, "hint: …". `source` is the text of
/// at.file or empty (then without excerpt). Excerpts are escaped and cut to 120 columns around the caret.
std::string render(const Diagnostic& diagnostic, std::string_view source);

/// The source line of `at` with a caret line under it, escaped, as render() shows it; empty for line 0 or no source.
std::string excerpt(const Span& at, std::string_view source);

}  // namespace cordon::base
