#include "policy/network/matcher.h"

#include <algorithm>

namespace cordon::policy::network {
namespace {

bool matches_name(const HostPattern& pattern, const HostName& name) {
  if (pattern.kind == HostKind::kName) return name.str() == pattern.name;
  if (pattern.kind != HostKind::kSuffix) return pattern.kind == HostKind::kAny;
  return name.is_below(pattern.name) || (pattern.suffix == SuffixMeaning::kWithApex && name.str() == pattern.name);
}

bool matches_address(const HostPattern& pattern, const Address& address) {
  if (pattern.kind == HostKind::kAny) return true;
  const bool literal = pattern.kind == HostKind::kAddress || pattern.kind == HostKind::kBlock;
  return literal && pattern.block.contains(address);
}

/// A deny of an IPv4 block holds for every IPv6 spelling of what lies in it.
bool denies(const HostPattern& pattern, const Host& host) {
  if (matches(pattern, host)) return true;
  const Address* address = host.address();
  if (address == nullptr) return false;
  return std::ranges::any_of(embedded_ipv4(*address, {}),
                             [&](const Address& inner) { return matches_address(pattern, inner); });
}

/// "10.0.0.0/8" means to reach private hosts; "0.0.0.0/0" is only a long way to write "every address".
Admission admission_of(const HostPattern& pattern, const Host& host) {
  const Address* address = host.address();
  if (address == nullptr) return Admission::kByName;
  if (pattern.kind == HostKind::kAddress) return Admission::kByAddress;
  if (pattern.kind != HostKind::kBlock) return Admission::kByName;
  const auto special = special_block(*address);
  return special && pattern.block.is_within(*special) ? Admission::kByBlock : Admission::kByName;
}

}  // namespace

std::string to_string(const Host& host) {
  return host.name() != nullptr ? host.name()->str() : to_string(*host.address());
}

std::optional<Host> parse_client_host(std::string_view text) {
  if (text.starts_with('[')) {
    if (!text.ends_with(']')) return std::nullopt;
    const auto address = parse_address(text.substr(1, text.size() - 2));
    if (!address || address->family != Family::kIpv6) return std::nullopt;
    return Host(*address);
  }
  if (const auto address = parse_address(text); address && address->family == Family::kIpv4) return Host(*address);
  if (auto name = HostName::parse(text)) return Host(std::move(*name));
  return std::nullopt;
}

bool matches(const HostPattern& pattern, const Host& host) {
  return host.name() != nullptr ? matches_name(pattern, *host.name()) : matches_address(pattern, *host.address());
}

Decision Rules::decide(const Host& host, std::uint16_t port) const {
  for (std::size_t i = 0; i < deny.size(); ++i) {
    if (deny[i].ports.contains(port) && denies(deny[i].host, host))
      return {Outcome::kDenied, static_cast<std::uint32_t>(i), Admission::kByName};
  }
  std::optional<Decision> found;
  for (std::size_t i = 0; i < allow.size(); ++i) {
    if (!allow[i].ports.contains(port) || !matches(allow[i].host, host)) continue;
    const Decision one{Outcome::kAllowed, static_cast<std::uint32_t>(i), admission_of(allow[i].host, host)};
    if (!found || one.admission > found->admission) found = one;  // the one that opens most
  }
  return found.value_or(Decision{});
}

bool Rules::could_allow(const HostName& name) const {
  const Host host = name;
  return std::ranges::any_of(allow, [&](const Rule& allowed) {
    if (!matches(allowed.host, host)) return false;
    return std::ranges::none_of(
        deny, [&](const Rule& denied) { return matches(denied.host, host) && allowed.ports.is_within(denied.ports); });
  });
}

}  // namespace cordon::policy::network
