// Where a plan goes beyond the words of its policy: the places that its links lead to, and the program and files that a
// `#!` line or a name on PATH brings. Whoever approves a manifest sees them; later somebody else may change a link or a
// line, and then the same approved text grants something else. So an approval records them, and a run compares.
//
// What the base shows to every run anyway is left out: a new release of the system's own interpreter widens nothing.
// Under exec as a list that does not go for what its lines start: PATH or a link may choose another of the base.
#pragma once

#include <string>
#include <vector>

#include "plan/host_facts.h"
#include "plan/plan.h"
#include "policy/policy.h"

namespace cordon::planner {

struct Landing {
  std::string what;  ///< "read: ./data", "interpreter"; quoted where need be
  std::string real;  ///< unquoted
  friend auto operator<=>(const Landing&, const Landing&) = default;
};

/// Sorted, each once.
std::vector<Landing> landings(const policy::Policy& policy, const plan::HostFacts& facts, const plan::Plan& plan);

}  // namespace cordon::planner
