// The target's environment: what the policy lists and the host (or --env) sets, and nothing else. HOME and PATH are
// always there, because too much breaks without: HOME=/tmp and PATH=/usr/bin:/bin unless listed and set.
#pragma once

#include <string>
#include <vector>

#include "planner/draft.h"

namespace cordon::planner {

struct Environment {
  std::vector<std::string> entries;  ///< "NAME=VALUE", sorted; secrets
  std::string home;                  ///< what HOME says
  std::vector<const policy::EnvGrant*> unset;
};

Environment environment_of(const policy::Policy& policy, const plan::HostFacts& facts);

}  // namespace cordon::planner
