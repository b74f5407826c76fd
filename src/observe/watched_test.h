// For this room's tests: a child under a notifying filter, and an observer that is asked about its calls.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "kernel/process.h"
#include "kernel/security.h"
#include "observe/numbers_test.h"
#include "observe/observer.h"

namespace cordon::observe::testing {

inline std::vector<sock_filter> notifying(const std::vector<plan::WatchedCall>& calls) {
  std::vector<sock_filter> code{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const plan::WatchedCall& call : calls) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call.number, 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return code;
}

/// Of the child: makes the filter, tells the number of its listener, and waits until the parent has it.
inline void be_watched(const std::vector<plan::WatchedCall>& calls, int told, int go_on) {
  const auto code = notifying(calls);
  ::prctl(PR_SET_DUMPABLE, 1);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const auto listener = kernel::seccomp_set_filter(std::as_bytes(std::span(code)), kernel::kSeccompFilterNewListener);
  const int number = listener ? listener->get() : -1;
  char byte = 0;
  if (::write(told, &number, sizeof number) != sizeof number || ::read(go_on, &byte, 1) != 1) ::_exit(99);
}

inline void answer(base::FdView listener, Observer& observer) {
  seccomp_notif notification{};
  if (!kernel::notification_receive(listener, notification)) return;
  Call call{.pid = static_cast<pid_t>(notification.pid), .number = notification.data.nr};
  std::ranges::copy(notification.data.args, call.arguments.begin());
  observer.look(call, Fate::kGoesOn);
  const seccomp_notif_resp response{
      .id = notification.id, .val = 0, .error = 0, .flags = kernel::kSeccompUserNotifContinue};
  if (kernel::notification_send(listener, response)) observer.keep();
}

/// What was observed of a child that does this and ends.
inline plan::Outcome outcome_of(const std::function<void()>& body, plan::Watching watching = plan::Watching::kPaths,
                                const std::function<void(Observer&, pid_t)>& when_idle = {}) {
  const plan::Plan plan = [&] {
    plan::Plan out;
    out.watching = watching;
    out.watched = native_calls(watching);
    return out;
  }();
  std::array<int, 2> told{}, go_on{};
  EXPECT_EQ(::pipe2(told.data(), O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(go_on.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    be_watched(plan.watched, told[1], go_on[0]);
    body();
    ::_exit(0);
  }
  int number = -1;
  EXPECT_EQ(::read(told[0], &number, sizeof number), static_cast<ssize_t>(sizeof number));
  const auto pidfd = kernel::pidfd_open(child);
  const base::Fd listener(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd->get(), number, 0)));
  EXPECT_TRUE(listener.valid());
  EXPECT_EQ(::write(go_on[1], "", 1), 1);
  for (const int fd : {told[0], told[1], go_on[0], go_on[1]}) ::close(fd);

  Observer observer(plan);
  while (listener.valid()) {
    pollfd ready{.fd = listener.get(), .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, 1, when_idle ? 200 : -1);
    if (count == 0) {
      when_idle(observer, child);
    } else if ((ready.revents & POLLIN) != 0) {
      answer(listener, observer);
    } else {
      break;  // nobody is left under the filter
    }
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  plan::Outcome outcome;
  observer.finish(outcome);
  return outcome;
}

inline plan::Observations watch(const std::function<void()>& body, plan::Watching watching = plan::Watching::kPaths,
                                const std::function<void(Observer&, pid_t)>& when_idle = {}) {
  return outcome_of(body, watching, when_idle).observations;
}

inline const plan::ObservedPath* find(const plan::Observations& in, std::string_view path) {
  for (const plan::ObservedPath& one : in.paths) {
    if (one.path == path) return &one;
  }
  return nullptr;
}

inline std::uint64_t lost(const plan::Observations& in, std::string_view why) {
  for (const plan::Loss& one : in.losses) {
    if (one.why == why) return one.count;
  }
  return 0;
}

}  // namespace cordon::observe::testing
