// Laying out text for a person: width, hanging indents, the `cordon: ` prefix, colour.
//
// Prose comes in as one line and goes out wrapped; bytes from outside are quoted before they get here. Colour is added
// after wrapping, so that it never changes where a line breaks, and only where the caller's Style asks for it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::report {

struct Style {
  bool colour = false;     ///< set by cli/ alone: a terminal, and NO_COLOR is not set
  std::size_t width = 78;  ///< columns
};

enum class Paint { kNone, kRed, kYellow, kGreen, kBold };

/// `text` in that colour where the style asks for colour.
std::string painted(Paint paint, std::string_view text, const Style& style);

/// "PREFIXlabel: prose", wrapped, every line with the prefix, each but the first indented by `hang` behind it.
/// `label` (with its colon) may be empty; it is what gets painted.
struct Paragraph {
  std::string prefix;
  std::string label;
  Paint paint = Paint::kNone;
  std::string prose;
  std::size_t hang = 2;
};
std::string laid_out(const Paragraph& paragraph, const Style& style);

/// Rows of cells, columns padded to the widest cell, two blanks between; the last column wraps under itself.
std::string table(const std::vector<std::vector<std::string>>& rows, const Style& style, std::size_t indent = 0);

/// "3 problems", "1 problem".
std::string counted(std::size_t number, std::string_view singular, std::string_view plural);

/// "5 s", "1.5 s", "2 min", "250 ms".
std::string duration(std::uint64_t milliseconds);

/// "SIGKILL" for 9; "signal 99" for what has no name.
std::string signal_name(int signal);

}  // namespace cordon::report
