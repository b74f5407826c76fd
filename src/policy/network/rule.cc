#include "policy/network/rule.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "policy/network/name.h"

namespace cordon::policy::network {
namespace {

constexpr std::string_view kWildcards =
    "valid wildcards are \"*\" (every host) and \".example.com\" or \"*.example.com\" (every host below example.com, "
    "but "
    "not example.com itself)";

Fault fault(std::string_view host, std::string_view what, std::string hint = {}) {
  return {"bad-host", base::quote(host) + " " + std::string(what), std::move(hint), 0, 0};
}

/// A text that inet_pton reads must be the canonical spelling of an address that is what it looks like.
std::optional<Fault> check_address(std::string_view host, std::string_view text, const Address& address,
                                   std::string_view suffix) {
  if (const auto inner = disguised_ipv4(address))
    return fault(host, "is an IPv4 address in an IPv6 spelling",
                 suffix.empty() ? "write " + to_string(*inner) : "write the IPv4 block");
  if (const std::string spelled = to_string(address); spelled != text)
    return fault(host, "is not the canonical spelling of this address", "write " + spelled + std::string(suffix));
  return std::nullopt;
}

Parsed<HostPattern> parse_block_pattern(std::string_view host, std::size_t slash) {
  const std::string_view text = host.substr(0, slash);
  const std::string_view length_text = host.substr(slash + 1);
  const auto address = read_address(text);
  if (!address)
    return base::fail(fault(host, "is neither a host nor an address block", "a rule names a host without a path"));
  if (auto wrong = check_address(host, text, *address, host.substr(slash))) return base::fail(std::move(*wrong));
  const auto length = base::parse_decimal(length_text);
  if (!length || *length > address->bits())
    return base::fail(
        fault(host, "has a prefix length that is no number from 0 to " + std::to_string(address->bits())));
  const Block block{masked(*address, static_cast<unsigned>(*length)), static_cast<unsigned>(*length)};
  if (block.address != *address)
    return base::fail(
        fault(host, "has bits set beyond its prefix length", "write " + to_string(block) + " for the whole block"));
  return HostPattern{.kind = HostKind::kBlock, .block = block};
}

Parsed<HostPattern> parse_suffix(std::string_view host, std::string_view name, SuffixMeaning meaning) {
  if (read_address(name)) return base::fail(fault(host, "is a wildcard over an address", std::string(kWildcards)));
  if (auto wrong = check_name(host, name)) return base::fail(std::move(*wrong));
  return HostPattern{.kind = HostKind::kSuffix, .name = lower_case(name), .suffix = meaning};
}

Parsed<HostPattern> parse_wildcard(std::string_view host, SuffixMeaning meaning) {
  const bool leading = host.starts_with("*.") && host.find('*', 1) == std::string_view::npos;
  if (!leading) return base::fail(fault(host, "is not a wildcard that a rule can use", std::string(kWildcards)));
  const std::string_view name = host.substr(2);
  if (name.find('.') == std::string_view::npos)
    return base::fail(
        fault(host, "is a wildcard over a whole top-level domain",
              std::string(kWildcards) + "; if every host below it is meant, write " + base::quote(host.substr(1))));
  return parse_suffix(host, name, meaning);
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

std::optional<Fault> check_text(std::string_view host) {
  if (host.empty()) return Fault{"empty-value", "the host is empty", "for every host write \"*\"", 0, 0};
  if (const auto unsafe = base::find_unsafe_rune(host)) {
    Fault wrong = fault(host, "holds a control or invisible character");
    wrong.offset = *unsafe;
    wrong.length = base::decode_rune(host.substr(*unsafe)).length;
    return wrong;
  }
  return host == "*" ? std::nullopt : check_not_a_host(host);
}

Fault colon_fault(std::string_view host) {
  const std::size_t colon = host.find(':');
  if (std::ranges::count(host, ':') > 1)
    return fault(host, "is not an IPv6 address", "write it in its canonical form, such as 2001:db8::1");
  return fault(host, "is not only a host",
               "give the port its own key: host: " + base::quote(host.substr(0, colon)) +
                   ", port: " + base::quote(host.substr(colon + 1)));
}

std::optional<std::uint16_t> port_number(std::string_view text) {
  const auto number = base::parse_decimal(text);
  if (!number || *number < 1 || *number > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

}  // namespace

Parsed<HostPattern> parse_host(std::string_view text, SuffixMeaning meaning) {
  if (auto wrong = check_text(text)) return base::fail(std::move(*wrong));
  if (text == "*") return HostPattern{};
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos)
    return parse_block_pattern(text, slash);
  if (text.find('*') != std::string_view::npos) return parse_wildcard(text, meaning);
  if (const auto address = read_address(text)) {
    if (auto wrong = check_address(text, text, *address, "")) return base::fail(std::move(*wrong));
    return HostPattern{.kind = HostKind::kAddress, .block = {*address, address->bits()}};
  }
  if (text.find(':') != std::string_view::npos) return base::fail(colon_fault(text));
  if (text.starts_with('.')) return parse_suffix(text, text.substr(1), meaning);
  if (auto wrong = check_name(text, text)) return base::fail(std::move(*wrong));
  return HostPattern{.kind = HostKind::kName, .name = lower_case(text)};
}

Parsed<PortRange> parse_ports(std::string_view text) {
  constexpr std::string_view kHint = "a port is a number from 1 to 65535, a range such as 8000-8010, or \"*\"";
  if (text == "*") return PortRange{};
  const std::size_t dash = text.find('-');
  const auto first = port_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : port_number(text.substr(dash + 1));
  if (!first || !last)
    return base::fail(Fault{"bad-port", base::quote(text) + " is not a port", std::string(kHint), 0, 0});
  if (*first > *last)
    return base::fail(Fault{"bad-port", base::quote(text) + " is a range that ends before it begins",
                            "write " + std::to_string(*last) + "-" + std::to_string(*first), 0, 0});
  return PortRange{*first, *last};
}

Parsed<std::uint16_t> parse_port(std::string_view text) {
  if (const auto port = port_number(text)) return *port;
  return base::fail(
      Fault{"bad-port", base::quote(text) + " is not a port", "a port here is one number from 1 to 65535", 0, 0});
}

Parsed<Rule> parse_rule(std::string_view host, std::string_view ports, SuffixMeaning meaning) {
  CORDON_TRY(HostPattern pattern, parse_host(host, meaning));
  CORDON_TRY(const PortRange range, parse_ports(ports));
  return Rule{std::move(pattern), range};
}

std::optional<AddressClass> never_reached(const HostPattern& host) {
  if (host.kind == HostKind::kAny) return std::nullopt;
  if (host.kind == HostKind::kAddress || host.kind == HostKind::kBlock) return never_dialled(host.block);
  const auto name = HostName::parse(host.name);
  return name && name->is_local() ? std::optional(AddressClass::kLoopback) : std::nullopt;
}

Parsed<Block> parse_opened(std::string_view text) {
  auto block = parse_block(text);
  if (const auto address = parse_address(text); address && !block)
    block = Block{.address = *address, .length = address->bits()};
  if (!block) return base::fail(fault(text, "is no block of addresses", "write it as 10.0.0.0/8"));
  const AddressClass its_class = plain_class(block->address);
  if (its_class >= kFirstNever)
    return base::fail(
        fault(text, "is " + std::string(class_name(its_class)) + ", which is never reached", "leave it out"));
  return *block;
}

std::string to_string(const HostPattern& pattern) {
  switch (pattern.kind) {
    case HostKind::kAny:
      return "*";
    case HostKind::kName:
      return pattern.name;
    case HostKind::kSuffix:
      return "." + pattern.name;
    case HostKind::kAddress:
      return to_string(pattern.block.address);
    case HostKind::kBlock:
      return to_string(pattern.block);
  }
  return {};
}

std::string to_string(PortRange ports) {
  if (ports == PortRange{}) return "*";
  if (ports.first == ports.last) return std::to_string(ports.first);
  return std::to_string(ports.first) + "-" + std::to_string(ports.last);
}

}  // namespace cordon::policy::network
