// `profile --check MANIFEST`: a lockfile of behaviour. The program is run under its approved manifest and watched; what
// it asked for beyond that is the difference.
#pragma once

#include "cli/commands.h"
#include "cli/verdict.h"

namespace cordon::cli {

/// 0 where there is no difference, else kNotVouchedFor.
base::Result<int, Stop> check_profile(Context& context, const Arguments& arguments);

}  // namespace cordon::cli
