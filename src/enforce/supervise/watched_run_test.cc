// Real runs that are watched: what is recorded of them, and that being watched changes nothing for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "enforce/supervise/fixture_test.h"
#include "enforce/supervise/supervisor_test.h"

namespace cordon::enforce::supervise {
namespace {

using namespace testing;  // NOLINT: the fixture of this room
using plan::Watching;

const plan::ObservedPath* find(const plan::Outcome& outcome, std::string_view path) {
  const auto& all = outcome.observations.paths;
  const auto found = std::ranges::find(all, path, &plan::ObservedPath::path);
  return found == all.end() ? nullptr : &*found;
}

bool executed(const plan::Outcome& outcome, const std::vector<std::string>& argv) {
  return std::ranges::find(outcome.observations.programs, argv, &plan::ExecutedProgram::argv) !=
         outcome.observations.programs.end();
}

TEST(WatchedRun, RecordsTheTargetAndEveryProgramThatItStarts) {
  as_root_and_as_a_user([] {
    Heard heard;
    const auto outcome =
        run_to_end(watched(shell("/bin/echo one; (/bin/echo two &) ; exec /bin/echo three"), Watching::kPrograms),
                   listening(heard));
    EXPECT_EQ(outcome.setup_error, std::nullopt);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_TRUE(heard.out.contains("three"));
    EXPECT_TRUE(executed(outcome, {"/bin/sh", "-c", "/bin/echo one; (/bin/echo two &) ; exec /bin/echo three"}));
    EXPECT_TRUE(executed(outcome, {"/bin/echo", "one"}));
    EXPECT_TRUE(executed(outcome, {"/bin/echo", "three"}));
    EXPECT_TRUE(outcome.observations.paths.empty());
    EXPECT_TRUE(std::ranges::all_of(outcome.verifications, &plan::Verification::held));
  });
}

TEST(WatchedRun, IsNotWatchedWhereNobodyAskedForIt) {
  Heard heard;
  const auto outcome = run_to_end(shell("/bin/echo one"), listening(heard));
  EXPECT_EQ(outcome.observations, plan::Observations{});
}

TEST(WatchedRun, RecordsPathsAsTheTargetSeesThemAndNothingOfTheLaunchers) {
  as_root_and_as_a_user([] {
    Heard heard;
    const auto outcome = run_to_end(
        watched(shell("cd /tmp && echo kept > made && mkdir d && mv made d/moved && cat d/moved; test -e /not/there"),
                Watching::kPaths),
        listening(heard));
    EXPECT_EQ(heard.out, "kept\n");
    EXPECT_EQ(heard.error, "");
    ASSERT_NE(find(outcome, "/tmp/made"), nullptr);
    EXPECT_NE(find(outcome, "/tmp/made")->acts & plan::kActWrite, 0U);
    ASSERT_NE(find(outcome, "/tmp/d/moved"), nullptr);
    EXPECT_EQ(find(outcome, "/tmp/d/moved")->acts & (plan::kActWrite | plan::kActRead),
              plan::kActWrite | plan::kActRead);
    ASSERT_NE(find(outcome, "/not/there"), nullptr);
    EXPECT_EQ(find(outcome, "/not/there")->acts, plan::kActProbe);
    EXPECT_EQ(find(outcome, "/"), nullptr) << "the launcher's own calls are not the target's";
    EXPECT_EQ(outcome.observations.paths.front().programs.front().find("cordon"), std::string::npos);
    EXPECT_TRUE(outcome.observations.complete);
  });
}

TEST(WatchedRun, RecordsWhereDatagramsWereToGo) {
  Heard heard;
  const auto outcome = run_to_end(watched(shell("exec /usr/bin/python3 -c 'import socket\n"
                                                "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                                                "for send in (lambda: s.sendto(b\"x\", (\"192.0.2.9\", 99)),\n"
                                                "             lambda: s.connect((\"192.0.2.8\", 98))):\n"
                                                "  try: send()\n"
                                                "  except OSError: pass\n"
                                                "print(1)'"),
                                          Watching::kPaths),
                                  listening(heard));
  EXPECT_EQ(heard.out, "1\n") << heard.error;
  ASSERT_EQ(outcome.reached.size(), 2U);
  EXPECT_EQ(outcome.reached[0].address, "192.0.2.9");
  EXPECT_EQ(outcome.reached[0].port, 99);
  EXPECT_EQ(outcome.reached[1].address, "192.0.2.8");
  EXPECT_EQ(outcome.reached[1].calls, std::vector<std::string>{"connect"});
}

TEST(WatchedRun, ClosesExecAllTheSame) {
  as_root_and_as_a_user([] {
    Heard heard;
    const auto outcome = run_to_end(watched(shell("test -e /tmp/x; /bin/true; echo $?", Exec::kNone), Watching::kPaths),
                                    listening(heard));
    EXPECT_EQ(heard.out, "126\n");
    ASSERT_EQ(outcome.exec_attempts.size(), 1U);
    EXPECT_EQ(outcome.exec_attempts[0].path, "/bin/true");
    EXPECT_NE(find(outcome, "/tmp/x"), nullptr);
    ASSERT_NE(find(outcome, "/bin/true"), nullptr);
    EXPECT_NE(find(outcome, "/bin/true")->acts & plan::kActExecute, 0U);
    EXPECT_EQ(outcome.observations.programs.size(), 1U) << "the target itself";
    EXPECT_TRUE(std::ranges::any_of(outcome.verifications, [](const auto& one) {
      return one.check == "exec-closed" && one.held;
    })) << "the filter that watches closes exec, and that was tried";
  });
}

TEST(WatchedRun, SaysThatTheProgramCannotBeExecuted) {
  as_root_and_as_a_user([] {
    Heard heard;
    const auto outcome = run_to_end(watched(plan_for({"/nowhere/program"}), Watching::kPaths), listening(heard));
    ASSERT_TRUE(outcome.setup_error);
    EXPECT_EQ(outcome.setup_error->code, ENOENT);
    EXPECT_TRUE(outcome.observations.programs.empty());
  });
}

TEST(WatchedRun, FailsWhereNoListenerComes) {
  Heard heard;
  auto plan = shell("echo ran");
  plan.watching = Watching::kPaths;
  const auto outcome = run_to_end(plan, listening(heard));
  EXPECT_TRUE(outcome.setup_error) << "a record of nothing is not taken for a record";
  EXPECT_FALSE(outcome.executed);
  EXPECT_EQ(heard.out, "") << "it was never started";
}

TEST(WatchedRun, TellsWhatRanWhenTheTimeLimitEndsIt) {
  Heard heard;
  auto plan = watched(shell("trap '' TERM; sleep 1000 & wait; sleep 1000"), Watching::kPrograms);
  plan.timeout_ms = 300;
  const auto outcome = run_to_end(plan, listening(heard));
  EXPECT_EQ(outcome.ended_by, plan::EndedBy::kTimeout);
  EXPECT_TRUE(executed(outcome, {"sleep", "1000"}));
}

TEST(WatchedRun, SeesDaemonsAndAFloodOfProcesses) {
  as_root_and_as_a_user([] {
    Heard heard;
    const auto outcome = run_to_end(
        watched(shell("for i in $(seq 200); do (test -e /asked/$i) & done; setsid sh -c 'test -e /daemon' & wait"),
                Watching::kPaths),
        listening(heard));
    for (int i = 1; i <= 200; ++i) EXPECT_NE(find(outcome, "/asked/" + std::to_string(i)), nullptr) << i;
    EXPECT_NE(find(outcome, "/daemon"), nullptr);
    EXPECT_EQ(outcome.observations.lost, 0U);
  });
}

TEST(WatchedRun, EndsWithItsSupervisor) {
  Supervisor cordon(watched(shell("echo on; while :; do test -e /tmp/watched-forever; done"), Watching::kPaths));
  cordon.expect("on");
  cordon.send(SIGKILL);
  cordon.rest();  // comes to an end: nobody has the stream any more
  EXPECT_EQ(process_with_argument("watched-forever"), 0);
}

}  // namespace
}  // namespace cordon::enforce::supervise
