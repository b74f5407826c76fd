// `cordon profile`: a program is run watched, and a manifest is drafted from what it asked for.
//
// It is watched in the sandbox of any run: nothing of the host is shown but the program's own directory, its home is
// empty, and what it reaches for is refused and recorded. At a terminal each line is asked about, and the program run
// again with what was granted, until it asks for nothing new; else there is one pass. `--check MANIFEST` is a lockfile
// of behaviour: the program is run under its approved manifest, and what it asks for beyond that is the difference.
#pragma once

#include "cli/commands.h"
#include "cli/verdict.h"

namespace cordon::cli {

/// The draft does not hold all that the program asked for, or it did more than the manifest that was checked.
inline constexpr int kNotVouchedFor = 4;

int profile(Context& context, const Arguments& arguments);

/// --check: 0 where there is no difference, else kNotVouchedFor.
base::Result<int, Stop> check_profile(Context& context, const Arguments& arguments);

}  // namespace cordon::cli
