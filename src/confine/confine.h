// confine: a helper of ours that reads hostile bytes locks itself up, for good, and tries the locks.
//
// What it could still do once it was taken over is what its filter lists, to the descriptors that it holds: no file, no
// program, no process, no unix or listening socket of its own making, no executable memory, no privilege.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>

#include "kernel/errno.h"

namespace cordon::confine {

/// What was tried, and found closed: bits of Confined::checks.
enum class Check : std::uint32_t {
  kUnixSocket = 1U << 0,    ///< socket(AF_UNIX) is EPERM
  kOpen = 1U << 1,          ///< openat("/") is EPERM
  kExec = 1U << 2,          ///< execve is EPERM
  kLandlock = 1U << 3,      ///< openat("/") was EACCES before the filter
  kCapabilities = 1U << 4,  ///< none in any set
  kPrivileges = 1U << 5,    ///< no_new_privs
  kDumpable = 1U << 6,      ///< nobody of its own user may read its memory
  kProcesses = 1U << 7,     ///< clone is EPERM
  kListen = 1U << 8,        ///< bind is EPERM, or no socket is made
};
inline constexpr std::uint32_t kAllChecks = (1U << 9) - 1;

struct Confined {
  std::uint32_t checks = 0;
  std::uint32_t landlock_abi = 0;  ///< 0: this kernel has none; then kLandlock is not among the checks
};

/// What a helper says of itself is not taken on trust: every check that this kernel can make is there.
inline bool is_confined(std::uint32_t checks, std::uint32_t landlock_abi) {
  const std::uint32_t missing = landlock_abi == 0 ? static_cast<std::uint32_t>(Check::kLandlock) : 0U;
  return (checks | missing) == kAllChecks;
}

/// Privileges, limits (`most_memory`: bytes of RLIMIT_DATA), Landlock (where the kernel has it), then the filter; each
/// is tried. An Errno names the step that failed: the helper is to end before it has served anybody.
kernel::Sys<Confined> confine(std::span<const sock_filter> filter, std::uint64_t most_memory);

}  // namespace cordon::confine
