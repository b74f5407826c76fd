// The far machine: where the servers are that a host's network leads to. A network namespace of its own at the other
// end of a veth pair, so that its addresses are not the host's in the kernel's eyes.
#pragma once

#include <cstdint>
#include <string>

#include "egress/sandbox.h"

namespace cordon::test {

/// Once, at the start of the program, in the host's namespace: gives that one kOwn4, kOwn6 and kOwnPrivate4, and puts
/// kPublic4, kPublic6, kOther4 and kPrivate4 where the far machine is. Everything else leads nowhere.
void make_far_machine();

/// Whether this is one of the far machine's addresses.
bool is_far(const std::string& address);

/// As listen_on(), on the far machine.
base::Fd listen_far(const std::string& address, std::uint16_t port, Reuse reuse);

}  // namespace cordon::test
