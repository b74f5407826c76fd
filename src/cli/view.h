// From an opened manifest and its verdict to the ManifestView that `validate` and `approve` show.
#pragma once

#include "cli/verdict.h"
#include "report/manifest_view.h"

namespace cordon::cli {

enum class AskRelocatable { kNo, kYes };

report::ManifestView view_of(const Opened& opened, const Host& host, const planner::Verdict& verdict,
                             AskRelocatable relocatable);

report::ApprovalState approval_state(policy::manifest::StampState state);

}  // namespace cordon::cli
