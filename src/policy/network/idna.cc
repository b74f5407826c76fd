#include "policy/network/idna.h"

#include <idn2.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "policy/network/name.h"

namespace cordon::policy::network {
namespace {

struct Freed {
  void operator()(char* text) const { idn2_free(text); }
};

Fault fault(std::string_view text, std::string_view what, std::string hint = {}) {
  return {"bad-host", base::quote(text) + " " + std::string(what), std::move(hint), 0, 0};
}

bool needs_idna(std::string_view name) {
  const auto beyond_ascii = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  return std::ranges::any_of(name, beyond_ascii) || lower_case(name).find("xn--") != std::string::npos;
}

}  // namespace

Parsed<std::string> wire_spelling(std::string_view text) {
  if (const auto unsafe = base::find_unsafe_rune(text)) {
    Fault wrong = fault(text, "holds a control or invisible character");
    wrong.offset = *unsafe;
    wrong.length = base::decode_rune(text.substr(*unsafe)).length;
    return base::fail(std::move(wrong));
  }
  if (text.size() > 4 * kLongestName) return base::fail(fault(text.substr(0, 64), "and what follows is too long"));
  if (text.starts_with('[') && text.ends_with(']')) return lower_case(text.substr(1, text.size() - 2));
  std::string_view name = text;
  std::string_view wildcard = name.substr(0, name.starts_with("*.") ? 2 : name.starts_with('.') ? 1 : 0);
  name.remove_prefix(wildcard.size());
  if (name.size() > 1 && name.ends_with('.') && !name.ends_with("..")) name.remove_suffix(1);
  if (!needs_idna(name)) return std::string(wildcard) + lower_case(name);
  char* out = nullptr;
  const int flags = IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL | IDN2_USE_STD3_ASCII_RULES;
  const int code = idn2_lookup_u8(reinterpret_cast<const std::uint8_t*>(std::string(name).c_str()),
                                  reinterpret_cast<std::uint8_t**>(&out), flags);
  const std::unique_ptr<char, Freed> owner(out);
  if (code != IDN2_OK) return base::fail(fault(text, std::string("is no host name: ") + idn2_strerror(code)));
  return std::string(wildcard) + out;
}

}  // namespace cordon::policy::network
