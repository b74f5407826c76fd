// The seccomp programs of a run, compiled here and carried in the plan as bytes; the launcher only installs them.
//
// "system-calls" (every run) closes what a confined program has no use for and exploits have: see kTable in filters.cc.
// Its errnos are part of the contract (SPEC §7.3): a library that is told ENOSYS falls back, one that is told EPERM
// gives up. Calls newer than the newest one that was looked at are ENOSYS. "exec" (exec: none, none-strict) hands every
// execve and execveat to the supervisor; "watch" (--record-exec, --explain, profile) what plan/path_calls.h names, and
// where both are asked for "exec" does. In each a call of another architecture or of the x32 kind kills the process.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "planner/draft.h"

namespace cordon::planner {

/// kill(0, …) reaches the target's process group, which is cordon's and the caller's pipeline's. A Landlock domain of
/// ABI 6 keeps such a signal inside; where there is none, the filter refuses the call.
enum class GroupSignals : std::uint8_t { kAllowed, kRefused };

/// `allow: [nested-sandbox]` opens chroot and new namespaces but those of mounts and control groups (nested.h).
enum class Nesting : std::uint8_t { kClosed, kOpen };

/// struct sock_filter[] in native byte order; empty where it could not be compiled (no memory, no descriptors, a
/// limit on the size of files).
std::vector<std::uint8_t> system_call_filter(std::string_view machine, GroupSignals group_signals,
                                             Nesting nesting = Nesting::kClosed);

/// exec: as a list: no file in memory at all. MFD_NOEXEC_SEAL keeps one from execve, and not from a loader that is
/// started for it (`ld.so /proc/self/fd/3`): its mount is not noexec.
std::vector<std::uint8_t> exec_list_filter(std::string_view machine);

enum class ExecFilter : std::uint8_t { kOpen, kNone, kNoneStrict };
/// Hands these calls to the supervisor as well. The kernel takes one listener, so that they are one program.
/// `attributes`: those of plan/attribute_calls.h as well.
enum class Attributes : std::uint8_t { kOwn, kServed };
std::vector<std::uint8_t> exec_filter(std::string_view machine, ExecFilter kind,
                                      std::span<const plan::WatchedCall> watched = {},
                                      Attributes attributes = Attributes::kOwn);

/// What a run that is watched so closely hands to the supervisor, with its numbers on that machine; sorted.
std::vector<plan::WatchedCall> watched_calls(std::string_view machine, plan::Watching watching);

/// The highest system-call number that kTable was checked against, and the release that brought it.
inline constexpr std::uint32_t kNewestReviewedCall = 469;  // file_setattr, 6.17

void add_filters(Draft& draft);

}  // namespace cordon::planner
