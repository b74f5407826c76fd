#include "support/pause.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "support/require.h"

namespace cordon::test {
namespace {

constexpr long kOptions = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;

int event_of(int status) { return status >> 16; }

/// What to pass on when a stop is resumed: nothing for the tracer's own stops, else the signal.
int passed_on(int status) {
  const int signal = WSTOPSIG(status);
  return event_of(status) != 0 || signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
}

void go_on(pid_t pid, int status) { ::ptrace(PTRACE_CONT, pid, nullptr, passed_on(status)); }

void let_go(pid_t pid) {
  if (::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0) return;
  int status = 0;
  while (::waitpid(pid, &status, __WALL) == pid && !WIFSTOPPED(status)) {
  }
  ::ptrace(PTRACE_DETACH, pid, nullptr, passed_on(status));
}

}  // namespace

bool pause_at_launch(pid_t pid, const std::function<void()>& act) {
  int status = 0;
  require(::waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "the command stops itself");
  require(::ptrace(PTRACE_SEIZE, pid, nullptr, kOptions) == 0, "PTRACE_SEIZE");
  require(::kill(pid, SIGCONT) == 0, "SIGCONT");
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL) != 0) {
      if (errno == EINTR) continue;
      return false;
    }
    const pid_t who = info.si_pid;
    const bool stopped = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
    if (!stopped && who == pid) return false;  // left for Running::wait() to reap
    if (::waitpid(who, &status, WUNTRACED | __WALL) != who || !WIFSTOPPED(status)) continue;
    if (who != pid && event_of(status) == PTRACE_EVENT_EXEC) {
      act();
      ::ptrace(PTRACE_DETACH, who, nullptr, nullptr);
      let_go(pid);
      return true;
    }
    go_on(who, status);
  }
}

}  // namespace cordon::test
