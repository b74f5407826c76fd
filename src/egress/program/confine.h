// confine: the broker locks itself up, for good, and tries the locks.
//
// What a broker that was taken over could still do: talk over the sockets that it holds and over new TCP connections to
// IPv4 and IPv6, and nothing else: no unix sockets (nscd, D-Bus and docker.sock would do things for it), no file, no
// program, no process, no listening socket, no executable memory, no privilege.
#pragma once

#include "egress/records.h"
#include "kernel/errno.h"

namespace cordon::egress {

/// Privileges, limits, Landlock (where the kernel has it), seccomp; then each is tried. An Errno names the step that
/// failed, which ends the broker before it has served anybody. `connections` is left for the caller to fill.
kernel::Sys<Ready> confine();

}  // namespace cordon::egress
