// Real runs: what a target's end, its output and its attempts to execute look like from the supervisor.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "enforce/supervise/fixture_test.h"
#include "kernel/file.h"
#include "kernel/socket.h"

namespace cordon::enforce::supervise {
namespace {

using namespace testing;  // NOLINT: the fixture of this room
using plan::EndedBy;

TEST(Run, PassesTheTargetsExitCodeOn) {
  as_root_and_as_a_user([] {
    Heard heard;
    const auto outcome = run_to_end(shell("exit 37"), listening(heard));
    EXPECT_EQ(outcome.setup_error, std::nullopt);
    EXPECT_TRUE(outcome.executed);
    EXPECT_EQ(outcome.ended_by, EndedBy::kTarget);
    EXPECT_EQ(outcome.exit_code, 37);
    EXPECT_EQ(outcome.signal, 0);
    EXPECT_FALSE(outcome.verifications.empty());
    EXPECT_TRUE(std::ranges::all_of(outcome.verifications, &plan::Verification::held));
    EXPECT_TRUE(has_no_children());
  });
}

TEST(Run, TellsTheSignalThatKilledTheTarget) {
  as_root_and_as_a_user([] {
    Heard heard;
    const auto outcome = run_to_end(shell("kill -SEGV $$"), listening(heard));
    EXPECT_EQ(outcome.ended_by, EndedBy::kTarget);
    EXPECT_EQ(outcome.signal, SIGSEGV);
    EXPECT_TRUE(outcome.lapses.empty());
  });
}

TEST(Run, SaysWhichStepFailedAndRunsNothing) {
  as_root_and_as_a_user([] {
    auto plan = shell("echo ran");
    // What stands at the source is not what was planned.
    for (auto& step : plan.steps) {
      if (auto* bind = std::get_if<plan::step::Bind>(&step.act)) bind->id.inode += 1;
    }
    Heard heard;
    bool dropped = false;
    auto options = listening(heard);
    options.when_mounted = [&] { dropped = true; };
    const auto outcome = run_to_end(plan, std::move(options));
    ASSERT_TRUE(outcome.setup_error);
    EXPECT_TRUE(std::holds_alternative<plan::step::Bind>(plan.at(outcome.setup_error->step).act));
    EXPECT_FALSE(outcome.executed);
    EXPECT_EQ(heard.out, "");
    EXPECT_TRUE(dropped);
    EXPECT_TRUE(has_no_children());
  });
}

TEST(Run, SaysThatTheProgramCannotBeExecuted) {
  as_root_and_as_a_user([] {
    for (const Exec exec : {Exec::kAll, Exec::kNone}) {
      auto plan = plan_for({"/nowhere/program"}, exec);
      Heard heard;
      const auto outcome = run_to_end(plan, listening(heard));
      ASSERT_TRUE(outcome.setup_error);
      EXPECT_EQ(outcome.setup_error->operation, "execve");
      EXPECT_EQ(outcome.setup_error->code, ENOENT);
      EXPECT_TRUE(std::holds_alternative<plan::step::Execute>(plan.at(outcome.setup_error->step).act));
      EXPECT_FALSE(outcome.executed);
      EXPECT_TRUE(outcome.exec_attempts.empty()) << "the launcher's own is no attempt";
    }
  });
}

TEST(Run, TellsWhenEverythingIsMountedBeforeTheTargetEnds) {
  as_root_and_as_a_user([] {
    Heard heard;
    int times = 0;
    auto started = Run::start(shell("echo on; sleep 1000"), [&] {
      auto options = listening(heard);
      options.when_mounted = [&] { ++times; };
      return options;
    }());
    ASSERT_TRUE(started);
    while (heard.out.empty()) {
      ASSERT_TRUE(started->service());
      usleep(1000);
    }
    EXPECT_EQ(times, 1);
    started->cancel();
    ASSERT_TRUE(started->wait());
    EXPECT_EQ(times, 1);
  });
}

TEST(Run, HandsOnLargeOutputOfBothStreamsWhole) {
  as_root_and_as_a_user([] {
    Heard heard;
    const auto outcome =
        run_to_end(shell("head -c 5000000 /dev/zero & head -c 3000000 /dev/zero | tr '\\0' x >&2; wait; printf end"),
                   listening(heard));
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(heard.out.size(), 5'000'003U);
    EXPECT_TRUE(heard.out.ends_with("end"));
    EXPECT_EQ(heard.error, std::string(3'000'000, 'x'));
  });
}

TEST(Run, GivesTheTargetTheInputItWasGiven) {
  as_root_and_as_a_user([] {
    auto pipe = kernel::pipe();
    ASSERT_TRUE(pipe);
    ASSERT_TRUE(kernel::write_all(pipe->write_end, std::as_bytes(std::span("spoken", 6))));
    pipe->write_end.reset();
    Heard heard;
    auto options = listening(heard);
    options.stdin_mode = StdinMode::kGiven;
    options.stdin_fd = std::move(pipe->read_end);
    EXPECT_EQ(run_to_end(shell("cat"), std::move(options)).exit_code, 0);
    EXPECT_EQ(heard.out, "spoken");
  });
}

TEST(Run, TakesEverythingTheTargetLeftBehindWithIt) {
  as_root_and_as_a_user([] {
    Heard heard;
    const std::string marker = "98765." + std::to_string(getpid());
    const auto outcome = run_to_end(shell("trap '' HUP TERM INT; (setsid sh -c 'trap \"\" HUP TERM INT; sleep " +
                                          marker + " & sleep " + marker + "' &) ; sleep 0.1; exit 5"),
                                    listening(heard));
    EXPECT_EQ(outcome.exit_code, 5);
    EXPECT_EQ(process_with_argument(marker), 0);
    EXPECT_TRUE(has_no_children());
  });
}

TEST(Run, IsOneOfManyAtOnce) {
  as_root_and_as_a_user([] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([i] {
        for (int round = 0; round < 3; ++round) {
          Heard heard;
          const auto outcome =
              run_to_end(shell(fmt::format("echo {0}; /bin/true; exit {0}", i), i % 2 ? Exec::kNone : Exec::kAll),
                         listening(heard));
          EXPECT_EQ(outcome.exit_code, i);
          EXPECT_EQ(heard.out, fmt::format("{}\n", i));
          EXPECT_EQ(outcome.exec_attempts_total, i % 2 ? 1U : 0U);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(has_no_children());
  });
}

TEST(Run, LeavesNoDescriptorAndNoZombieBehind) {
  as_root_and_as_a_user([] {
    const int before = open_descriptors();
    for (int i = 0; i < 100; ++i) {
      Heard heard;
      auto options = listening(heard);
      const auto plan = i % 3 == 0 ? plan_for({"/nowhere"}) : shell("echo x; /bin/true", Exec::kNone);
      static_cast<void>(run_to_end(plan, std::move(options)));
    }
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_TRUE(has_no_children());
  });
}

TEST(Run, IsKilledWhenItsHandleIsDropped) {
  as_root_and_as_a_user([] {
    const std::string marker = "87654." + std::to_string(getpid());
    Heard heard;
    {
      auto started = Run::start(shell("sleep " + marker), listening(heard));
      ASSERT_TRUE(started);
      ASSERT_TRUE(eventually([&] {
        EXPECT_TRUE(started->service());
        return process_with_argument(marker) != 0;
      }));
    }
    EXPECT_EQ(process_with_argument(marker), 0);
    EXPECT_TRUE(has_no_children());
  });
}

TEST(Run, IsEndedByCancelFromAnotherThread) {
  as_root_and_as_a_user([] {
    Heard heard;
    auto started = Run::start(shell("trap '' TERM INT HUP; while :; do sleep 1; done"), listening(heard));
    ASSERT_TRUE(started);
    std::thread other([&] {
      usleep(100'000);
      started->cancel();
      started->cancel();
    });
    const auto outcome = started->wait();
    other.join();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->ended_by, EndedBy::kSignal);
    EXPECT_EQ(outcome->signal, SIGKILL);
    EXPECT_TRUE(outcome->lapses.empty());
  });
}

TEST(Run, IsDrivenByAHostsOwnEventLoop) {
  as_root_and_as_a_user([] {
    Heard heard;
    auto started = Run::start(shell("/bin/true; echo done; exit 4", Exec::kNone), listening(heard));
    ASSERT_TRUE(started);
    while (true) {
      pollfd one{.fd = started->poll_fd().get(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(poll(&one, 1, 20'000), 1);
      const auto over = started->service();
      ASSERT_TRUE(over);
      if (*over) break;
    }
    const auto outcome = started->wait();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->exit_code, 4);
    EXPECT_EQ(heard.out, "done\n");
  });
}

TEST(Run, ChangesNothingOfAHostThatIgnoresItsChildren) {
  as_root_and_as_a_user([] {
    signal(SIGCHLD, SIG_IGN);
    Heard heard;
    EXPECT_EQ(run_to_end(shell("exit 9"), listening(heard)).exit_code, 9);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    EXPECT_EQ(sigismember(&mask, SIGINT), 0);
    EXPECT_EQ(signal(SIGCHLD, SIG_DFL), SIG_IGN);
  });
}

TEST(ExecNone, RefusesAndRecordsEveryAttemptOfTheTarget) {
  as_root_and_as_a_user([] {
    Heard heard;
    const auto outcome = run_to_end(
        shell("/bin/true; echo $?; /usr/bin/id; /usr/bin/id; (exec /bin/cat); exit 3", Exec::kNone), listening(heard));
    EXPECT_EQ(outcome.setup_error, std::nullopt);
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(heard.out, "126\n");
    EXPECT_NE(heard.error.find("Operation not permitted"), std::string::npos) << heard.error;
    ASSERT_EQ(outcome.exec_attempts.size(), 3U);
    EXPECT_EQ(outcome.exec_attempts[0].path, "/bin/true");
    EXPECT_EQ(outcome.exec_attempts[1].path, "/usr/bin/id");
    EXPECT_EQ(outcome.exec_attempts[1].count, 2U);
    EXPECT_EQ(outcome.exec_attempts[2].path, "/bin/cat");
    EXPECT_GT(outcome.exec_attempts[2].pid, 1U);
    EXPECT_EQ(outcome.exec_attempts_total, 4U);
  });
}

TEST(ExecNone, StaysClosedUnderManyAttemptsAtOnceAndKeepsABoundedRecord) {
  as_root_and_as_a_user([] {
    Heard heard;
    const auto outcome =
        run_to_end(shell("for j in 1 2 3 4; do (i=0; while [ $i -lt 300 ]; do (/x/$j/$i) 2>/dev/null && echo RAN;"
                         " i=$((i+1)); done) & done; wait; (/bin/echo RAN) 2>/dev/null; exit 0",
                         Exec::kNone),
                   listening(heard));
    EXPECT_EQ(heard.out, "");
    EXPECT_EQ(outcome.exec_attempts.size(), 256U);
    EXPECT_EQ(outcome.exec_attempts_total, 1201U);
  });
}

TEST(ExecNone, HoldsThroughSignalsThatInterruptTheCalls) {
  as_root_and_as_a_user([] {
    Heard heard;
    const auto outcome =
        run_to_end(shell("trap : USR1; (i=0; while [ $i -lt 200 ]; do kill -USR1 $$; i=$((i+1)); done) &"
                         " i=0; while [ $i -lt 200 ]; do /bin/echo RAN 2>/dev/null; i=$((i+1)); done; wait; exit 6",
                         Exec::kNone),
                   listening(heard));
    EXPECT_EQ(outcome.exit_code, 6);
    EXPECT_EQ(heard.out, "");
    EXPECT_GE(outcome.exec_attempts_total, 200U);
  });
}

TEST(Timeout, AsksTheTargetFirst) {
  as_root_and_as_a_user([] {
    Heard heard;
    auto plan = shell("trap 'echo bye; exit 7' TERM; while :; do sleep 0.05; done");
    plan.timeout_ms = 300;
    const auto outcome = run_to_end(plan, listening(heard));
    EXPECT_EQ(outcome.ended_by, EndedBy::kTimeout);
    EXPECT_EQ(outcome.exit_code, 7);
    EXPECT_EQ(heard.out, "bye\n");
    EXPECT_GE(outcome.wall_ms, 300U);
    EXPECT_LT(outcome.wall_ms, 2000U);
  });
}

TEST(Timeout, KillsWhatDoesNotListenAfterTheGrace) {
  as_root_and_as_a_user([] {
    Heard heard;
    const std::string marker = "76543." + std::to_string(getpid());
    auto plan = shell("trap '' TERM; setsid sh -c 'sleep " + marker + "' & while :; do sleep 1; done");
    plan.timeout_ms = 200;
    const auto outcome = run_to_end(plan, listening(heard));
    EXPECT_EQ(outcome.ended_by, EndedBy::kTimeout);
    EXPECT_EQ(outcome.signal, SIGKILL);
    EXPECT_GE(outcome.wall_ms, 2200U);
    EXPECT_TRUE(outcome.lapses.empty());
    EXPECT_EQ(process_with_argument(marker), 0);
  });
}

TEST(Timeout, IsNotOutlivedByATargetThatStopsItself) {
  as_root_and_as_a_user([] {
    Heard heard;
    auto plan = shell("kill -STOP $$; sleep 1000");
    plan.timeout_ms = 300;
    const auto outcome = run_to_end(plan, listening(heard));
    EXPECT_EQ(outcome.ended_by, EndedBy::kTimeout);
    EXPECT_EQ(outcome.signal, SIGTERM) << "continued, so that it sees the request";
  });
}

TEST(Timeout, OfARunThatEndsBeforeItIsNotFelt) {
  as_root_and_as_a_user([] {
    Heard heard;
    auto plan = shell("exit 0");
    plan.timeout_ms = 60'000;
    EXPECT_EQ(run_to_end(plan, listening(heard)).ended_by, EndedBy::kTarget);
  });
}

}  // namespace
}  // namespace cordon::enforce::supervise
