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
  bool on_host = false;  ///< the landlock engine: no namespace
};

/// Uid 0 gives nothing, changing ids restores nothing, and neither can be undone (capabilities(7)).
inline constexpr unsigned long kSecurebits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                             SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                             SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

[[noreturn]] void run_target(const Target& target);

/// It has CAP_SETPCAP.
bool may_renounce();

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
/// Opens what no Landlock rule names: a file of the masks' own file system, or of the private directory.
Sys<void> open_unnamed(const Target& target);

/// verify_host.cc: the same for the landlock engine.
void verify_on_host(const Target& target);
Sys<void> open_unnamed_on_host(const Target& target, int flags);
void verify_host_reach(const Target& target, std::uint16_t step);
void verify_privileges(const Target& target);
bool scopes_signals(const Record& landlock);

template <class T>
int code_of(const Sys<T>& result) {
  return result ? 0 : result.error().code;
}

/// Holds where the act failed with one of `codes`.
template <class T>
void must_fail(const Target& target, Check check, std::uint16_t step, const Sys<T>& act,
               std::initializer_list<int> codes) {
  bool held = false;
  for (const int code : codes) held = held || code_of(act) == code;
  target.control.verified(check, step, held, code_of(act));
}

}  // namespace cordon::enforce::launch
