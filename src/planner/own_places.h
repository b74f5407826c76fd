// Cordon's own program, launcher, configuration, state and cache: whoever writes there decides what the next run holds.
// Below a write grant they are read-only; what does not exist yet and no shield of the corpus holds, and what is
// reached through a link that the target could exchange, cannot be held so and refuses the grant, as does a grant that
// is or lies in one.
#pragma once

#include <string>
#include <vector>

#include "planner/draft.h"
#include "planner/mounts.h"
#include "planner/shields.h"

namespace cordon::planner {

/// After every write grant is known.
void guard_own_places(Draft& draft, const Shields& shields, std::vector<Want>& wants);

}  // namespace cordon::planner
