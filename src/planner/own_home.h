// The home of a run that is given an empty one of its own (Posture::home): HOME keeps its real value, and the program
// finds an existing, writable home with nothing in it but what lines grant.
#pragma once

#include <string>
#include <vector>

#include "planner/draft.h"
#include "planner/mounts.h"

namespace cordon::planner {

/// Links that the spelling of HOME crosses.
void want_home_links(const Draft& draft, std::vector<Link>& links);

/// Where it stands; "" where the run has none, or where a line or the base shows something there already.
std::string empty_home(const policy::Policy& policy, const plan::HostFacts& facts, const Arranged& arranged);

}  // namespace cordon::planner
