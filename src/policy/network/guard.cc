#include "policy/network/guard.h"

#include <algorithm>

namespace cordon::policy::network {

bool Guard::is_opened(const Address& address) const {
  return std::ranges::any_of(allowed, [&](const Block& block) { return block.contains(address); });
}

bool Guard::may_be_own(const Address& address, Admission admission) const {
  return admission == Admission::kByAddress || is_opened(address);
}

GuardVerdict Guard::check(const Address& address, Admission admission) const {
  const auto class_of = [this](const Address& one) {
    const AddressClass plain = plain_class(one);
    const bool is_own = std::ranges::find(own, one) != own.end();
    return is_own ? std::max(plain, AddressClass::kThisMachine) : plain;
  };
  const std::vector<Address> inner = embedded_ipv4(address, prefixes);
  AddressClass strictest = class_of(address);
  bool lifted = strictest == AddressClass::kPublic || is_opened(address);
  for (const Address& one : inner) {
    const AddressClass carried = class_of(one);
    strictest = std::max(strictest, carried);
    lifted = lifted && (carried == AddressClass::kPublic || is_opened(one) || is_opened(address));
  }
  // An IPv6 address that looks public may be a private IPv4 one behind a gateway that nobody could tell us of.
  const bool unknown = nat64 == Nat64::kInconclusive && address.family == Family::kIpv6 && inner.empty();
  if (unknown && strictest == AddressClass::kPublic) {
    strictest = AddressClass::kPrivate;
    lifted = is_opened(address);
  }
  if (strictest >= kFirstNever) return {false, strictest};
  // A block that a rule names is about the hosts of that network, not about this one.
  const Admission enough = strictest == AddressClass::kThisMachine ? Admission::kByAddress : Admission::kByBlock;
  return {lifted || admission >= enough, strictest};
}

}  // namespace cordon::policy::network
