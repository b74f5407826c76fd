// Guard: may this address be dialled? Asked for every address that a lookup gave, at the moment it is dialled; only the
// address that was asked about may be dialled then.
//
// Loopback, link-local, metadata, unspecified, multicast and reserved addresses: never, whatever a rule or a flag says.
// Private, carrier NAT, unique-local, documentation and benchmarking addresses: only where a rule names the address
// itself, or where the operator opened the block (--allow-address). A granted name that resolves to one is blocked,
// which is what stops rebinding.
//
// The machine's own addresses, public ones too: whoever listens on every interface listens there. They are dialled only
// where a rule names exactly that address, or where the operator opened it. Which they are is asked of the kernel by
// whoever asks the guard, for each address anew (own).
#pragma once

#include <cstdint>
#include <vector>

#include "policy/network/address.h"
#include "policy/network/address_class.h"

namespace cordon::policy::network {

/// How the destination was admitted.
enum class Admission : std::uint8_t {
  kByName,     ///< a rule for a name, a wildcard, or the gate
  kByBlock,    ///< a rule that names the address' special block
  kByAddress,  ///< a rule that names exactly this address
};

/// What is known of NAT64 on this host's network (RFC 7050).
enum class Nat64 : std::uint8_t {
  kNone,          ///< asked, and there is none
  kKnown,         ///< asked, and these are the prefixes
  kInconclusive,  ///< asked without an answer: an IPv6 address may be any IPv4 one
};

struct GuardVerdict {
  bool dial = false;
  AddressClass address_class = AddressClass::kPublic;  ///< the strictest: why it is blocked
  friend bool operator==(GuardVerdict, GuardVerdict) = default;
};

struct Guard {
  std::vector<Block> allowed;  ///< --allow-address
  Nat64 nat64 = Nat64::kNone;
  std::vector<Nat64Prefix> prefixes;
  std::vector<Address> own;  ///< of the address that is asked about and what it carries: those of this machine

  [[nodiscard]] bool is_opened(const Address& address) const;
  /// Whether it may be dialled although it is this machine's own.
  [[nodiscard]] bool may_be_own(const Address& address, Admission admission) const;
  [[nodiscard]] GuardVerdict check(const Address& address, Admission admission) const;
};

}  // namespace cordon::policy::network
