// A Plan for people and for machines: `inspect`, `run --dry-run`.
//
// Both views show every step with its StepId, so that a refusal, a failed step and a report line can be found in them.
// Environment values are secrets: only names are shown, here and everywhere. Bytes from outside are quoted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "plan/plan.h"

namespace cordon::report {

/// Grouped by what the steps are for; one line per step: id, act, source -> target, flags, the reason.
std::string plan_text(const plan::Plan& plan);

/// {"schema_version":1,"engine":…,"steps":[{"id":1,"kind":"bind",…}],…}. Keys are never renamed within a version.
nlohmann::ordered_json plan_json(const plan::Plan& plan);

}  // namespace cordon::report
