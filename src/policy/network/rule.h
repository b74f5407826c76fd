// Rule: which hosts and which ports, as a value; and the one parser of both, for the manifest, flags, configuration and
// the broker alike.
//
// Hosts: a name, ".name" or "*.name" for every host below it, "*" for every host, a canonical address, an address
// block. Ports: a number, a range "8000-8010", "*". Exactly one spelling per meaning; a text that cannot be read is
// refused with the smallest mend, and never becomes a wider rule. Nothing is resolved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/network/address.h"
#include "policy/network/address_class.h"
#include "policy/network/fault.h"

namespace cordon::policy::network {

/// Whether ".x" and "*.x" cover x itself. In a manifest they never did; whoever writes "*.x" on a command line, and
/// whoever denies it, means x as well.
enum class SuffixMeaning : std::uint8_t { kBelowOnly, kWithApex };

enum class HostKind : std::uint8_t { kAny, kName, kSuffix, kAddress, kBlock };

struct HostPattern {
  HostKind kind = HostKind::kAny;
  std::string name;  ///< kName, kSuffix (without the dot): lower case
  Block block;       ///< kAddress (all bits), kBlock
  SuffixMeaning suffix = SuffixMeaning::kBelowOnly;
  friend bool operator==(const HostPattern&, const HostPattern&) = default;
};

struct PortRange {
  std::uint16_t first = 1, last = 65535;
  [[nodiscard]] bool contains(std::uint16_t port) const { return port >= first && port <= last; }
  [[nodiscard]] bool is_within(PortRange other) const { return first >= other.first && last <= other.last; }
  friend bool operator==(PortRange, PortRange) = default;
};

struct Rule {
  HostPattern host;
  PortRange ports;
  friend bool operator==(const Rule&, const Rule&) = default;
};

template <class T>
using Parsed = base::Result<T, Fault>;

Parsed<HostPattern> parse_host(std::string_view text, SuffixMeaning meaning);
Parsed<PortRange> parse_ports(std::string_view text);
/// One number, for what takes no range.
Parsed<std::uint16_t> parse_port(std::string_view text);
Parsed<Rule> parse_rule(std::string_view host, std::string_view ports, SuffixMeaning meaning);

/// Why a rule for this host can never admit anything, whatever else is said; nothing where it can.
std::optional<AddressClass> never_reached(const HostPattern& host);

/// What --allow-address and the configuration open: a block, or one address. Not what is never reached.
Parsed<Block> parse_opened(std::string_view text);

std::string to_string(const HostPattern& pattern);
std::string to_string(PortRange ports);

}  // namespace cordon::policy::network
