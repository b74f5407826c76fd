// Text from outside: quoting it for a terminal, telling unsafe runes, spelling help, small parsers.
//
// Everything that an attacker may have chosen (paths, hosts, argv, file content) passes quote() or escape() before it
// is printed; nothing else in the house words bytes from outside.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::base {

/// One decoded UTF-8 scalar. `length` bytes were consumed; `valid` is false for a malformed sequence (length 1 then).
struct Rune {
  char32_t value = 0;
  std::size_t length = 0;
  bool valid = false;
};
Rune decode_rune(std::string_view text);

bool is_valid_utf8(std::string_view text);

/// Unicode general category Cf or Other_Default_Ignorable, C0, DEL, C1, bidi controls, U+2028 and U+2029: what can
/// hide, reorder or forge text on a terminal (reference 2.3). Letters of any script are not unsafe.
bool is_unsafe_rune(char32_t rune);

/// Byte offset of the first unsafe rune or malformed sequence, if any.
std::optional<std::size_t> find_unsafe_rune(std::string_view text);

/// The text with control, bidi, invisible and malformed bytes escaped (\n, \x1b, \u202e) and backslash doubled.
std::string escape(std::string_view text);

/// escape() within double quotes; '"' escaped too.
std::string quote(std::string_view text);

/// quote() only where the text needs it (white space, quotes, escapes, empty); else as it is. For paths in prose.
std::string shown(std::string_view text);

/// The candidate nearest to `word` by edit distance, if near enough to be a likely typo; else one that begins with it.
std::optional<std::string> did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

/// A canonical decimal: digits only, no sign, no leading zero (but "0"), within 64 bits.
std::optional<std::uint64_t> parse_decimal(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);

/// Breaks prose at spaces to lines of at most `width` columns, each but the first starting with `indent` spaces. No
/// line ends in a blank.
std::string wrap(std::string_view prose, std::size_t width, std::size_t indent);

}  // namespace cordon::base
