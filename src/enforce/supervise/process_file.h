// The few things that only /proc tells about processes: the target's state and group, which process a pidfd stands for,
// and who may have sent a signal. Nothing where a process is gone or may not be read.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "enforce/supervise/job_control.h"
#include "enforce/supervise/signal_policy.h"

namespace cordon::enforce::supervise {

/// Of /proc/PID/status. Pure parsing.
struct ProcessStatus {
  std::uint32_t uid = 0;      ///< the real one
  std::vector<pid_t> ids;     ///< one per pid namespace, from the reader's inwards
  std::vector<pid_t> groups;  ///< likewise; 0 where the group is of a namespace further out
  bool kernel_thread = false;
  friend bool operator==(const ProcessStatus&, const ProcessStatus&) = default;
};
std::optional<ProcessStatus> parse_status(std::string_view text);

std::optional<ProcessStat> process_stat(pid_t pid);
std::optional<ProcessStatus> process_status(pid_t pid);

/// Every process that /proc shows, now. Some of them may be gone.
std::vector<pid_t> all_processes();
/// The state of each thread of a process: '?' where one went meanwhile.
std::vector<char> thread_states(pid_t pid);

/// The pid, as this process sees it, of the process that the pidfd stands for. Unlike a number that was sent along, it
/// cannot name another process.
std::optional<pid_t> pid_of(base::FdView pidfd);

/// Who sent a signal that carries this pid and uid. The kernel does not translate the pid of a sender in a pid
/// namespace below ours (kill(2) fills in the sender's own idea of it), so the number alone says nothing: a process of
/// ours must be able to have sent it, or else one of the run's in our process group, which kill(0, …) reaches.
Origin origin_of_sender(pid_t pid, std::uint32_t uid);

}  // namespace cordon::enforce::supervise
