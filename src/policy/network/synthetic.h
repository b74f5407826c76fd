// The addresses that exist only inside a sandbox with a network: its own (where DNS and the proxy listen, and which
// getaddrinfo(3)'s AI_ADDRCONFIG finds) and those that stand for names.
//
// The launcher sets the own ones up, the broker hands the others out (egress/names.h), resolv.conf names the DNS
// address. 198.18.0.0/15 is set aside for benchmarking and routed nowhere; the IPv6 prefix is a unique-local one of our
// own (RFC 4193; its 40 bits spell "cordn"). A real host there could not be reached: the broker refuses both.
#pragma once

#include "policy/network/address.h"

namespace cordon::policy::network {

inline const Block kSyntheticIpv4{Address::v4(198, 18, 0, 0), 15};
inline const Block kSyntheticIpv6{{Family::kIpv6, {0xfd, 0x63, 0x6f, 0x72, 0x64, 0x6e}}, 64};
inline const Address kOwnIpv4 = Address::v4(198, 18, 0, 1);
inline const Address kOwnIpv6{Family::kIpv6, {0xfd, 0x63, 0x6f, 0x72, 0x64, 0x6e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

}  // namespace cordon::policy::network
