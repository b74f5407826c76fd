// `allow: [nested-sandbox]`: the calls by which a program (Chromium, bubblewrap) makes a sandbox of its own inside this
// one. What is mounted here it cannot undo: a mount namespace that a new user namespace makes has every mount of ours
// locked, with its flags (mount_namespaces(7)).
#pragma once

#include "planner/draft.h"
#include "planner/identity.h"

namespace cordon::planner {

bool nests(const policy::Policy& policy);

/// Refuses what it would undo (a list under exec), and says what it costs: no Landlock, whose domains forbid mounts.
void check_nested_sandbox(Draft& draft, const Identity& identity);

}  // namespace cordon::planner
