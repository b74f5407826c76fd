#include "report/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/text.h"

namespace cordon::report {
namespace {

std::string_view colour_code(Paint paint) {
  switch (paint) {
    case Paint::kNone:
      return "";
    case Paint::kRed:
      return "\x1b[31m";
    case Paint::kYellow:
      return "\x1b[33m";
    case Paint::kGreen:
      return "\x1b[32m";
    case Paint::kBold:
      return "\x1b[1m";
  }
  return "";
}

/// Columns, as far as a terminal's are the number of scalars; wide letters are counted as one.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::vector<std::size_t> widths_of(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  return widths;
}

}  // namespace

std::string painted(Paint paint, std::string_view text, const Style& style) {
  if (!style.colour || paint == Paint::kNone) return std::string(text);
  return fmt::format("{}{}\x1b[0m", colour_code(paint), text);
}

std::string laid_out(const Paragraph& paragraph, const Style& style) {
  const std::string words = paragraph.label.empty() ? paragraph.prose : paragraph.label + " " + paragraph.prose;
  const std::size_t room = std::max<std::size_t>(style.width, paragraph.prefix.size() + 30) - paragraph.prefix.size();
  std::string out;
  bool first = true;
  const std::string wrapped = base::wrap(words, room, paragraph.hang);
  for (std::string_view line : base::split(wrapped, '\n')) {
    out += paragraph.prefix;
    if (first && !paragraph.label.empty() && line.starts_with(paragraph.label)) {
      out += painted(paragraph.paint, paragraph.label, style);
      line.remove_prefix(paragraph.label.size());
    }
    out += line;
    out += '\n';
    first = false;
  }
  return out;
}

std::string table(const std::vector<std::vector<std::string>>& rows, const Style& style, std::size_t indent) {
  const std::vector<std::size_t> widths = widths_of(rows);
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i + 1 < row.size(); ++i) line += row[i] + std::string(widths[i] - columns(row[i]) + 2, ' ');
    const std::size_t hang = columns(line);
    const std::size_t room = std::max(style.width, hang + 30);
    if (!row.empty()) line += base::wrap(row.back(), room, hang);
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  return out;
}

std::string counted(std::size_t number, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", number, number == 1 ? singular : plural);
}

std::string duration(std::uint64_t milliseconds) {
  if (milliseconds < 1000) return fmt::format("{} ms", milliseconds);
  if (milliseconds % 1000 != 0) return fmt::format("{:.1f} s", static_cast<double>(milliseconds) / 1000.0);
  const std::uint64_t seconds = milliseconds / 1000;
  if (seconds % 3600 == 0) return fmt::format("{} h", seconds / 3600);
  if (seconds % 60 == 0) return fmt::format("{} min", seconds / 60);
  return fmt::format("{} s", seconds);
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

}  // namespace cordon::report
