// The last steps before the target: limits that need no control group, the ids, no privilege at all.
#pragma once

#include "planner/draft.h"
#include "planner/identity.h"

namespace cordon::planner {

void drop_privileges(Draft& draft, const Identity& identity);

}  // namespace cordon::planner
