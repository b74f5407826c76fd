// run --explain: what the host says of what a watched run did not get, paths and addresses, and which line would give
// them.
#pragma once

#include <vector>

#include "cli/verdict.h"
#include "plan/outcome.h"
#include "plan/plan.h"
#include "report/report.h"

namespace cordon::cli {

/// Adds the addresses that the run named and nothing carried, and the denied paths, to the report. Each line that is
/// suggested was planned with: what a plan would refuse, a shield above all, is said and not suggested.
void explain_watched(Host& host, const policy::Policy& policy, const plan::Plan& plan, const plan::Outcome& outcome,
                     report::Report& report);

/// The denied paths alone, each with the line that comes to mind: tried against the plan it is not.
std::vector<report::Denial> denied_paths(Host& host, const policy::Policy& policy, const plan::Plan& plan,
                                         const plan::Observations& observed);

}  // namespace cordon::cli
