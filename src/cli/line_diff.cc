#include "cli/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/text.h"

namespace cordon::cli {
namespace {

constexpr std::size_t kMostCells = 4'000'000;  ///< of the table of common lines
constexpr std::size_t kAround = 3;

struct Line {
  char sign = ' ';
  std::string_view text;
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

using Lines = std::span<const std::string_view>;

void put(std::vector<Line>& out, char sign, Lines lines) {
  for (std::string_view line : lines) out.push_back({sign, line});
}

/// The longest common subsequence, by its table.
void compare(Lines before, Lines after, std::vector<Line>& out) {
  if (before.size() * after.size() > kMostCells) {
    put(out, '-', before);
    return put(out, '+', after);
  }
  const std::size_t width = after.size() + 1;
  std::vector<std::uint32_t> common((before.size() + 1) * width);
  for (std::size_t i = before.size(); i-- > 0;)
    for (std::size_t j = after.size(); j-- > 0;)
      common[i * width + j] = before[i] == after[j] ? common[(i + 1) * width + j + 1] + 1
                                                    : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < before.size() || j < after.size()) {
    const bool both = i < before.size() && j < after.size();
    if (both && before[i] == after[j]) {
      out.push_back({' ', before[i]});
      ++i, ++j;
    } else if (j == after.size() || (both && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      out.push_back({'-', before[i++]});
    } else {
      out.push_back({'+', after[j++]});
    }
  }
}

std::vector<Line> all_lines(Lines before, Lines after) {
  std::vector<Line> out;
  std::size_t same = 0;
  while (same < std::min(before.size(), after.size()) && before[same] == after[same]) ++same;
  put(out, ' ', before.first(same));
  before = before.subspan(same);
  after = after.subspan(same);
  std::size_t tail = 0;
  while (tail < std::min(before.size(), after.size()) &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
    ++tail;
  compare(before.first(before.size() - tail), after.first(after.size() - tail), out);
  put(out, ' ', before.last(tail));
  return out;
}

std::string shown(std::string_view line) {
  std::string without_tabs(line);
  std::ranges::replace(without_tabs, '\t', ' ');
  return base::find_unsafe_rune(without_tabs) ? base::escape(line) : std::string(line);
}

struct Hunk {
  std::size_t first = 0, last = 0;
};
std::vector<Hunk> hunks_of(const std::vector<Line>& lines) {
  std::vector<Hunk> out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].sign == ' ') continue;
    const std::size_t first = i < kAround ? 0 : i - kAround;
    const std::size_t last = std::min(lines.size(), i + 1 + kAround);
    if (!out.empty() && first <= out.back().last)
      out.back().last = last;
    else
      out.push_back({first, last});
  }
  return out;
}

}  // namespace

bool is_text(std::string_view content) {
  return content.find('\0') == std::string_view::npos && base::is_valid_utf8(content);
}

std::string line_diff(std::string_view path, std::string_view before, std::string_view after) {
  const std::vector<std::string_view> old_lines = lines_of(before);
  const std::vector<std::string_view> new_lines = lines_of(after);
  const std::vector<Line> lines = all_lines(old_lines, new_lines);
  std::string out;
  std::size_t old_at = 1;
  std::size_t new_at = 1;
  std::size_t at = 0;
  for (const Hunk& hunk : hunks_of(lines)) {
    for (; at < hunk.first; ++at) ++old_at, ++new_at;
    std::string body;
    std::size_t old_count = 0;
    std::size_t new_count = 0;
    for (; at < hunk.last; ++at) {
      old_count += lines[at].sign != '+' ? 1U : 0U;
      new_count += lines[at].sign != '-' ? 1U : 0U;
      body += fmt::format("{}{}\n", lines[at].sign, shown(lines[at].text));
    }
    if (out.empty()) out = fmt::format("--- a/{0}\n+++ b/{0}\n", base::escape(path));
    out += fmt::format("@@ -{},{} +{},{} @@\n{}", old_count == 0 ? old_at - 1 : old_at, old_count,
                       new_count == 0 ? new_at - 1 : new_at, new_count, body);
    old_at += old_count;
    new_at += new_count;
  }
  return out;
}

}  // namespace cordon::cli
