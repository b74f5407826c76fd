#include "base/diagnostic.h"

#include <algorithm>

#include "base/text.h"

namespace cordon::base {
namespace {

constexpr std::size_t kExcerptColumns = 120;
constexpr std::size_t kContextBeforeCaret = 60;

std::string_view line_of(std::string_view source, std::uint32_t line) {
  for (std::uint32_t current = 1; current < line; ++current) {
    const std::size_t newline = source.find('\n');
    if (newline == std::string_view::npos) return {};
    source.remove_prefix(newline + 1);
  }
  source = source.substr(0, source.find('\n'));
  if (source.ends_with('\r')) source.remove_suffix(1);
  return source;
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// `offset` or a little less, where no UTF-8 sequence is cut.
std::size_t rune_boundary(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  for (int step = 0; step < 3 && offset > 0 && offset < text.size() && is_continuation(text[offset]); ++step) --offset;
  return offset;
}

/// escape() with single backslashes: an excerpt is the user's own line, and is looked at, not read back.
std::string as_shown(std::string_view text) {
  const std::string escaped = escape(text);
  std::string out;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    out += escaped[i];
    if (escaped[i] == '\\' && i + 1 < escaped.size() && escaped[i + 1] == '\\') ++i;
  }
  return out;
}

/// How many columns the text takes as it is shown, wide characters counted as one.
std::size_t columns(std::string_view text) {
  const std::string shown = as_shown(text);
  return static_cast<std::size_t>(std::ranges::count_if(shown, [](char byte) { return !is_continuation(byte); }));
}

}  // namespace

// Columns are counted on the escaped text, so the caret stands true.
std::string excerpt(const Span& at, std::string_view source) {
  if (at.line == 0 || source.empty()) return {};
  std::string_view line = line_of(source, at.line);
  std::size_t column = std::min<std::size_t>(at.column > 0 ? at.column - 1 : 0, line.size());
  if (column > kContextBeforeCaret) {
    const std::size_t cut = rune_boundary(line, column - kContextBeforeCaret);
    line.remove_prefix(cut);
    column -= cut;
  }
  line = line.substr(0, rune_boundary(line, kExcerptColumns));
  const std::string number = std::to_string(at.line);
  const std::size_t marked = std::clamp<std::size_t>(at.length, 1, std::max<std::size_t>(line.size() - column, 1));
  const std::size_t indent = columns(line.substr(0, column));
  const std::size_t carets = std::max<std::size_t>(columns(line.substr(column, marked)), 1);
  return "  " + number + " | " + as_shown(line) + "\n  " + std::string(number.size(), ' ') + " | " +
         std::string(indent, ' ') + std::string(carets, '^') + "\n";
}

std::string render(const Diagnostic& diagnostic, std::string_view source) {
  std::string out;
  if (!diagnostic.at.file.empty()) {
    out += shown(diagnostic.at.file);
    if (diagnostic.at.line > 0)
      out += ":" + std::to_string(diagnostic.at.line) + ":" + std::to_string(diagnostic.at.column);
    out += ": ";
  }
  switch (diagnostic.severity) {
    case Severity::kError:
      out += "error: ";
      break;
    case Severity::kWarning:
      out += "warning: ";
      break;
    case Severity::kNote:
      out += "note: ";
      break;
  }
  out += diagnostic.message + "\n";
  out += excerpt(diagnostic.at, source);
  if (!diagnostic.hint.empty()) out += "  hint: " + wrap(diagnostic.hint, 100, 8) + "\n";
  return out;
}

}  // namespace cordon::base
