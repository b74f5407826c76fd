// destination: what a connection that arrived here was for. The address is not trusted for anything but to look up the
// name that it stands for: the target may aim at any address that it was ever given, and gains only what rules give it.
#pragma once

#include <cstdint>
#include <optional>

#include "egress/names.h"
#include "kernel/net.h"
#include "policy/network/matcher.h"

namespace cordon::egress {

struct Destination {
  policy::network::Host host;
  std::uint16_t port = 0;
};

/// In this order: an IPv4 address in an IPv6 spelling is that address; a synthetic one that was handed out is its name;
/// any other synthetic one, our own and the unspecified are nothing; what remains is a literal.
std::optional<Destination> read_destination(const policy::network::Host& host, std::uint16_t port,
                                            const NameTable& names);

policy::network::Address address_of(const kernel::Endpoint& endpoint);
kernel::Endpoint endpoint_of(const policy::network::Address& address, std::uint16_t port);
policy::network::Address loopback(policy::network::Family family);  ///< 127.0.0.1 or ::1

}  // namespace cordon::egress
