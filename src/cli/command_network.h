// What a command's run may reach: the hosts of its profile, of its ecosystem's registries and of the flags.
//
// A registry is a role. Who plays it is said by the user's own configuration of the tool (its variables, its files),
// else by the tool itself, asked once in a sandbox of its own, else by the profile's data. Of a configuration only
// hosts and ports are read; what stands beside them never enters.
#pragma once

#include <string>
#include <vector>

#include "cli/verdict.h"
#include "plan/plan.h"
#include "policy/config/merge.h"
#include "policy/ecosystem/effective.h"

namespace cordon::cli {

/// Asks a tool where its registry is: its whole output, or "" where it does not say.
using AskTool = std::function<std::string(policy::ecosystem::Names argv)>;

/// The profile's hosts, then what the configuration and then the flags add and take away. What there is to say of it.
base::Result<std::vector<plan::Note>, Stop> allow_network(const Invocation& invocation, const Arguments& arguments,
                                                          const policy::ecosystem::Effective& effective,
                                                          const policy::config::Merged& config, const AskTool& ask,
                                                          policy::Policy& policy);

}  // namespace cordon::cli
