// The target's child: gives up every power, one after the other, shows that what it gave up is gone, and becomes the
// target. Pid 2 of the sandbox, in the process group and session of whoever called cordon.
//
// The order is this program's and not the plan's, because each place has its reason (target.cc).
#pragma once

#include <linux/securebits.h>
#include <sys/types.h>

#include "enforce/launch/program/channel.h"
#include "enforce/launch/program/tree.h"

namespace cordon::enforce::launch {

struct Target {
  const View& plan;
  const Tree& tree;
  Channel& control;
  mode_t umask = 0;
};

/// Uid 0 gives nothing, changing ids restores nothing, and neither can be undone (capabilities(7)).
inline constexpr unsigned long kSecurebits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                             SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                             SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

[[noreturn]] void run_target(const Target& target);

/// The first record of this op, if any.
struct Found {
  Record record;
  std::size_t index = 0;
  bool there = false;
};
Found find(const View& plan, plan::wire::Op op);

/// landlock.cc: the ruleset of the plan. Begun before anything is mounted, so that each bind adds its own rule; what is
/// left is added by its path in the new root.
Sys<void> begin_ruleset(Tree& tree, const Found& landlock);
Sys<void> finish_ruleset(const Tree& tree, const View& plan);

/// verify.cc: what must fail now is tried, and marked on the channel. Before the filters (which may answer before the
/// kernel does) and after them.
void verify_mounts(const Target& target);
void verify_confined(const Target& target);
void verify_descriptors(const Target& target);
void verify_filtered(const Target& target);
/// Opens for reading what no Landlock rule names: a file of the masks' own file system.
Sys<void> open_unnamed(const Target& target);

}  // namespace cordon::enforce::launch
