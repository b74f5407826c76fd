// Network namespaces for tests, by raw netlink: lo with addresses and local default routes, and the nat redirect that
// the launcher makes in a sandbox. Nothing in such a namespace reaches the machine's network.
#pragma once

#include <cstdint>
#include <string>

namespace cordon::test {

/// Of the calling thread's network namespace; each ends the program where it fails (require.h).
void bring_lo_up();
void add_address(const std::string& address, int length);  ///< on lo
void add_local_default_routes(const std::string& source4, const std::string& source6);
/// Every TCP connection but to 127/8 and ::1 arrives at these ports.
void redirect_tcp(std::uint16_t port4, std::uint16_t port6);

}  // namespace cordon::test
