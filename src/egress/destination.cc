#include "egress/destination.h"

#include "policy/network/address_class.h"

namespace cordon::egress {

using policy::network::Address;
using policy::network::Family;

std::optional<Destination> read_destination(const policy::network::Host& host, std::uint16_t port,
                                            const NameTable& names) {
  if (port == 0) return std::nullopt;
  if (host.name() != nullptr) return Destination{host, port};
  const Address address = policy::network::disguised_ipv4(*host.address()).value_or(*host.address());
  if (is_synthetic(address)) {
    const policy::network::HostName* name = names.find(address);
    if (name == nullptr) return std::nullopt;
    return Destination{*name, port};
  }
  if (policy::network::plain_class(address) == policy::network::AddressClass::kUnspecified) return std::nullopt;
  return Destination{address, port};
}

Address address_of(const kernel::Endpoint& endpoint) {
  Address out{endpoint.family == AF_INET6 ? Family::kIpv6 : Family::kIpv4, endpoint.address};
  return out;
}

kernel::Endpoint endpoint_of(const Address& address, std::uint16_t port) {
  return {address.family == Family::kIpv6 ? AF_INET6 : AF_INET, address.bytes, port};
}

Address loopback(Family family) {
  if (family == Family::kIpv4) return Address::v4(127, 0, 0, 1);
  Address out{.family = Family::kIpv6, .bytes = {}};
  out.bytes.back() = 1;
  return out;
}

}  // namespace cordon::egress
