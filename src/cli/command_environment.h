// The variables of a command's run: those that its profile passes, the sandbox's own, the configuration's, the flags'.
#pragma once

#include "cli/verdict.h"
#include "policy/config/merge.h"
#include "policy/ecosystem/effective.h"

namespace cordon::cli {

/// Fills policy.env, sorted by name; policy.command is set. The stronger source of a name is the later one above.
base::Result<void, Stop> supply_environment(const Invocation& invocation, const Arguments& arguments,
                                            const policy::ecosystem::Effective& effective,
                                            const policy::config::Merged& config, policy::Policy& policy);

}  // namespace cordon::cli
