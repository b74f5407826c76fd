// What a policy may ask for and this version cannot do: refused with the line that asks, never left out.
#pragma once

#include "planner/draft.h"

namespace cordon::planner {

void refuse_unsupported(Draft& draft);

}  // namespace cordon::planner
