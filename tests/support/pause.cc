#include "support/pause.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string_view>

#include "support/require.h"

namespace cordon::test {
namespace {

int event_of(int status) { return status >> 16; }

/// What to pass on when a stop is resumed: nothing for the tracer's own stops, else the signal.
int passed_on(int status) {
  const int signal = WSTOPSIG(status) & ~0x80;  // PTRACE_O_TRACESYSGOOD marks a system call
  return event_of(status) != 0 || signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
}

bool says(pid_t pid, std::uint64_t address, std::string_view text) {
  std::array<char, 64> there{};
  const iovec into{.iov_base = there.data(), .iov_len = text.size() + 1};
  const iovec from{.iov_base = reinterpret_cast<void*>(address), .iov_len = into.iov_len};
  return ::process_vm_readv(pid, &into, 1, &from, 1, 0) == static_cast<ssize_t>(into.iov_len) &&
         std::string_view(there.data()) == text;
}

/// About to make the memory for the plan (enforce/launch/start.cc).
bool has_planned(pid_t pid, int status) {
  if (WSTOPSIG(status) != (SIGTRAP | 0x80)) return false;
  __ptrace_syscall_info info{};
  if (::ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0) return false;
  return info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_memfd_create &&
         says(pid, info.entry.args[0], "cordon-plan");
}

}  // namespace

bool pause_at_launch(pid_t pid, const std::function<void()>& act) {
  int status = 0;
  require(::waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "the command stops itself");
  require(::ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACESYSGOOD) == 0, "PTRACE_SEIZE");
  require(::kill(pid, SIGCONT) == 0, "SIGCONT");
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WSTOPPED | WNOWAIT | __WALL) != 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) return false;  // left for Running::wait() to reap
    if (::waitpid(pid, &status, WUNTRACED | __WALL) != pid || !WIFSTOPPED(status)) continue;
    if (has_planned(pid, status)) {
      act();
      ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
      return true;
    }
    ::ptrace(PTRACE_SYSCALL, pid, nullptr, passed_on(status));
  }
}

}  // namespace cordon::test
