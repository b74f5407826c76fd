#include "enforce/supervise/own_signals.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>

namespace cordon::enforce::supervise {
namespace {

/// Runs the body in a process (and process group) of its own, whose exit code says how it went.
pid_t in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    _exit(body());
  }
  return child;
}
int exit_code(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}
bool is_blocked(int signal) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return sigismember(&now, signal) == 1;
}

TEST(OwnSignals, AreTakenFromTheDescriptorAndGivenBack) {
  const pid_t child = in_child([] {
    {
      auto signals = OwnSignals::take();
      if (!signals || !is_blocked(SIGTERM) || is_blocked(SIGTSTP)) return 1;
      signals->hold_stops();
      if (!is_blocked(SIGTSTP) || is_blocked(SIGWINCH) || is_blocked(SIGSEGV)) return 2;
      kill(getpid(), SIGTERM);
      const auto first = signals->next();
      if (!first || first->signal != SIGTERM || first->origin != Origin::kOutside) return 3;
      if (signals->next()) return 4;
      raise(SIGINT);  // still pending at the end: it was for the run
    }
    return is_blocked(SIGTERM) || is_blocked(SIGTSTP) ? 5 : 0;
  });
  EXPECT_EQ(exit_code(child), 0);
}

TEST(OwnSignals, LeaveIgnoredWhatNohupAndBackgroundJobsIgnore) {
  const pid_t child = in_child([] {
    signal(SIGHUP, SIG_IGN);
    auto signals = OwnSignals::take();
    if (!signals || signals->ignored() != std::vector<int>{SIGHUP}) return 1;
    kill(getpid(), SIGHUP);
    return signals->next() ? 2 : 0;
  });
  EXPECT_EQ(exit_code(child), 0);
}

TEST(OwnSignals, StopUsAsTheSignalWouldAndGoOnWhenContinued) {
  for (const int signal : {SIGTSTP, SIGSTOP}) {
    const pid_t child = in_child([signal] {
      auto signals = OwnSignals::take();
      if (!signals) return 1;
      signals->hold_stops();
      signals->stop_ourselves(signal);
      return is_blocked(SIGTSTP) ? 0 : 2;
    });
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    EXPECT_EQ(WSTOPSIG(status), signal);
    kill(child, SIGCONT);
    EXPECT_EQ(exit_code(child), 0);
  }
}

TEST(OwnSignals, TellARequestFromWhatTheRunSendsToItsOwnGroup) {
  const pid_t child = in_child([] {
    auto signals = OwnSignals::take();
    if (!signals) return 1;
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return 2;
    const pid_t first = fork();
    if (first == 0) {
      // A number that nobody outside has (this /proc is the outer one): the sender's own number is all that arrives.
      pid_t sender = 0;
      while ((sender = fork()) == 0 && access(("/proc/" + std::to_string(getpid())).c_str(), F_OK) == 0) {
      }
      if (sender == 0) kill(0, SIGTERM);
      while (true) pause();
    }
    // Only the first could be hurt by it, and it is its namespace's init.
    std::optional<OwnSignals::Arrived> arrived;
    while (!(arrived = signals->next())) usleep(1000);
    kill(first, SIGKILL);
    waitpid(first, nullptr, 0);
    return arrived->signal == SIGTERM && arrived->origin == Origin::kInside ? 0 : 3;
  });
  EXPECT_EQ(exit_code(child), 0);
}

TEST(OwnSignals, CallASenderThatIsGoneUnknown) {
  const pid_t child = in_child([] {
    auto signals = OwnSignals::take();
    if (!signals) return 1;
    const pid_t sender = fork();
    if (sender == 0) {
      kill(getppid(), SIGTERM);
      _exit(0);
    }
    waitpid(sender, nullptr, 0);
    const auto arrived = signals->next();
    return arrived && arrived->origin == Origin::kUnknown ? 0 : 2;
  });
  EXPECT_EQ(exit_code(child), 0);
}

}  // namespace
}  // namespace cordon::enforce::supervise
