// Network namespaces for tests, by raw netlink: lo with addresses and local default routes, two namespaces joined by a
// veth pair, and the nat redirect that the launcher makes in a sandbox. Nothing in such a namespace reaches the
// machine's network.
#pragma once

#include <cstdint>
#include <string>

namespace cordon::test {

/// Of the calling thread's network namespace; each ends the program where it fails (require.h).
void bring_up(const std::string& device);      ///< any but lo without address resolution: what is sent there arrives
void add_address(const std::string& address);  ///< on lo, and no other of its block
void add_route(const std::string& address, const std::string& device);  ///< to that address alone
/// A veth pair: `near` here, `far` in the namespace of this descriptor; either end takes all that the other sends.
void join_by_veth(const std::string& near, const std::string& far, int far_namespace);
void add_local_default_routes(const std::string& source4, const std::string& source6);
/// Every TCP connection but to 127/8 and ::1 arrives at these ports.
void redirect_tcp(std::uint16_t port4, std::uint16_t port6);

}  // namespace cordon::test
