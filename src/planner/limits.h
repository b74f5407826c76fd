// Limits that need a control group: memory, CPU time, processes.
#pragma once

#include "planner/draft.h"

namespace cordon::planner {

/// limits.memory, limits.cpu or limits.pids is asked for.
bool wants_limits(const policy::Policy& policy);

/// Refuses limits that mean nothing (too little to start with), and those that this host cannot hold; where less is
/// accepted, names them as degraded.
void check_limits(Draft& draft);

/// The step, where something is left to hold.
void add_cgroup(Draft& draft);

}  // namespace cordon::planner
