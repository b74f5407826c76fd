// The seccomp program of cordon-agent: it reads, writes and closes what it holds, accepts who connects, waits, and asks
// for memory. No socket and no connection of its own making, so that a relay that was taken over reaches nothing but
// the agent, the target and the supervisor.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace cordon::agent {

std::vector<sock_filter> relay_filter();

}  // namespace cordon::agent
