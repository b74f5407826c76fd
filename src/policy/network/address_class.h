// Classes of addresses, by the IANA special-purpose registries (RFC 6890 and its successors), and the IPv4 addresses
// that an IPv6 address carries.
//
// An IPv6 address that a gateway, tunnel or kernel turns into an IPv4 one is judged by the strictest of all that it can
// become: a name that resolves to 64:ff9b::a9fe:a9fe reaches the metadata service wherever NAT64 is at work.
//
// Pure tables and bit arithmetic; guard.h makes the decision.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "policy/network/address.h"

namespace cordon::policy::network {

/// By rising strictness: the strictest of several is the greatest.
enum class AddressClass : std::uint8_t {
  kPublic,
  kDocumentation,
  kBenchmarking,
  kCarrierNat,   ///< 100.64.0.0/10
  kPrivate,      ///< RFC 1918; and what only a local NAT64 could mean
  kUniqueLocal,  ///< fc00::/7
  kThisMachine,  ///< an address that this machine answers to itself; no table knows it (Guard::own)
  kReserved,
  kMulticast,
  kUnspecified,
  kLinkLocal,
  kLoopback,
  kMetadata,  ///< where a cloud hands out credentials
};

/// From here on no rule and no flag admits an address.
inline constexpr AddressClass kFirstNever = AddressClass::kReserved;

std::string_view class_name(AddressClass address_class);

/// A NAT64 prefix of RFC 6052; length is 32, 40, 48, 56, 64 or 96.
struct Nat64Prefix {
  Address prefix;
  unsigned length = 96;
  friend bool operator==(const Nat64Prefix&, const Nat64Prefix&) = default;
};

/// The class of the address itself, without a look at what it carries.
AddressClass plain_class(const Address& address);

/// The restricted block of the registries that `address` lies in, if any: the most specific one.
std::optional<Block> special_block(const Address& address);

/// The class of a block in which no address is ever dialled; nothing where some rule or flag could admit one.
std::optional<AddressClass> never_dialled(const Block& block);

/// The IPv4 addresses that this one carries: mapped, compatible, translated, 6to4, Teredo (server and client), NAT64
/// (the well-known prefix, RFC 8215's, and those of `prefixes`), ISATAP.
std::vector<Address> embedded_ipv4(const Address& address, std::span<const Nat64Prefix> prefixes);

/// The strictest of plain_class and of all that is embedded.
AddressClass classify(const Address& address, std::span<const Nat64Prefix> prefixes);

/// The prefixes that the AAAA answers for ipv4only.arpa reveal (RFC 7050): where 192.0.0.170 or .171 stands in them.
std::vector<Nat64Prefix> nat64_prefixes(std::span<const Address> answers);

}  // namespace cordon::policy::network
