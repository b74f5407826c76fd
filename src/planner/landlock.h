// The file system policy once more, by another mechanism: if a mount were wrong, this still stands.
//
// READ_DIR is left unhandled on purpose. Landlock rights are inherited downwards and cannot be taken back below, and
// the skeleton of the private root (/, /home, /home/me) must be listable for path walks, globs and getcwd to work: a
// READ_DIR for "/" would be one for everything, so handling it would hold nothing. What a directory lists is decided by
// what is mounted in it.
//
// Credentials below a broad read grant have no right of their own: the directories on the way to one give theirs to
// each of their entries instead, less what is masked. So a mask that the host takes away (pitfalls A2) shows nothing,
// nor does a store that it makes meanwhile. The price: what the host makes, or replaces by rename, directly in such a
// directory while the run goes on is not readable in that run.
//
// For the same reason write rights of a grant reach below read-only mounts inside it: there the mount alone holds.
#pragma once

#include <span>
#include <string>

#include "planner/draft.h"
#include "planner/mounts.h"
#include "planner/program.h"

namespace cordon::planner {

/// Landlock's ABI on this host as far as facts tell; where nobody asked, what its release brings. 0: none.
int landlock_abi(const plan::HostFacts& facts);

/// The plan for this host has file system rules at all.
bool repeats_files(const plan::HostFacts& facts);

/// The domain of a plan for this host keeps signals inside (ABI 6).
bool scopes_signals(const plan::HostFacts& facts);

/// `listed`: what may be started, where exec is a list.
void restrict_files(Draft& draft, const Arranged& arranged, const Program& program,
                    std::span<const std::string> listed);

}  // namespace cordon::planner
