#include "enforce/supervise/progress.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

namespace cordon::enforce::supervise {
namespace {

using launch::Kind;
using launch::Message;

Message message(Kind kind, std::int32_t code = 0, std::uint16_t step = 0, std::string_view text = "") {
  Message out{.kind = kind, .step = step, .code = code};
  std::memcpy(out.text.data(), text.data(), text.size());
  return out;
}
Message verified(bool held) {
  Message out = message(Kind::kVerified, held ? EROFS : 0, 4);
  out.check = launch::Check::kRootReadOnly;
  out.held = held ? 1 : 0;
  return out;
}
Message exited(int code) { return message(Kind::kTargetExited, code << 8); }
Message died(int signal) { return message(Kind::kTargetExited, signal); }

class ProgressTest : public testing::Test {
 protected:
  static plan::Plan closed_plan() {
    plan::Plan plan;
    plan.exec_closed = true;
    return plan;
  }
  void until_executed() {
    progress.on_control(message(Kind::kMounts), true);
    progress.on_control(message(Kind::kTargetStarted), true);
    progress.on_control(verified(true), false);
    progress.on_control(message(Kind::kListener), true);
    progress.on_control(message(Kind::kReady), false);
    progress.on_control_closed();
  }
  plan::Outcome finish(ProcessEnd init = {.exit_code = 0}) { return progress.finish(init, 7); }

