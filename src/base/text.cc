#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace cordon::base {
namespace {

struct Range {
  char32_t first, last;
};

// Unicode 15: general category Cf, Other_Default_Ignorable_Code_Point, C0, DEL, C1, line and paragraph separators.
constexpr std::array kUnsafe = {
    Range{0x0000, 0x001f},   Range{0x007f, 0x009f},   Range{0x00ad, 0x00ad},   Range{0x034f, 0x034f},
    Range{0x0600, 0x0605},   Range{0x061c, 0x061c},   Range{0x06dd, 0x06dd},   Range{0x070f, 0x070f},
    Range{0x0890, 0x0891},   Range{0x08e2, 0x08e2},   Range{0x115f, 0x1160},   Range{0x17b4, 0x17b5},
    Range{0x180b, 0x180f},   Range{0x200b, 0x200f},   Range{0x2028, 0x202e},   Range{0x2060, 0x206f},
    Range{0x3164, 0x3164},   Range{0xfe00, 0xfe0f},   Range{0xfeff, 0xfeff},   Range{0xffa0, 0xffa0},
    Range{0xfff0, 0xfffb},   Range{0x110bd, 0x110bd}, Range{0x110cd, 0x110cd}, Range{0x13430, 0x1343f},
    Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a}, Range{0xe0000, 0xe0fff}};

// They look like a blank, or like nothing: escaped where a name is shown, allowed where it is written.
constexpr std::array kBlanks = {Range{0x00a0, 0x00a0}, Range{0x1680, 0x1680}, Range{0x2000, 0x200a},
                                Range{0x202f, 0x202f}, Range{0x205f, 0x205f}, Range{0x2800, 0x2800},
                                Range{0x3000, 0x3000}};

bool is_escaped(const Rune& rune) {
  return !rune.valid || is_unsafe_rune(rune.value) || std::ranges::any_of(kBlanks, [&](Range range) {
    return rune.value >= range.first && rune.value <= range.last;
  });
}

bool has_escaped_rune(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Rune rune = decode_rune(text.substr(at));
    if (is_escaped(rune)) return true;
    at += rune.length;
  }
  return false;
}

void append_hex(std::string& out, char32_t value, int digits) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += kHex[(value >> shift) & 0xf];
}

void append_escaped(std::string& out, const Rune& rune, std::string_view bytes) {
  if (!rune.valid) {
    for (char byte : bytes) append_hex(out += "\\x", static_cast<unsigned char>(byte), 2);
  } else if (rune.value == '\n') {
    out += "\\n";
  } else if (rune.value == '\t') {
    out += "\\t";
  } else if (rune.value == '\r') {
    out += "\\r";
  } else if (rune.value < 0x100) {
    append_hex(out += "\\x", rune.value, 2);
  } else if (rune.value < 0x10000) {
    append_hex(out += "\\u", rune.value, 4);
  } else {
    append_hex(out += "\\U", rune.value, 8);
  }
}

/// Insertions, deletions, substitutions and exchanges of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

Rune decode_rune(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xf0 && lead < 0xf5   ? 4
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                                                           : 0;
  if (length == 0 || text.size() < length) return {lead, 1, false};
  char32_t value = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 1, false};
    value = (value << 6) | (byte(i) & 0x3fU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  if (overlong || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {lead, 1, false};
  return {value, length, true};
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const Rune rune = decode_rune(text);
    if (!rune.valid) return false;
    text.remove_prefix(rune.length);
  }
  return true;
}

bool is_unsafe_rune(char32_t rune) {
  if (rune >= 0x20 && rune < 0x7f) return false;  // nearly all there is to judge, and a path is judged often
  return std::ranges::any_of(kUnsafe, [rune](Range range) { return rune >= range.first && rune <= range.last; });
}

std::optional<std::size_t> find_unsafe_rune(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] >= 0x20 && text[at] < 0x7f) {
      ++at;
      continue;
    }
    const Rune rune = decode_rune(text.substr(at));
    if (!rune.valid || is_unsafe_rune(rune.value)) return at;
    at += rune.length;
  }
  return std::nullopt;
}

std::string escape(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Rune rune = decode_rune(text.substr(at));
    if (is_escaped(rune)) {
      append_escaped(out, rune, text.substr(at, rune.length));
    } else if (rune.value == '\\') {
      out += "\\\\";
    } else {
      out += text.substr(at, rune.length);
    }
    at += rune.length;
  }
  return out;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char byte : escape(text)) {
    if (byte == '"') out += '\\';
    out += byte;
  }
  return out + "\"";
}

namespace {

/// What stands for itself in a message, and between spaces.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x21; c < 0x7f; ++c)
    plain[c] = std::string_view("\"'\\$`").find(static_cast<char>(c)) == std::string_view::npos;
  return plain;
}();

}  // namespace

std::string shown(std::string_view text) {
  const auto is_plain = [](char c) { return kPlain[static_cast<unsigned char>(c)]; };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  const bool plain =
      !text.empty() && !has_escaped_rune(text) && text.find_first_of(" \t\"'\\$`") == std::string_view::npos;
  return plain ? std::string(text) : quote(text);
}

std::optional<std::string> did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > 64) return std::nullopt;
  std::size_t best = std::max<std::size_t>(word.size() / 3, 1) + 1;
  std::optional<std::string> found;
  for (std::string_view candidate : candidates) {
    if (const std::size_t distance = edit_distance(word, candidate); distance < best) {
      best = distance;
      found = std::string(candidate);
    }
  }
  if (found || word.size() < 3) return found;
  for (std::string_view candidate : candidates)
    if (candidate.starts_with(word)) return std::string(candidate);
  return found;
}

std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != parts.data()) out += separator;
    out += part;
  }
  return out;
}

std::string wrap(std::string_view prose, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  std::size_t more_blanks = 0;  // between two words, beyond the one; where a line breaks they go with it
  for (std::string_view word : split(prose, ' ')) {
    if (word.empty()) {
      ++more_blanks;
      continue;
    }
    if (!out.empty() && column + 1 + more_blanks + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!out.empty()) {
      out.append(1 + more_blanks, ' ');
      column += 1 + more_blanks;
    }
    more_blanks = 0;
    out += word;
    column += word.size();
  }
  return out;
}

}  // namespace cordon::base
