// A child of a probe that runs one function and ends.
#pragma once

#include <sys/prctl.h>

#include <csignal>

#include "kernel/process.h"
#include "kernel/system.h"

namespace cordon::host {

/// Exit codes of a probe's children.
inline constexpr int kHeld = 42;
inline constexpr int kNotHeld = 43;

/// Forks, runs `body` (which answers the exit code) in the child and waits. The child ends with its parent.
template <class Body>
kernel::Sys<siginfo_t> in_child(Body body) {
  CORDON_TRY(const pid_t pid, kernel::fork());
  if (pid == 0) {
    (void)kernel::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(body());
  }
  return kernel::waitid(P_PID, static_cast<id_t>(pid), WEXITED);
}

inline bool exited_with(const siginfo_t& info, int code) {
  return info.si_code == CLD_EXITED && info.si_status == code;
}

}  // namespace cordon::host
