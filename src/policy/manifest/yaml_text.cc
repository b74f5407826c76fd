#include "policy/manifest/yaml_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cordon::policy::manifest {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The words that YAML 1.1 or 1.2 give another type.
bool is_reserved(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"};
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::ranges::find(kWords, lower) != kWords.end();
}

bool is_plain(std::string_view text) {
  if (text.empty() || text.ends_with(' ') || is_reserved(text)) return false;
  const bool starts_well = is_letter(text[0]) || text[0] == '/' || text.starts_with("./") || text.starts_with("../") ||
                           text.starts_with("~/");
  return starts_well && std::ranges::all_of(text, [](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') ||
                  std::string_view("/._-+@=~ ").find(c) != std::string_view::npos;
         });
}

void append_escape(std::string& out, char letter, char32_t value, int digits) {
  out += '\\';
  out += letter;
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += "0123456789abcdef"[(value >> shift) & 0xf];
}

void append_rune(std::string& out, const base::Rune& rune, std::string_view bytes) {
  if (!rune.valid)
    out += "\\ufffd";
  else if (rune.value == '"' || rune.value == '\\')
    (out += '\\') += static_cast<char>(rune.value);
  else if (!base::is_unsafe_rune(rune.value) && (rune.value & 0xfffe) != 0xfffe)
    out += bytes;
  else if (rune.value < 0x100)
    append_escape(out, 'x', rune.value, 2);
  else if (rune.value < 0x10000)
    append_escape(out, 'u', rune.value, 4);
  else
    append_escape(out, 'U', rune.value, 8);
}

}  // namespace

std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const base::Rune rune = base::decode_rune(text.substr(at));
    append_rune(out, rune, text.substr(at, rune.length));
    at += rune.length;
  }
  return out + '"';
}

std::string yaml_scalar(std::string_view text) { return is_plain(text) ? std::string(text) : yaml_quoted(text); }

}  // namespace cordon::policy::manifest
