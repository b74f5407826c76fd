// The network: nothing but lo, or a way out for what the policy's rules name. Then every address is local inside, every
// TCP connection is led to the broker (by one nf_tables rule; where this kernel has none, by a listener on each granted
// port), and DNS is the broker's. Before the mounts: the broker starts while the rest is built. A published port is a
// way in, and none out: it changes nothing of that.
//
// The launcher sees addresses and ports, never a rule; the rules travel in Plan::egress to the broker.
#pragma once

#include <string>

#include "planner/draft.h"

namespace cordon::planner {

bool has_way_out(const policy::Policy& policy);

/// The same, or the host's own network.
bool reaches_out(const policy::Policy& policy);

/// Refuses what this host cannot hold, and what is no rule.
void check_network(Draft& draft);

/// Plan::egress, and the steps before the mounts: the way out, then the way in.
void connect_network(Draft& draft);

/// What HTTP_PROXY and its kind say inside.
std::string proxy_address();

/// /etc/resolv.conf inside.
std::string resolver_settings(const policy::Policy& policy);

}  // namespace cordon::planner
