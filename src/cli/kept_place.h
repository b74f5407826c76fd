// Where the changes of runs are kept, and by which rules they are applied later: `cordon changes`, and the end of a
// run.
#pragma once

#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "cli/invocation.h"
#include "cli/state.h"
#include "enforce/promote/kept.h"

namespace cordon::cli {

/// The registry below the state directory; nothing where there is none and `missing` leaves it so.
base::Result<std::optional<enforce::promote::Kept>> open_kept(const std::string& state_directory,
                                                              policy::approval::Caller caller, Missing missing);

/// Shields, roots that links may point to, and the umask, which is the caller's.
enforce::promote::Task promotion_rules(mode_t umask);

}  // namespace cordon::cli
