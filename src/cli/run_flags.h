// Flags of `run` that contradict each other, or say nothing, before anything is looked at.
#pragma once

#include "cli/parse.h"
#include "cli/verdict.h"

namespace cordon::cli {

base::Result<void, Stop> check_run_flags(const Arguments& arguments);

}  // namespace cordon::cli
