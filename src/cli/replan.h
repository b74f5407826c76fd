// When a step fails because this host lacks something that was assumed: which facts lie behind the step.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace cordon::cli {

/// The features that this step rests on and whose lack explains this errno; empty where the failure is about the object
/// (a path that was swapped, a file that is gone), which no other plan would mend.
std::vector<plan::Feature> features_behind(const plan::Plan& plan, const base::Error& error);

/// Where an overlay could not be mounted: the directories of all overlays of the plan, so that the second plan, which
/// is the last, does without. Empty where the step failed for another reason. Nothing need be probed: the step was the
/// attempt.
std::vector<std::string> refused_overlays(const plan::Plan& plan, const base::Error& error);

}  // namespace cordon::cli
