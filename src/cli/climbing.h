// Climbing: what a '..' behind a name means in the paths of a watched run. The text does not say, since the name may be
// a link's; this host does.
#pragma once

#include "cli/verdict.h"
#include "plan/observation.h"
#include "plan/plan.h"

namespace cordon::cli {

/// Rewrites each path of `observed` that has such a '..' to the one that it leads to here, and counts those that cannot
/// be told as lost. `host.facts` is not changed.
void settle_climbs(Host& host, const plan::Plan& plan, plan::Observations& observed);

}  // namespace cordon::cli
