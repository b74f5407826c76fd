// Foreground runs in a pseudo-terminal, below a shell: keys, stops, full-screen programs, inner shells.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "enforce/supervise/fixture_test.h"
#include "enforce/supervise/shell_test.h"

namespace cordon::enforce::supervise {
namespace {

using namespace testing;  // NOLINT: the fixture of this room
using plan::EndedBy;
using What = Shell::Event::What;

constexpr std::string_view kCtrlC = "\x03";
constexpr std::string_view kCtrlZ = "\x1a";
constexpr std::string_view kCtrlBackslash = "\x1c";

/// Counts on the terminal, and forks nothing: a shell that is stopped between vfork and execve hangs, with Cordon or
/// without.
plan::Plan counting(int to, int code) {
  return plan_for(
      {"/usr/bin/perl", "-e",
       fmt::format("$|=1; for(1..{}){{print \"at $_\\n\"; select(undef,undef,undef,0.02)}}; exit {}", to, code)});
}

TEST(Job, CtrlCReachesTheTargetEachTimeAndNeverEndsTheRun) {
  as_root_and_as_a_user([] {
    Shell shell(
        testing::shell("n=0; trap 'n=$((n+1)); echo got $n' INT; echo ready;"
                       " while [ $n -lt 4 ]; do sleep 0.02; done; exit $n"));
    shell.expect("ready");
    for (int i = 1; i <= 4; ++i) {
      shell.type(kCtrlC);
      shell.expect(fmt::format("got {}", i));
    }
    const auto end = shell.next();
    EXPECT_EQ(end.what, What::kEnded);
    EXPECT_EQ(end.by, EndedBy::kTarget);
    EXPECT_EQ(end.code, 4);
  });
}

TEST(Job, CtrlCEndsATargetThatDoesNotHandleIt) {
  as_root_and_as_a_user([] {
    Shell shell(testing::shell("echo ready; exec sleep 1000"));
    shell.expect("ready");
    shell.type(kCtrlC);
    const auto end = shell.next();
    EXPECT_EQ(end.by, EndedBy::kTarget);
    EXPECT_EQ(end.killed_by, SIGINT);
    EXPECT_TRUE(end.has_terminal);
  });
}

TEST(Job, CtrlBackslashIsTheTargetsToo) {
  as_root_and_as_a_user([] {
    Shell shell(testing::shell("trap 'exit 12' QUIT; echo ready; while :; do sleep 0.02; done"));
    shell.expect("ready");
    shell.type(kCtrlBackslash);
    EXPECT_EQ(shell.next().code, 12);
  });
}

TEST(Job, CtrlZStopsTargetAndCordon) {
  as_root_and_as_a_user([] {
    Shell shell(counting(20, 6));
    shell.expect("at 2");
    shell.type(kCtrlZ);
    const auto stop = shell.next();
    ASSERT_EQ(stop.what, What::kStopped);
    EXPECT_EQ(stop.signal, SIGTSTP);
    EXPECT_TRUE(shell.stays_silent("at 20", 1'500)) << "longer than it would count";
    shell.foreground();
    shell.expect("at 20");
    const auto end = shell.next();
    EXPECT_EQ(end.by, EndedBy::kTarget);
    EXPECT_EQ(end.code, 6);
  });
}

TEST(Job, ATimeLimitThatPassesMeanwhileEndsTheRunWhenItIsContinued) {
  as_root_and_as_a_user([] {
    auto plan = counting(100'000, 6);
    plan.timeout_ms = 1'000;
    Shell shell(plan);
    shell.expect("at 2");
    shell.type(kCtrlZ);
    ASSERT_EQ(shell.next().what, What::kStopped);
    EXPECT_TRUE(shell.stays_silent("at 5000", 1'500));
    shell.foreground();
    EXPECT_EQ(shell.next().by, EndedBy::kTimeout);
  });
}

// The attack: a worker in a group of its own goes on while its parent has Cordon stopped, which kept the time.
TEST(Job, ATargetThatStopsItselfDoesNotSuspendItsTimeLimit) {
  as_root_and_as_a_user([] {
    const std::string marker = fmt::format("54321.{}", getpid());
    auto plan = testing::shell("setsid sleep " + marker + " & echo ready; kill -STOP $$");
    plan.timeout_ms = 1'000;
    Shell shell(plan);
    shell.expect("ready");
    ASSERT_EQ(shell.next().what, What::kStopped);
    EXPECT_NE(process_with_argument(marker), 0) << "the control: Cordon is stopped, and the worker is there";
    EXPECT_TRUE(eventually([&] { return process_with_argument(marker) == 0; }, 9'000)) << "and Cordon still stopped";
    shell.foreground();
    const auto end = shell.next();
    EXPECT_EQ(end.what, What::kEnded);
    EXPECT_EQ(end.by, EndedBy::kTimeout);
  });
}

TEST(Job, IsStoppedAndContinuedAgainAndAgain) {
  as_root_and_as_a_user([] {
    Shell shell(counting(100'000, 0));
    shell.expect("at 1");
    for (int i = 0; i < 5; ++i) {
      shell.type(kCtrlZ);
      ASSERT_EQ(shell.next().signal, SIGTSTP);
      shell.forget();
      shell.foreground();
      shell.expect("at ");
    }
    shell.type(kCtrlC);
    EXPECT_EQ(shell.next().killed_by, SIGINT);
  });
}

TEST(Job, ATargetThatIgnoresCtrlZKeepsCordonGoing) {
  as_root_and_as_a_user([] {
    Shell shell(testing::shell("trap '' TSTP; echo ready; sleep 0.5; exit 2"));
    shell.expect("ready");
    shell.type(kCtrlZ);
    const auto end = shell.next();
    EXPECT_EQ(end.what, What::kEnded);
    EXPECT_EQ(end.code, 2);
  });
}

TEST(Job, ATargetThatStopsItselfStopsCordonTheSameWay) {
  as_root_and_as_a_user([] {
    Shell shell(testing::shell("kill -STOP $$; echo on; exit 3"));
    const auto stop = shell.next();
    ASSERT_EQ(stop.what, What::kStopped);
    EXPECT_EQ(stop.signal, SIGSTOP);
    shell.foreground();
    shell.expect("on");
    EXPECT_EQ(shell.next().code, 3);
  });
}

TEST(Job, AnEditorThatStopsItsWholeGroupDoesSo) {
  as_root_and_as_a_user([] {
    Shell shell(testing::shell("kill -TSTP 0; echo on; exit 3"));
    const auto stop = shell.next();
    ASSERT_EQ(stop.what, What::kStopped);
    EXPECT_EQ(stop.signal, SIGTSTP);
    shell.foreground();
    shell.expect("on");
    EXPECT_EQ(shell.next().code, 3);
  });
}

TEST(Job, ContinuesInTheBackgroundAndStopsWhenItReadsTheTerminal) {
  as_root_and_as_a_user([] {
    Shell shell(testing::shell("read line; echo got $line; exit 4"), Shell::Place::kBackground);
    const auto stop = shell.next();
    ASSERT_EQ(stop.what, What::kStopped);
    EXPECT_EQ(stop.signal, SIGTTIN);
    shell.background();
    EXPECT_EQ(shell.next().signal, SIGTTIN) << "it reads again";
    shell.foreground();
    shell.type("words\n");
    shell.expect("got words");
    EXPECT_EQ(shell.next().code, 4);
  });
}

TEST(Job, SeesANewWindowSize) {
  as_root_and_as_a_user([] {
    Shell shell(testing::shell("trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.02; done"));
    shell.expect("ready");
    shell.resize(41, 132);
    shell.expect("41 132");
    EXPECT_EQ(shell.next().code, 0);
  });
}

TEST(Job, ARequestToEndIsPassedOnInATerminalToo) {
  as_root_and_as_a_user([] {
    Shell shell(testing::shell("trap 'exit 8' TERM; echo ready; while :; do sleep 0.02; done"));
    shell.expect("ready");
    ASSERT_EQ(kill(shell.job(), SIGTERM), 0);
    EXPECT_EQ(shell.next().code, 8);
  });
}

TEST(Job, GivesBackATerminalThatAKilledTargetLeftRaw) {
  as_root_and_as_a_user([] {
    Shell shell(testing::shell("stty raw -echo; kill -9 $$"));
    const auto end = shell.next();
    EXPECT_EQ(end.killed_by, SIGKILL);
    EXPECT_TRUE(end.settings_as_before);
  });
}

TEST(Job, LeavesTheSettingsAloneThatATargetMadeOnPurpose) {
  as_root_and_as_a_user([] {
    Shell shell(testing::shell("stty -echo; exit 0"));
    const auto end = shell.next();
    EXPECT_EQ(end.code, 0);
    EXPECT_FALSE(end.settings_as_before);
  });
}

TEST(Job, PassesOnTheHangUpThatOnlyASessionsLeaderIsTold) {
  as_root_and_as_a_user([] {
    Shell shell(testing::shell("trap 'exit 8' HUP; echo ready; while :; do sleep 0.02; done"), Shell::Place::kAlone);
    shell.expect("ready");
    shell.hang_up();
    EXPECT_EQ(shell.next().code, 8);
  });
}

TEST(Job, WithoutAShellAboveNeverStops) {
  as_root_and_as_a_user([] {
    auto plan = testing::shell("kill -STOP $$; exit 1");
    plan.timeout_ms = 300;
    Shell shell(plan, Shell::Place::kAlone);
    const auto end = shell.next();
    EXPECT_EQ(end.what, What::kEnded);
    EXPECT_EQ(end.by, EndedBy::kTimeout);
  });
}

class InnerShell : public ::testing::Test {
 protected:
  static plan::Plan bash() { return plan_for({"/bin/bash", "--norc", "--noprofile", "-i"}); }
  /// A prompt that cannot be the echo of a command.
  static void greet(Shell& shell) {
    shell.type("PS1='ok''> '\n");
    shell.expect("ok> ");
  }
};

TEST_F(InnerShell, HasJobControlOfItsOwn) {
  as_root_and_as_a_user([] {
    Shell shell(bash());
    greet(shell);
    shell.type("sleep 1000\n");
    usleep(300'000);
    shell.type(kCtrlZ);
    shell.expect("Stopped");
    shell.type("kill -9 %1\n");
    shell.type("echo $((6*7))\n");
    shell.expect("42");
    shell.forget();
    shell.type(kCtrlC);
    shell.expect("ok> ");
    // A shell that is still busy with the key throws away what was typed meanwhile: a person would type it again.
    Shell::Event end;
    for (int attempt = 0; attempt < 5 && end.what == What::kNone; ++attempt) {
      shell.type("exit 5\n");
      end = shell.next(3'000);
    }
    EXPECT_EQ(end.what, What::kEnded);
    EXPECT_EQ(end.code, 5);
    EXPECT_TRUE(end.has_terminal) << "the inner shell had taken it";
  });
}

TEST_F(InnerShell, SuspendsIntoTheOuterOneAndComesBackWithTheTerminal) {
  as_root_and_as_a_user([] {
    Shell shell(bash());
    greet(shell);
    const pid_t inner = shell.foreground_group();
    EXPECT_NE(inner, shell.job()) << "it has made a group of its own";
    shell.type("suspend -f\n");
    const auto stop = shell.next();
    ASSERT_EQ(stop.what, What::kStopped);
    EXPECT_EQ(stop.signal, SIGSTOP);
    shell.foreground();
    EXPECT_TRUE(eventually([&] { return shell.foreground_group() == inner; }));
    shell.type("echo $((6*7))\n");
    shell.expect("42");
    shell.type("exit 6\n");
    const auto end = shell.next();
    EXPECT_EQ(end.code, 6);
    EXPECT_TRUE(end.has_terminal);
  });
}

TEST_F(InnerShell, KilledByForceGivesTheTerminalBack) {
  as_root_and_as_a_user([] {
    Shell shell(bash());
    greet(shell);
    shell.type("kill -9 $$\n");
    const auto end = shell.next();
    EXPECT_EQ(end.killed_by, SIGKILL);
    EXPECT_TRUE(end.has_terminal);
    EXPECT_TRUE(end.settings_as_before);
  });
}

}  // namespace
}  // namespace cordon::enforce::supervise
