#include "policy/manifest/host_rule.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/text.h"

namespace cordon::policy::manifest {
namespace {

constexpr std::string_view kWildcards =
    "valid wildcards are \"*\" (every host) and \".example.com\" or \"*.example.com\" (every host below example.com, "
    "but "
    "not example.com itself)";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_alnum(char c) { return is_digit(c) || is_alpha(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

Fault fault(std::string_view host, std::string_view what, std::string hint = {}) {
  return {"bad-host", base::quote(host) + " " + std::string(what), std::move(hint), 0, 0};
}

struct Address {
  int bits = 32;
  std::array<unsigned char, 16> bytes{};
  bool canonical = false;
  std::string spelled;  ///< the canonical spelling
};

std::optional<Address> read_address(const std::string& text) {
  Address address;
  const int family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
  address.bits = family == AF_INET ? 32 : 128;
  if (inet_pton(family, text.c_str(), address.bytes.data()) != 1) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (inet_ntop(family, address.bytes.data(), out.data(), out.size()) == nullptr) return std::nullopt;
  address.spelled = out.data();
  address.canonical = address.spelled == text;
  return address;
}

/// ::ffff:a.b.c.d and ::a.b.c.d: an IPv4 address in disguise. :: and ::1 are themselves.
bool embeds_ipv4(const Address& address) {
  if (address.bits != 128) return false;
  const auto zero_until = [&](std::size_t count) {
    return std::ranges::all_of(address.bytes.begin(), address.bytes.begin() + static_cast<std::ptrdiff_t>(count),
                               [](unsigned char byte) { return byte == 0; });
  };
  if (zero_until(10) && address.bytes[10] == 0xff && address.bytes[11] == 0xff) return true;
  return zero_until(12) &&
         (address.bytes[12] != 0 || address.bytes[13] != 0 || address.bytes[14] != 0 || address.bytes[15] > 1);
}

std::string embedded_ipv4(const Address& address) {
  std::string out;
  for (std::size_t i = 12; i < 16; ++i) out += (i > 12 ? "." : "") + std::to_string(address.bytes[i]);
  return out;
}

std::optional<Fault> check_address(std::string_view host, const Address& address, std::string_view suffix) {
  if (embeds_ipv4(address))
    return fault(host, "is an IPv4 address in an IPv6 spelling",
                 suffix.empty() ? "write " + embedded_ipv4(address) : "write the IPv4 block");
  if (!address.canonical)
    return fault(host, "is not the canonical spelling of this address",
                 "write " + address.spelled + std::string(suffix));
  return std::nullopt;
}

std::optional<Fault> check_block(std::string_view host, std::size_t slash) {
  const std::string_view length_text = host.substr(slash + 1);
  std::optional<Address> address = read_address(std::string(host.substr(0, slash)));
  if (!address) return fault(host, "is neither a host nor an address block", "a rule names a host without a path");
  if (auto wrong = check_address(host, *address, host.substr(slash))) return wrong;
  const auto length = base::parse_decimal(length_text);
  if (!length || *length > static_cast<std::uint64_t>(address->bits))
    return fault(host, "has a prefix length that is no number from 0 to " + std::to_string(address->bits));
  auto network = address->bytes;
  for (std::size_t bit = *length; bit < static_cast<std::size_t>(address->bits); ++bit)
    network[bit / 8] = static_cast<unsigned char>(network[bit / 8] & ~(0x80U >> (bit % 8)));
  if (network == address->bytes) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> out{};
  inet_ntop(address->bits == 32 ? AF_INET : AF_INET6, network.data(), out.data(), out.size());
  return fault(host, "has bits set beyond its prefix length",
               "write " + std::string(out.data()) + "/" + std::string(length_text) + " for the whole block");
}

/// True where a resolver would take the text for an IPv4 address in one of the spellings of inet_aton.
bool reads_as_number(std::string_view label) {
  if (label.empty()) return false;
  if (std::ranges::all_of(label, is_digit)) return true;
  return label.size() > 1 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X') &&
         std::ranges::all_of(label.substr(2), is_hex);
}

std::optional<Fault> check_label(std::string_view host, std::string_view label) {
  if (label.empty()) return fault(host, "has an empty label (two dots, or a dot at an end)");
  if (label.size() > 63) return fault(host, "has a label longer than 63 characters");
  for (const char c : label) {
    if (static_cast<unsigned char>(c) >= 0x80)
      return fault(host, "is not an ASCII host name", "write it as it goes over the wire, with xn-- labels");
    if (c == '_') return fault(host, "is not a host name: it has an underscore");
    if (!is_alnum(c) && c != '-') return fault(host, "is not a host name: it has " + base::quote(std::string(1, c)));
  }
  if (label.front() == '-' || label.back() == '-')
    return fault(host, "is not a host name: a label begins or ends with a hyphen");
  return std::nullopt;
}

std::optional<Fault> check_name(std::string_view host, std::string_view name) {
  if (name.size() > 253) return fault(host, "is longer than 253 characters");
  if (name.size() > 1 && name.back() == '.')
    return fault(host, "ends with a dot", "leave the dot out: rules are fully qualified anyway");
  const auto labels = base::split(name, '.');
  for (const std::string_view label : labels)
    if (auto wrong = check_label(host, label)) return wrong;
  if (reads_as_number(labels.back()))
    return fault(host, "would be read as an address, and is not a canonical one",
                 "write four decimal numbers without leading zeros, such as 192.0.2.1");
  return std::nullopt;
}

std::optional<Fault> check_suffix(std::string_view host, std::string_view name) {
  if (read_address(std::string(name))) return fault(host, "is a wildcard over an address", std::string(kWildcards));
  return check_name(host, name);
}

std::optional<Fault> check_wildcard(std::string_view host) {
  const bool leading = host.starts_with("*.") && host.find('*', 1) == std::string_view::npos;
  if (!leading) return fault(host, "is not a wildcard that a rule can use", std::string(kWildcards));
  const std::string_view name = host.substr(2);
  if (name.find('.') == std::string_view::npos)
    return fault(host, "is a wildcard over a whole top-level domain",
                 std::string(kWildcards) + "; if every host below it is meant, write " + base::quote(host.substr(1)));
  return check_suffix(host, name);
}

/// Spellings that are not hosts at all, and what was probably meant.
std::optional<Fault> check_not_a_host(std::string_view host) {
  if (const std::size_t scheme = host.find("://"); scheme != std::string_view::npos) {
    std::string_view name = host.substr(scheme + 3);
    name = name.substr(0, name.find_first_of("/:?#"));
    return fault(host, "is a URL, not a host", name.empty() ? "" : "write only the host: " + base::quote(name));
  }
  if (host.find('@') != std::string_view::npos) return fault(host, "names a user", "write only the host");
  if (host.find('%') != std::string_view::npos)
    return fault(host, "has a zone or an escape (%)", "zone-scoped addresses cannot be reached from a sandbox");
  if (host.starts_with('[')) return fault(host, "has brackets", "write the IPv6 address without [ and ]");
  if (const std::size_t space = host.find_first_of(" \t"); space != std::string_view::npos) {
    Fault wrong = fault(host, "has white space");
    wrong.offset = space;
    wrong.length = 1;
    return wrong;
  }
  return std::nullopt;
}

std::optional<Fault> check_colon(std::string_view host) {
  const std::size_t colon = host.find(':');
  if (std::ranges::count(host, ':') > 1)
    return fault(host, "is not an IPv6 address", "write it in its canonical form, such as 2001:db8::1");
  return fault(host, "is not only a host",
               "give the port its own key: host: " + base::quote(host.substr(0, colon)) +
                   ", port: " + base::quote(host.substr(colon + 1)));
}

std::optional<std::uint64_t> port_number(std::string_view text) {
  const auto number = base::parse_decimal(text);
  return number && *number >= 1 && *number <= 65535 ? number : std::nullopt;
}

}  // namespace

std::optional<Fault> check_host(std::string_view host) {
  if (host.empty()) return Fault{"empty-value", "the host is empty", "for every host write \"*\"", 0, 0};
  if (const auto unsafe = base::find_unsafe_rune(host)) {
    Fault wrong = fault(host, "holds a control or invisible character");
    wrong.offset = *unsafe;
    wrong.length = base::decode_rune(host.substr(*unsafe)).length;
    return wrong;
  }
  if (host == "*") return std::nullopt;
  if (auto wrong = check_not_a_host(host)) return wrong;
  if (const std::size_t slash = host.find('/'); slash != std::string_view::npos) return check_block(host, slash);
  if (host.find('*') != std::string_view::npos) return check_wildcard(host);
  if (const auto address = read_address(std::string(host))) return check_address(host, *address, "");
  if (host.find(':') != std::string_view::npos) return check_colon(host);
  if (host.starts_with('.')) return check_suffix(host, host.substr(1));
  return check_name(host, host);
}

std::optional<Fault> check_port_rule(std::string_view port) {
  constexpr std::string_view kHint = "a port is a number from 1 to 65535, a range such as 8000-8010, or \"*\"";
  if (port == "*") return std::nullopt;
  const std::size_t dash = port.find('-');
  const auto first = port_number(port.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : port_number(port.substr(dash + 1));
  if (!first || !last) return Fault{"bad-port", base::quote(port) + " is not a port", std::string(kHint), 0, 0};
  if (*first > *last)
    return Fault{"bad-port", base::quote(port) + " is a range that ends before it begins",
                 "write " + std::to_string(*last) + "-" + std::to_string(*first), 0, 0};
  return std::nullopt;
}

std::optional<Fault> check_plain_port(std::string_view port) {
  if (port_number(port)) return std::nullopt;
  return Fault{"bad-port", base::quote(port) + " is not a port", "a port here is one number from 1 to 65535", 0, 0};
}

}  // namespace cordon::policy::manifest
