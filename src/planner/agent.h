// The ssh agent of the caller, where the policy lets the target ask it to sign: which socket that is, whose it may be,
// and where the target finds the relay's. The agent's own socket is seen nowhere inside.
#pragma once

#include <string>
#include <string_view>

#include "planner/draft.h"
#include "planner/environment.h"
#include "planner/identity.h"
#include "planner/mounts.h"

namespace cordon::planner {

inline constexpr std::string_view kAgentVariable = "SSH_AUTH_SOCK";

bool uses_agent(const policy::Policy& policy);

/// What the caller's environment names; "" where no agent is asked for, or nothing absolute is named.
std::string agent_path(const policy::Policy& policy, const plan::HostFacts& facts);

/// Refuses where there is no agent, or none that is the caller's.
void check_agent(Draft& draft, const Identity& identity);

/// The variable names the socket inside, whatever the policy says of it.
void pass_agent(const Draft& draft, const Arranged& arranged, Environment& environment);

/// The step, before the root is sealed.
void make_agent_socket(Draft& draft, const Arranged& arranged);

}  // namespace cordon::planner
