// The broker's seccomp program: what a broker that was taken over could still do is to talk over the sockets that it
// holds and over new TCP connections to IPv4 and IPv6. No unix sockets (nscd, D-Bus and docker.sock would do things for
// it), no file, no program, no process, no listening socket.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace cordon::egress {

std::vector<sock_filter> broker_filter();

}  // namespace cordon::egress
