#include "policy/network/name.h"

#include <algorithm>

#include "base/text.h"

namespace cordon::policy::network {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_alnum(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || is_upper(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

Fault fault(std::string_view written, std::string_view what, std::string hint = {}) {
  return {"bad-host", base::quote(written) + " " + std::string(what), std::move(hint), 0, 0};
}

/// True where a resolver would take the text for an IPv4 address in one of the spellings of inet_aton.
bool reads_as_number(std::string_view label) {
  if (label.empty()) return false;
  if (std::ranges::all_of(label, is_digit)) return true;
  return label.size() > 1 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X') &&
         std::ranges::all_of(label.substr(2), is_hex);
}

std::optional<Fault> check_label(std::string_view written, std::string_view label) {
  if (label.empty()) return fault(written, "has an empty label (two dots, or a dot at an end)");
  if (label.size() > kLongestLabel) return fault(written, "has a label longer than 63 characters");
  for (const char c : label) {
    if (static_cast<unsigned char>(c) >= 0x80)
      return fault(written, "is not an ASCII host name", "write it as it goes over the wire, with xn-- labels");
    if (c == '_') return fault(written, "is not a host name: it has an underscore");
    if (!is_alnum(c) && c != '-') return fault(written, "is not a host name: it has " + base::quote(std::string(1, c)));
  }
  if (label.front() == '-' || label.back() == '-')
    return fault(written, "is not a host name: a label begins or ends with a hyphen");
  return std::nullopt;
}

}  // namespace

std::optional<Fault> check_name(std::string_view written, std::string_view name) {
  if (name.size() > kLongestName) return fault(written, "is longer than 253 characters");
  if (name.size() > 1 && name.back() == '.')
    return fault(written, "ends with a dot", "leave the dot out: rules are fully qualified anyway");
  const auto labels = base::split(name, '.');
  for (const std::string_view label : labels)
    if (auto wrong = check_label(written, label)) return wrong;
  if (reads_as_number(labels.back()))
    return fault(written, "would be read as an address, and is not a canonical one",
                 "write four decimal numbers without leading zeros, such as 192.0.2.1");
  return std::nullopt;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<HostName> HostName::parse(std::string_view text) {
  if (text.size() > kLongestName + 1) return std::nullopt;  // before anything is copied
  if (text.size() > 1 && text.back() == '.') text.remove_suffix(1);
  if (check_name(text, text)) return std::nullopt;
  return HostName(lower_case(text));
}

bool HostName::is_below(std::string_view domain) const {
  return text_.size() > domain.size() + 1 && text_.ends_with(domain) && text_[text_.size() - domain.size() - 1] == '.';
}

bool HostName::is_local() const { return text_ == "localhost" || is_below("localhost"); }

}  // namespace cordon::policy::network
