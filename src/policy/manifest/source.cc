#include "policy/manifest/source.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"

namespace cordon::policy::manifest {

Source::Source(std::string_view text, std::string_view file) : text_(text), file_(file) {
  line_starts_.push_back(0);
  bool ascii = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
    ascii = ascii && static_cast<unsigned char>(text[i]) < 0x80;
  }
  if (ascii) return;
  for (std::size_t at = 0; at < text.size(); at += base::decode_rune(text.substr(at)).length)
    rune_offsets_.push_back(static_cast<std::uint32_t>(at));
}

std::string_view Source::slice(std::size_t begin, std::size_t end) const {
  begin = std::min(begin, text_.size());
  return text_.substr(begin, std::max(end, begin) - begin);
}

std::size_t Source::line_begin(std::size_t offset) const {
  const auto next = std::ranges::upper_bound(line_starts_, offset);
  return *std::prev(next);
}

std::size_t Source::line_end(std::size_t offset) const {
  // By the table, not by a search: a text of one line of a mebibyte is asked this half a million times.
  const auto next = std::ranges::upper_bound(line_starts_, offset);
  return next == line_starts_.end() ? text_.size() : *next - 1;
}

base::Span Source::span(std::size_t begin, std::size_t end) const {
  begin = std::min(begin, text_.size());
  end = std::clamp(end, begin, line_end(begin));
  const auto next = std::ranges::upper_bound(line_starts_, begin);
  const auto line = static_cast<std::uint32_t>(next - line_starts_.begin());
  const auto column = static_cast<std::uint32_t>(begin - *std::prev(next) + 1);
  return {file_, line, column, static_cast<std::uint32_t>(std::max<std::size_t>(end - begin, 1))};
}

std::size_t Source::offset_of_rune(std::size_t index) const {
  if (rune_offsets_.empty()) return std::min(index, text_.size());
  return index < rune_offsets_.size() ? rune_offsets_[index] : text_.size();
}

void Problems::error(std::string code, base::Span at, std::string message, std::string hint) {
  if (++count_ > kMost) return;
  errors_.push_back({base::Severity::kError, std::move(code), std::move(at), std::move(message), std::move(hint)});
}

void Problems::note(base::Severity severity, std::string code, base::Span at, std::string message, std::string hint) {
  if (notes_.size() >= kMost) return;
  notes_.push_back({severity, std::move(code), std::move(at), std::move(message), std::move(hint)});
}

namespace {

/// In the order of the text; those of one place stay in the order in which they were found.
base::Diagnostics by_place(base::Diagnostics diagnostics) {
  std::multimap<std::pair<std::uint32_t, std::uint32_t>, base::Diagnostic> sorted;
  for (base::Diagnostic& one : diagnostics) sorted.emplace(std::pair(one.at.line, one.at.column), std::move(one));
  base::Diagnostics out;
  for (auto& [place, one] : sorted) out.push_back(std::move(one));
  return out;
}

}  // namespace

base::Diagnostics Problems::take_errors() {
  base::Diagnostics out = by_place(std::move(errors_));
  if (count_ > kMost) {
    const std::size_t rest = count_ - kMost;
    out.push_back({base::Severity::kError,
                   "too-many-problems",
                   out.back().at,
                   "there are " + std::to_string(rest) + (rest == 1 ? " more problem" : " more problems"),
                   {}});
  }
  return out;
}

base::Diagnostics Problems::take_notes() { return by_place(std::move(notes_)); }

}  // namespace cordon::policy::manifest
