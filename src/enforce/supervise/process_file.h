// The few things that only /proc tells about processes: the target's state and group, which process a pidfd stands for,
// and who may have sent a signal. Nothing where a process is gone or may not be read.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

/// A thread, of its status file. One that rests at two looks and has left a processor as often has not run in between.
struct ThreadState {
  pid_t id = 0;
  char state = '?';            ///< where it went meanwhile, too
  std::uint64_t switches = 0;  ///< how often it has left a processor
  friend bool operator==(const ThreadState&, const ThreadState&) = default;
};
ThreadState parse_thread(pid_t id, std::string_view status);
std::vector<ThreadState> thread_states(pid_t pid);

/// How many processes and threads were ever started on this machine: unchanged, nobody was in between.
std::optional<std::uint64_t> starts_so_far();

/// A table of /proc, or its beginning where it is longer than 4 MiB.
std::string read_table(const std::string& path);

/// The pid, as this process sees it, of the process that the pidfd stands for. Unlike a number that was sent along, it
/// cannot name another process.
std::optional<pid_t> pid_of(base::FdView pidfd);

/// Who sent a signal that carries this pid and uid. The kernel does not translate the pid of a sender in a pid
/// namespace below ours (kill(2) fills in the sender's own idea of it), so the number alone says nothing: a process of
/// ours must be able to have sent it, or else one of the run's in our process group, which kill(0, …) reaches.
Origin origin_of_sender(pid_t pid, std::uint32_t uid);

}  // namespace cordon::enforce::supervise
