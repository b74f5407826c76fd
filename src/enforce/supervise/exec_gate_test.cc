#include "enforce/supervise/exec_gate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace cordon::enforce::supervise {
namespace {

using Verdict = ExecGate::Verdict;
constexpr pid_t kTarget = 4711;

ExecGate ready_gate() {
  ExecGate gate;
  gate.target_is(kTarget);
  gate.ready();
  return gate;
}

TEST(ExecGate, RefusesTheChildsProbeWithoutARecord) {
  ExecGate gate;
  gate.target_is(kTarget);
  EXPECT_EQ(gate.judge(kTarget), Verdict::kRefuseProbe);
  EXPECT_TRUE(gate.attempts().empty());
}

TEST(ExecGate, LetsOneExecveOfTheTargetChildThroughOnceItIsReady) {
  ExecGate gate = ready_gate();
  EXPECT_EQ(gate.judge(kTarget), Verdict::kContinue);
  gate.continued();
  EXPECT_EQ(gate.judge(kTarget), Verdict::kRefuse);
}

TEST(ExecGate, CountsTheContinueOnlyWhenTheKernelAcceptedIt) {
  ExecGate gate = ready_gate();
  EXPECT_EQ(gate.judge(kTarget), Verdict::kContinue);
  EXPECT_EQ(gate.judge(kTarget), Verdict::kContinue) << "a signal interrupted it; the call comes again";
}

TEST(ExecGate, RefusesEveryOtherProcess) {
  ExecGate gate = ready_gate();
  EXPECT_EQ(gate.judge(kTarget + 1), Verdict::kRefuse);
  EXPECT_EQ(gate.judge(0), Verdict::kRefuse);
}

TEST(ExecGate, RefusesEverythingWhereTheTargetIsNotKnown) {
  ExecGate gate;
  gate.ready();
  EXPECT_EQ(gate.judge(kTarget), Verdict::kRefuse);
}

/// Watching closes nothing, and lets nothing begin either before everything has been verified.
TEST(ExecGate, WhereExecIsOpenNothingIsExecutedBeforeTheLaunchersOwn) {
  ExecGate gate(ExecGate::Exec::kOpen);
  gate.target_is(kTarget);
  EXPECT_EQ(gate.judge(kTarget), Verdict::kRefuseProbe) << "not ready: a check failed, or the listener never came";
  gate.ready();
  EXPECT_EQ(gate.judge(kTarget + 1), Verdict::kRefuse);
  EXPECT_EQ(gate.judge(kTarget), Verdict::kContinue);
  gate.continued();
  EXPECT_EQ(gate.judge(kTarget), Verdict::kLetBy);
  EXPECT_EQ(gate.judge(kTarget + 1), Verdict::kLetBy);
}

TEST(ExecGate, KeepsEachPathOnceWithItsCount) {
  ExecGate gate = ready_gate();
  gate.record(10, "/bin/ls");
  gate.record(11, "/bin/cat");
  gate.record(12, "/bin/ls");
  ASSERT_EQ(gate.attempts().size(), 2U);
  EXPECT_EQ(gate.attempts()[0], (plan::ExecAttempt{.path = "/bin/ls", .pid = 10, .count = 2}));
  EXPECT_EQ(gate.total(), 3U);
}

TEST(ExecGate, KeepsABoundedRecordAndCountsTheRest) {
  ExecGate gate = ready_gate();
  for (int i = 0; i < 10'000; ++i) gate.record(1, fmt::format("/bin/{}", i));
  EXPECT_EQ(gate.attempts().size(), ExecGate::kMostAttempts);
  EXPECT_FALSE(gate.has_room());
  gate.record(1, "/bin/0");
  EXPECT_EQ(gate.attempts()[0].count, 2U);
  gate.count();
  EXPECT_EQ(gate.total(), 10'002U);
}

}  // namespace
}  // namespace cordon::enforce::supervise
