// Between two mounts nothing can be renamed. So everything that is to be placed is first copied into a directory of
// ours in the destination's root, and synced; from there each is renamed to its place, as it would have been from the
// upper. A death before all copies are there changes nothing that was at the destination: the journal names the stage,
// which goes. After it, the journal finishes.
#pragma once

#include <string>

#include "base/result.h"
#include "enforce/promote/work.h"

namespace cordon::enforce::promote {

/// A name that a run could not have guessed, and thus not given to anything.
Sys<std::string> name_stage();

/// Makes the stage that `work` names and fills it. Where that fails nothing is left of it.
base::Result<void> fill_stage(const Survey& survey, const Task& task, const Work& work);

/// Opens the stage of a journal; ENOENT where it is gone.
Sys<Fd> open_stage(FdView destination, const Work& work);

}  // namespace cordon::enforce::promote