  Progress progress{closed_plan()};
};

TEST_F(ProgressTest, AMemoryLimitThatEndsEverythingIsNoLapse) {
  until_executed();
  progress.used({.step = base::StepId{3}, .memory_kills = 2}, {.signal = SIGKILL});
  const auto outcome = finish({.signal = SIGKILL});
  EXPECT_EQ(outcome.ended_by, plan::EndedBy::kMemory);
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_TRUE(outcome.lapses.empty());
  EXPECT_EQ(outcome.limits.value_or(plan::LimitsUse{}).memory_kills, 2U);
}

TEST_F(ProgressTest, AnInitKilledFromOutsideIsALapseAlsoWithLimits) {
  until_executed();
  progress.used({.step = base::StepId{3}}, {.signal = SIGKILL});
  EXPECT_EQ(finish({.signal = SIGKILL}).ended_by, plan::EndedBy::kLapse);
}

TEST_F(ProgressTest, AMemoryLimitThatIsReachedBeforeTheStartIsASetUpThatFailed) {
  progress.on_control(message(Kind::kMounts), true);
  progress.used({.step = base::StepId{3}, .memory_kills = 1}, {.signal = SIGKILL});
  const auto outcome = finish({.signal = SIGKILL});
  ASSERT_TRUE(outcome.setup_error.has_value());
  EXPECT_EQ(outcome.setup_error->step.value, 3);
  EXPECT_EQ(outcome.setup_error->operation, "limits.memory");
}

TEST_F(ProgressTest, AnOrdinaryRunEndsWithTheTargetsExitCode) {
  until_executed();
  EXPECT_FALSE(progress.must_kill());
  progress.on_life(exited(3));
  const auto outcome = finish();
  EXPECT_TRUE(outcome.executed);
  EXPECT_EQ(outcome.setup_error, std::nullopt);
  EXPECT_EQ(outcome.ended_by, plan::EndedBy::kTarget);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.wall_ms, 7U);
  ASSERT_EQ(outcome.verifications.size(), 1U);
  EXPECT_EQ(outcome.verifications[0].layer, plan::Layer::kFilesystem);
  EXPECT_TRUE(outcome.verifications[0].held);
}

TEST_F(ProgressTest, ATargetKilledByASignalIsReportedWithItAndItsCore) {
  until_executed();
  progress.on_life(died(SIGSEGV | 0x80));
  const auto outcome = finish();
  EXPECT_EQ(outcome.signal, SIGSEGV);
  EXPECT_TRUE(outcome.core_dumped);
}

TEST_F(ProgressTest, AFailedStepIsTheSetupErrorWithItsCall) {
  progress.on_control(message(Kind::kStepFailed, EACCES, 9, "move_mount"), false);
  EXPECT_TRUE(progress.must_kill());
  EXPECT_TRUE(progress.mounts_are_done()) << "they never will be";
  progress.on_control_closed();
  const auto outcome = finish();
  ASSERT_TRUE(outcome.setup_error);
  EXPECT_EQ(outcome.setup_error->operation, "move_mount");
  EXPECT_EQ(outcome.setup_error->code, EACCES);
  EXPECT_EQ(outcome.setup_error->step, base::StepId{9});
  EXPECT_FALSE(outcome.executed);
  EXPECT_TRUE(outcome.lapses.empty());
}

TEST_F(ProgressTest, AProgramThatCannotBeExecutedIsASetupErrorOfItsStep) {
  progress.on_control(message(Kind::kMounts), true);
  progress.on_control(message(Kind::kTargetStarted), true);
  progress.on_control(message(Kind::kListener), true);
  progress.on_control(message(Kind::kReady), false);
  progress.on_control(message(Kind::kExecFailed, ENOENT, 12), false);
  progress.on_control_closed();
  progress.on_life(exited(127));
  const auto outcome = finish();
  ASSERT_TRUE(outcome.setup_error);
  EXPECT_EQ(outcome.setup_error->operation, "execve");
  EXPECT_EQ(outcome.setup_error->code, ENOENT);
  EXPECT_EQ(outcome.setup_error->step, base::StepId{12});
  EXPECT_FALSE(outcome.executed);
  EXPECT_EQ(outcome.exit_code, 127);
}

TEST_F(ProgressTest, ACheckThatDoesNotHoldEndsTheRunEvenIfTheChildGoesOn) {
  progress.on_control(message(Kind::kMounts), true);
  progress.on_control(message(Kind::kTargetStarted), true);
  progress.on_control(verified(false), false);
  EXPECT_FALSE(progress.must_kill()) << "the child is about to say why";
  progress.on_control(message(Kind::kListener), true);
  progress.on_control(message(Kind::kReady), false);
  EXPECT_TRUE(progress.must_kill());
  const auto outcome = finish();
  ASSERT_TRUE(outcome.setup_error);
  EXPECT_EQ(outcome.setup_error->subject, "root-read-only");
  EXPECT_EQ(outcome.setup_error->step, base::StepId{4});
}

TEST_F(ProgressTest, ReadyWithoutTheMountTableOrWithTwoEndsTheRun) {
  progress.on_control(message(Kind::kTargetStarted), true);
  progress.on_control(message(Kind::kListener), true);
  progress.on_control(message(Kind::kReady), false);
  EXPECT_TRUE(progress.must_kill());
  Progress other{plan::Plan()};
  other.on_control(message(Kind::kMounts), true);
  EXPECT_FALSE(other.must_kill());
  other.on_control(message(Kind::kMounts), true);
  EXPECT_TRUE(other.must_kill());
}

TEST_F(ProgressTest, AShieldThatIsLostEndsTheRunAsALapseUnlessItEndedByItself) {
  until_executed();
  plan::Lapse lost;
  lost.target = "/w/.envrc";
  progress.lapsed(lost);
  progress.killed(plan::EndedBy::kLapse, SIGKILL);
  const auto outcome = finish({.signal = SIGKILL});
  EXPECT_EQ(outcome.ended_by, plan::EndedBy::kLapse);
  ASSERT_EQ(outcome.lapses.size(), 1U);
  EXPECT_EQ(outcome.lapses[0].target, "/w/.envrc");
}

TEST_F(ProgressTest, AShieldThatIsLostAfterTheTargetsEndIsNoLapse) {
  until_executed();
  progress.on_life(exited(0));
  progress.lapsed({});
  progress.killed(plan::EndedBy::kLapse, SIGKILL);
  const auto outcome = finish();
  EXPECT_EQ(outcome.ended_by, plan::EndedBy::kTarget);
  EXPECT_TRUE(outcome.lapses.empty());
}

TEST_F(ProgressTest, ReadyWithoutTheListenerThatThePlanAsksForEndsTheRun) {
  progress.on_control(message(Kind::kMounts), true);
  progress.on_control(message(Kind::kTargetStarted), true);
  progress.on_control(message(Kind::kReady), false);
  EXPECT_TRUE(progress.must_kill());
  EXPECT_TRUE(finish().setup_error);
}

TEST_F(ProgressTest, DescriptorsThatDoNotComeEndTheRun) {
  progress.on_control(message(Kind::kTargetStarted), false);
  EXPECT_TRUE(progress.must_kill());
}

TEST_F(ProgressTest, ASecondListenerEndsTheRun) {
  progress.on_control(message(Kind::kListener), true);
  progress.on_control(message(Kind::kListener), true);
  EXPECT_TRUE(progress.must_kill());
}

TEST_F(ProgressTest, AMessageThatDoesNotBelongThereEndsTheRun) {
  progress.on_control(exited(0), false);
  EXPECT_TRUE(progress.must_kill());
  Progress other{plan::Plan()};
  other.on_control(message(static_cast<Kind>(77)), false);
  EXPECT_TRUE(other.must_kill());
}

TEST_F(ProgressTest, ASilentEndIsASetupErrorThatTellsHowTheChildEnded) {
  progress.on_control(message(Kind::kTargetStarted), true);
  progress.on_control_closed();
  EXPECT_TRUE(progress.is_silent());
  progress.on_life(died(SIGKILL));
  const auto outcome = finish();
  ASSERT_TRUE(outcome.setup_error);
  EXPECT_NE(outcome.setup_error->detail.find("killed by signal 9"), std::string::npos) << outcome.setup_error->detail;
  EXPECT_FALSE(outcome.executed);
}

TEST_F(ProgressTest, ASilentEndOfInitIsASetupErrorAndNoLapse) {
  progress.on_control_closed();
  const auto outcome = finish({.exit_code = 1});
  ASSERT_TRUE(outcome.setup_error);
  EXPECT_NE(outcome.setup_error->detail.find("init exited with 1"), std::string::npos) << outcome.setup_error->detail;
  EXPECT_TRUE(outcome.lapses.empty());
}

TEST_F(ProgressTest, InitKilledFromOutsideIsALapse) {
  until_executed();
  const auto outcome = finish({.signal = SIGKILL});
  EXPECT_EQ(outcome.ended_by, plan::EndedBy::kLapse);
  EXPECT_EQ(outcome.signal, SIGKILL);
  ASSERT_EQ(outcome.lapses.size(), 1U);
  EXPECT_EQ(outcome.lapses[0].layer, plan::Layer::kProcesses);
}

TEST_F(ProgressTest, ARunThatWasAskedToEndBeforeTheTargetRanHasNoSetupError) {
  progress.on_control(message(Kind::kTargetStarted), true);
  progress.killed(plan::EndedBy::kSignal, SIGINT);
  progress.on_control_closed();
  const auto outcome = finish({.signal = SIGKILL});
  EXPECT_EQ(outcome.setup_error, std::nullopt);
  EXPECT_EQ(outcome.ended_by, plan::EndedBy::kSignal);
  EXPECT_EQ(outcome.signal, SIGINT);
  EXPECT_FALSE(outcome.executed);
}

TEST_F(ProgressTest, AKeyThatKilledTheChildBeforeItsExecveIsARequestToEnd) {
  progress.on_control(message(Kind::kTargetStarted), true);
  progress.on_control_closed();
  progress.on_life(died(SIGINT));
  progress.killed(plan::EndedBy::kSignal, SIGINT);
  const auto outcome = finish();
  EXPECT_EQ(outcome.setup_error, std::nullopt);
  EXPECT_EQ(outcome.ended_by, plan::EndedBy::kSignal);
  EXPECT_EQ(outcome.signal, SIGINT);
}

TEST_F(ProgressTest, ATargetKilledOnRequestDiedOfSigkill) {
  until_executed();
  progress.killed(plan::EndedBy::kSignal, SIGTERM);
  const auto outcome = finish({.signal = SIGKILL});
  EXPECT_EQ(outcome.ended_by, plan::EndedBy::kSignal);
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_TRUE(outcome.lapses.empty());
}

TEST_F(ProgressTest, AKillThatComesTooLateChangesNothing) {
  until_executed();
  progress.on_life(exited(5));
  progress.killed(plan::EndedBy::kSignal, SIGTERM);
  progress.timed_out();
  const auto outcome = finish({.signal = SIGKILL});
  EXPECT_EQ(outcome.ended_by, plan::EndedBy::kTarget);
  EXPECT_EQ(outcome.exit_code, 5);
}

TEST_F(ProgressTest, ATargetThatEndsInItsGraceEndedByTheTimeLimit) {
  until_executed();
  progress.timed_out();
  progress.on_life(died(SIGTERM));
  const auto outcome = finish();
  EXPECT_EQ(outcome.ended_by, plan::EndedBy::kTimeout);
  EXPECT_EQ(outcome.signal, SIGTERM);
}

TEST_F(ProgressTest, TheTimeLimitOutlivesTheKillThatFollowsIt) {
  until_executed();
  progress.timed_out();
  progress.killed(plan::EndedBy::kTimeout, SIGKILL);
  const auto outcome = finish({.signal = SIGKILL});
  EXPECT_EQ(outcome.ended_by, plan::EndedBy::kTimeout);
  EXPECT_EQ(outcome.signal, SIGKILL);
}

TEST_F(ProgressTest, AnErrorOfAStepIsNotOverwrittenByTheSilenceAfterIt) {
  progress.on_control(message(Kind::kStepFailed, EPERM, 2, "mount_setattr"), false);
  progress.fail_setup({.operation = "later"});
  progress.on_control_closed();
  EXPECT_EQ(finish().setup_error->operation, "mount_setattr");
}

}  // namespace
}  // namespace cordon::enforce::supervise
