#include "policy/network/guard.h"

#include <algorithm>

namespace cordon::policy::network {

GuardVerdict Guard::check(const Address& address, Admission admission) const {
  const auto opened = [this](const Address& one) {
    return std::ranges::any_of(allowed, [&](const Block& block) { return block.contains(one); });
  };
  const AddressClass own = plain_class(address);
  const std::vector<Address> inner = embedded_ipv4(address, prefixes);
  AddressClass strictest = own;
  bool lifted = own == AddressClass::kPublic || opened(address);
  for (const Address& one : inner) {
    const AddressClass carried = plain_class(one);
    strictest = std::max(strictest, carried);
    lifted = lifted && (carried == AddressClass::kPublic || opened(one) || opened(address));
  }
  // An IPv6 address that looks public may be a private IPv4 one behind a gateway that nobody could tell us of.
  const bool unknown = nat64 == Nat64::kInconclusive && address.family == Family::kIpv6 && inner.empty();
  if (unknown && strictest == AddressClass::kPublic) {
    strictest = AddressClass::kPrivate;
    lifted = opened(address);
  }
  if (strictest >= kFirstNever) return {false, strictest};
  return {lifted || admission == Admission::kByLiteral, strictest};
}

}  // namespace cordon::policy::network
