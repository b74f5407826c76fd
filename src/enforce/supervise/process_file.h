// The few things that only /proc tells about a process: its state and group, how deep its pid namespace lies, and which
// process a pidfd stands for. Nothing where it is gone or may not be read.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>

#include "base/fd.h"
#include "enforce/supervise/job_control.h"

namespace cordon::enforce::supervise {

std::optional<ProcessStat> process_stat(pid_t pid);

/// In how many pid namespaces, from this procfs's inwards, the process has an id.
std::optional<std::size_t> namespace_depth(pid_t pid);

/// The pid, as this process sees it, of the process that the pidfd stands for. Unlike a number that was sent along, it
/// cannot name another process.
std::optional<pid_t> pid_of(base::FdView pidfd);

}  // namespace cordon::enforce::supervise
