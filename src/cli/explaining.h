// run --explain: what the host says of the paths that a watched run did not get, and which line would give them.
#pragma once

#include "cli/verdict.h"
#include "plan/outcome.h"
#include "plan/plan.h"
#include "report/report.h"

namespace cordon::cli {

/// Adds the denied paths to the report. Each line that is suggested was planned with: what a plan would refuse, a
/// shield above all, is said and not suggested.
void explain_paths(Host& host, const policy::Policy& policy, const plan::Plan& plan, report::Report& report);

}  // namespace cordon::cli
