// The look at auto-executing files around one run: which trees of a plan the target may write, and where this caller's
// git reads its settings.
#pragma once

#include "cli/verdict.h"
#include "host/auto_exec.h"
#include "plan/plan.h"

namespace cordon::cli {

/// To be made right before the run starts; after() says what the run left.
host::AutoExecWatch watch_writes(const host::Caller& caller, const plan::HostFacts& facts, const plan::Plan& plan);

}  // namespace cordon::cli
