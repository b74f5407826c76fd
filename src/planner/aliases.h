// Other names of credentials: a shield hides ~/.ssh, and a hard link or a second mount of the same file shows it under
// a name that no shield knows. Here is decided what is looked for and where, and what is refused or accepted; the host
// looks (host/alias_scan.h).
//
// Looked for: the files of the corpus's anchors, wallet keys, single hidden files, what `deny` names, and where
// something is granted for writing the shields of checkouts and what links inside shields lead to; not what a `read:`
// line opts in by its exact name. Looked at: everything that the target is shown but the system's own packages and the
// Nix store, whose files are root's. A scan that did not come to its end refuses.
//
// Called by questions.cc once everything else is known, and by plan().
#pragma once

#include <optional>
#include <vector>

#include "plan/aliases.h"
#include "planner/draft.h"
#include "planner/mounts.h"
#include "policy/shield/rules.h"

namespace cordon::planner {

/// What must be looked for; nothing where no credential could be shown.
std::optional<plan::AliasQuestion> alias_question(const Draft& draft, const policy::shield::Rules& rules,
                                                  const std::vector<Want>& wants);

/// Refuses each name that no --accept-alias covers, and each tree that may not be accepted; the rest is carried in the
/// plan, for every run's report.
void check_aliases(Draft& draft, const policy::shield::Rules& rules, const std::vector<Want>& wants);

}  // namespace cordon::planner
