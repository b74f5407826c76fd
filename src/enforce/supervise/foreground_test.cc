// Foreground runs without a terminal, as a service manager or a CI runner starts them: signals to Cordon itself, and
// Cordon's own death.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>

#include "enforce/supervise/fixture_test.h"
#include "enforce/supervise/supervisor_test.h"

namespace cordon::enforce::supervise {
namespace {

using namespace testing;  // NOLINT: the fixture of this room
using plan::EndedBy;

constexpr int kApart = 200'000;  // microseconds between two requests that are two

TEST(Foreground, PassesARequestToEndOnToTheTarget) {
  as_root_and_as_a_user([] {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      Supervisor cordon(shell(fmt::format("trap 'exit 8' {}; echo ready; while :; do sleep 0.05; done", signal)));
      cordon.expect("ready");
      cordon.send(signal);
      const auto result = cordon.result();
      EXPECT_EQ(result.by, EndedBy::kTarget);
      EXPECT_EQ(result.code, 8);
    }
  });
}

TEST(Foreground, ASecondRequestEndsATargetThatDoesNotListen) {
  as_root_and_as_a_user([] {
    Supervisor cordon(shell("trap '' TERM INT; echo ready; while :; do sleep 1; done"));
    cordon.expect("ready");
    cordon.send(SIGTERM);
    usleep(kApart);
    cordon.send(SIGINT);
    const auto result = cordon.result();
    EXPECT_EQ(result.by, EndedBy::kSignal);
    EXPECT_EQ(result.signal, SIGKILL);
    EXPECT_TRUE(result.executed);
  });
}

TEST(Foreground, ATargetThatDoesNotListenIsEndedTenSecondsAfterTheFirstRequest) {
  Supervisor cordon(shell("trap '' TERM; echo ready; while :; do sleep 1; done"));
  cordon.expect("ready");
  const auto start = std::chrono::steady_clock::now();
  cordon.send(SIGTERM);
  EXPECT_EQ(cordon.result().by, EndedBy::kSignal);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_NEAR(took.count(), 10, 1);
}

TEST(Foreground, PassesOtherSignalsOnWithoutCountingThem) {
  as_root_and_as_a_user([] {
    Supervisor cordon(
        shell("trap 'echo one' USR1; trap 'echo quit; exit 3' QUIT; echo ready; while :; do sleep 0.05; done"));
    cordon.expect("ready");
    for (int i = 0; i < 3; ++i) {
      cordon.send(SIGUSR1);
      usleep(kApart);
    }
    cordon.expect("one\none\none");
    cordon.send(SIGQUIT);
    EXPECT_EQ(cordon.result().code, 3);
  });
}

TEST(Foreground, WhatTheTargetSendsToItsGroupIsNoRequest) {
  as_root_and_as_a_user([] {
    Supervisor cordon(
        shell("n=0; trap 'n=$((n+1))' TERM; kill 0; sleep 0.3; echo signals $n;"
              " while [ $n -lt 2 ]; do sleep 0.05; done; exit $n"));
    cordon.expect("signals 1\n");
    cordon.send(SIGTERM);
    const auto result = cordon.result();
    EXPECT_EQ(result.by, EndedBy::kTarget) << "the first request";
    EXPECT_EQ(result.code, 2);
  });
}

TEST(Foreground, LeavesIgnoredWhatNohupIgnores) {
  as_root_and_as_a_user([] {
    Supervisor cordon(shell("echo ready; kill -HUP $$; sleep 0.3; exit 9"), [] { signal(SIGHUP, SIG_IGN); });
    cordon.expect("ready");
    cordon.send(SIGHUP);
    const auto result = cordon.result();
    EXPECT_EQ(result.by, EndedBy::kTarget);
    EXPECT_EQ(result.code, 9);
  });
}

TEST(Foreground, StartsTheTargetWithNoSignalBlockedOrIgnored) {
  as_root_and_as_a_user([] {
    Supervisor cordon(shell("grep -E '(SigBlk|SigIgn):.0{16}' /proc/self/status | wc -l"));
    EXPECT_EQ(cordon.result().code, 0);
    EXPECT_EQ(cordon.rest(), "2\n");
  });
}

TEST(Foreground, KilledByForceTheSupervisorTakesEverythingWithIt) {
  as_root_and_as_a_user([] {
    const std::string marker = fmt::format("65432.{}", getpid());
    Supervisor cordon(shell("trap '' HUP TERM INT; setsid sh -c 'trap \"\" HUP TERM INT; sleep " + marker +
                            " & sleep " + marker + "' & echo ready; sleep " + marker));
    cordon.expect("ready");
    EXPECT_TRUE(eventually([&] { return process_with_argument(marker) != 0; }));
    cordon.send(SIGKILL);
    static_cast<void>(cordon.rest());  // ends with the last process that holds the stream
    EXPECT_TRUE(eventually([&] { return process_with_argument(marker) == 0; }));
  });
}

TEST(Foreground, KilledByForceTheSupervisorOfAClosedExecTakesEverythingWithIt) {
  as_root_and_as_a_user([] {
    Supervisor cordon(shell("trap '' HUP TERM INT; echo ready; while :; do /bin/true; done 2>/dev/null", Exec::kNone));
    cordon.expect("ready");
    cordon.send(SIGKILL);
    EXPECT_EQ(cordon.rest(), "ready\n");
  });
}

TEST(Foreground, InitKilledFromOutsideIsALapse) {
  as_root_and_as_a_user([] {
    Supervisor cordon(shell("echo ready; sleep 1000"));
    cordon.expect("ready");
    ASSERT_GT(cordon.init(), 1);
    ASSERT_EQ(kill(cordon.init(), SIGKILL), 0);
    const auto result = cordon.result();
    EXPECT_EQ(result.by, EndedBy::kLapse);
    EXPECT_EQ(result.signal, SIGKILL);
    EXPECT_FALSE(result.failed);
  });
}

}  // namespace
}  // namespace cordon::enforce::supervise
