#include "enforce/supervise/orphans.h"

#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <string>

#include "enforce/supervise/process_file.h"
#include "kernel/process.h"
#include "kernel/terminal.h"

namespace cordon::enforce::supervise {
namespace {

/// Of all of our threads.
std::set<pid_t> children() {
  std::set<pid_t> out;
  for (const ThreadState& thread : thread_states(::getpid())) {
    const std::string text = read_table(fmt::format("/proc/self/task/{}/children", thread.id));
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
      pid_t pid = 0;
      const auto number = std::from_chars(at, end, pid);
      if (number.ec == std::errc()) out.insert(pid);
      at = number.ec == std::errc() ? number.ptr : at + 1;
    }
  }
  return out;
}

}  // namespace

Orphans Orphans::adopt() {
  Orphans out;
  out.before_ = children();
  static_cast<void>(kernel::prctl(PR_SET_CHILD_SUBREAPER, 1));
  return out;
}

void Orphans::end_all() const {
  while (true) {
    bool any = false;
    for (const pid_t pid : children()) {
      if (before_.contains(pid)) continue;
      any = true;
      static_cast<void>(kernel::kill(pid, SIGKILL));  // a child of ours, and not reaped: the number is its own
      static_cast<void>(kernel::waitid(P_PID, static_cast<id_t>(pid), WEXITED | __WALL));
    }
    if (!any) return;
  }
}

}  // namespace cordon::enforce::supervise
