// What can be limited where this process runs, found by doing it: a group is made, limited, entered by a child, read
// back and removed.
#pragma once

#include "plan/host_facts.h"

namespace cordon::cgroup {

/// Sweeps what a killed Cordon left, too. Takes a few milliseconds directly, some tens by a scope.
plan::LimitsFact probe();

}  // namespace cordon::cgroup
