// `allow: [nested-sandbox]`: new user, pid, network, ipc and uts namespaces, and chroot, for programs that sandbox
// parts of themselves: Chromium and what drives it.
//
// A mount namespace is not among them. Mounts of ours hold the names that they stand on only in namespaces that have
// them: a target that makes one of its own, detaches what it has inherited and keeps a descriptor into it can rename
// every mask and pin below a writable mount away, and Landlock cannot stand beside mounts. Nor is a cgroup namespace:
// in one the host's own hierarchy can be mounted.
#pragma once

#include "planner/draft.h"
#include "planner/identity.h"

namespace cordon::planner {

bool nests(const policy::Policy& policy);

/// Refuses what the kernel would refuse, and says what is opened.
void check_nested_sandbox(Draft& draft, const Identity& identity);

}  // namespace cordon::planner
