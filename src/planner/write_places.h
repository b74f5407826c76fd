// Where the writes of a policy land, for what looks around them: checkouts. Directories, resolved, sorted, each once;
// of a grant of a single file the directory that holds it. Grants that are refused for their breadth are left out.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "plan/host_facts.h"
#include "policy/policy.h"

namespace cordon::planner {

std::vector<std::string> write_places(const policy::Policy& policy, const plan::HostFacts& facts);

}  // namespace cordon::planner
