// Init: it reaps and reports, dies with the supervisor, and takes everything with it.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "enforce/launch/harness_test.h"
#include "kernel/process.h"

namespace cordon::enforce::launch {
namespace {

using testing::act;
using testing::As;
using testing::PlanMaker;
using testing::run;
using testing::Scratch;
using testing::Told;

class Init : public testing::Launch {};
INSTANTIATE_TEST_SUITE_P(Everybody, Init, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

/// True once the process behind a pidfd is gone, within five seconds.
bool gone(const base::Fd& pidfd) {
  pollfd one{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 5'000) == 1;
}

/// Everything until the execve was done.
void until_executed(const Started& started, base::Fd& target) {
  while (true) {
    auto batch = receive(started.control, 0);
    ASSERT_TRUE(batch);
    if (batch->count == 0) return;
    for (const Message& message : batch->all()) {
      ASSERT_NE(message.kind, Kind::kStepFailed) << message.step << " " << message.text.data() << " " << message.code;
      if (message.kind == Kind::kTargetStarted) target = std::move(batch->fd);
    }
  }
}

/// The pid of the target as this process sees it.
pid_t pid_of(const base::Fd& pidfd) {
  const std::string info = testing::read_file("/proc/self/fdinfo/" + std::to_string(pidfd.get()));
  const auto at = info.find("Pid:");
  return at == std::string::npos ? 0 : std::atoi(info.c_str() + at + 4);
}

TEST_P(Init, ReportsHowTheTargetEnded) {
  act(GetParam(), [] {
    EXPECT_EQ(run(PlanMaker().shell("exit 42").plan()).exit_code(), 42);
    const Told killed = run(PlanMaker().shell("kill -USR1 $$").plan());
    const Message* end = killed.first(Kind::kTargetExited);
    ASSERT_NE(end, nullptr);
    EXPECT_TRUE(WIFSIGNALED(end->code));
    EXPECT_EQ(WTERMSIG(end->code), SIGUSR1);
    EXPECT_TRUE(killed.init_gone);
  });
}

TEST_P(Init, ReportsThatTheTargetStoppedAndWentOn) {
  act(GetParam(), [] {
    const auto wake = [](const Started& started, const Message& message) {
      if (message.kind != Kind::kTargetStopped) return;
      // Everything of the sandbox that shares init's children: the shell.
      for (const auto& task : {std::string("/proc/") + std::to_string(started.init) + "/task/" +
                               std::to_string(started.init) + "/children"}) {
        kill(std::atoi(testing::read_file(task).c_str()), SIGCONT);
      }
    };
    const Told told = run(PlanMaker().shell("kill -STOP $$; echo went on; sleep 0.5").plan(), {.hear = wake});
    ASSERT_NE(told.first(Kind::kTargetStopped), nullptr);
    EXPECT_EQ(told.first(Kind::kTargetStopped)->code, SIGSTOP);
    EXPECT_NE(told.first(Kind::kTargetContinued), nullptr);
    EXPECT_EQ(told.output, "went on\n");
    EXPECT_EQ(told.exit_code(), 0);
  });
}

TEST_P(Init, TakesDaemonsWithIt) {
  act(GetParam(), [] {
    const Scratch scratch;
    PlanMaker maker;
    maker.mount(plan::step::MakeDirectory{.target = "/w"}).bind(scratch.path(), "/w", {});
    // Double fork, own session, deaf to signals; says its pid outside by writing a file that it keeps touching.
    const Told told = run(maker
                              .shell("(trap '' HUP TERM INT; setsid sh -c 'trap \"\" HUP TERM INT; while :; do echo x "
                                     ">> /w/alive; sleep 0.02; done' "
                                     "</dev/null >/dev/null 2>&1 &) & sleep 0.3; test -s /w/alive && echo alive")
                              .plan());
    EXPECT_EQ(told.output, "alive\n") << told.error;
    EXPECT_TRUE(told.init_gone);
    const auto size = testing::read_file(scratch.path() + "/alive").size();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(testing::read_file(scratch.path() + "/alive").size(), size);
  });
}

TEST_P(Init, EndsWhenTheLifeSocketEnds) {
  act(GetParam(), [] {
    auto started = start(PlanMaker().shell("trap '' HUP TERM; while :; do sleep 1; done").plan(), {});
    ASSERT_TRUE(started) << base::to_string(started.error());
    base::Fd target;
    until_executed(*started, target);
    ASSERT_TRUE(target.valid());
    EXPECT_GT(pid_of(target), 0);
    started->life.reset();
    EXPECT_TRUE(gone(started->init_pidfd));
    EXPECT_TRUE(gone(target));
  });
}

TEST_P(Init, EndsWithASupervisorThatIsKilled) {
  act(GetParam(), [] {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t supervisor = fork();
    if (supervisor == 0) {
      auto started = start(PlanMaker().shell("sleep 1000").plan(), {});
      base::Fd target;
      if (started) until_executed(*started, target);
      const std::array<pid_t, 2> pids = {started ? started->init : 0, pid_of(target)};
      if (::write(ends[1], pids.data(), sizeof pids) < 0) _exit(1);
      pause();
    }
    std::array<pid_t, 2> pids{};
    ASSERT_EQ(::read(ends[0], pids.data(), sizeof pids), static_cast<ssize_t>(sizeof pids));
    auto init = kernel::pidfd_open(pids[0]);
    auto target = kernel::pidfd_open(pids[1]);
    ASSERT_TRUE(init && target);
    kill(supervisor, SIGKILL);
    waitpid(supervisor, nullptr, 0);
    EXPECT_TRUE(gone(*target));
    EXPECT_TRUE(gone(*init));
  });
}

TEST_P(Init, CannotBeKilledStoppedOrTracedFromInside) {
  act(GetParam(), [] {
    const Told told =
        run(PlanMaker()
                .shell("for s in KILL STOP TERM HUP INT SEGV CHLD USR1; do kill -$s 1 2>/dev/null; done; sleep 0.1;"
                       "grep -E '^(State|CapEff|CapPrm|NoNewPrivs|SigBlk|Seccomp):' /proc/1/status | cut -c1-28;"
                       "echo still here")
                .plan());
    EXPECT_TRUE(told.output.ends_with("still here\n")) << told.output << told.error;
    EXPECT_NE(told.output.find("State:\tS (sleeping)"), std::string::npos) << told.output;
    EXPECT_NE(told.output.find("CapEff:\t0000000000000000"), std::string::npos) << told.output;
    EXPECT_NE(told.output.find("NoNewPrivs:\t1"), std::string::npos) << told.output;
    EXPECT_EQ(told.exit_code(), 0);
  });
}

TEST_P(Init, HoldsOneDescriptorAndNoSecret) {
  act(GetParam(), [] {
    auto started = start(PlanMaker().shell("sleep 1000").plan(), {});
    ASSERT_TRUE(started);
    base::Fd target;
    until_executed(*started, target);
    // Init disarms itself beside its child: it is given the time it needs.
    const std::string of_init = "/proc/" + std::to_string(started->init);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (geteuid() == 0) {
      const Scratch scratch;
      ASSERT_EQ(std::system(("ls -A " + of_init + "/fd > " + scratch.path() + "/fds").c_str()), 0);
      EXPECT_EQ(testing::read_file(scratch.path() + "/fds"), std::to_string(kLifeFd) + "\n");
      EXPECT_EQ(testing::read_file(of_init + "/maps").find("cordon-plan"), std::string::npos);
    } else {
      EXPECT_EQ(testing::read_file(of_init + "/maps"), "") << "not dumpable: its own user cannot look";
    }
    EXPECT_EQ(testing::read_file(of_init + "/environ"), "");
  });
}

TEST_P(Init, IsInTheCallersProcessGroupUnlessToldOtherwise) {
  act(GetParam(), [] {
    for (const Session session : {Session::kCallers, Session::kOwn}) {
      auto started = start(PlanMaker().shell("sleep 1000").plan(), {}, {.session = session});
      ASSERT_TRUE(started);
      base::Fd target;
      until_executed(*started, target);
      const pid_t pid = pid_of(target);
      EXPECT_EQ(getsid(pid) == getsid(0), session == Session::kCallers);
      EXPECT_EQ(getpgid(pid) == getpgrp(), session == Session::kCallers);
    }
  });
}

TEST_P(Init, LeavesNoZombie) {
  act(GetParam(), [] {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(run(PlanMaker().plan()).init_gone);
    errno = 0;
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  });
}

}  // namespace
}  // namespace cordon::enforce::launch
