// The second door: what a command's run has of its own. A home that is empty, a directory for temporary files, caches
// and tool stores of Cordon's own at their usual places, and directories of the host that may be changed without
// changing them (views). What is written there may be executed, for nothing of it is the host's (SPEC §7.2).
//
// A view is a grant for reading, judged as one (shields, planted links, what is denied); only its mount is another.
#pragma once

#include <string>
#include <vector>

#include "planner/draft.h"
#include "planner/identity.h"
#include "planner/mounts.h"

namespace cordon::planner {

/// Cordon's own directories that the policy names.
std::vector<std::string> command_questions(const policy::Policy& policy);

/// The private places; a directory of Cordon's own that is not there refuses. Marks the views among `wants`.
void want_command(Draft& draft, std::vector<Want>& wants, std::vector<Link>& links);

/// The private home and /tmp, before anything is mounted in them. False where the policy asks for neither.
bool mount_command_places(Draft& draft, const Identity& identity, const Arranged& arranged);

/// What the target finds made for it, where nothing of the host shows at that place. After every mount.
void make_command_files(Draft& draft, const Arranged& arranged);
/// Those of them that the private root holds itself, and so need a right of their own.
std::vector<std::string> command_files(const Draft& draft);

/// The overlay of a view's mount.
void mount_view(Draft& draft, const Mount& mount);

}  // namespace cordon::planner
