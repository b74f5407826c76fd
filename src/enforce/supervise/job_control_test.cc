#include "enforce/supervise/job_control.h"

#include <gtest/gtest.h>

#include <csignal>

namespace cordon::enforce::supervise {
namespace {

constexpr pid_t kOurs = 100;
constexpr pid_t kTheirs = 200;
constexpr pid_t kShell = 50;
using Ability = JobControl::Ability;

TEST(JobControl, StopsAsTheTargetDid) {
  JobControl job(Ability::kCanStop, kOurs);
  EXPECT_EQ(job.target_stopped(SIGTSTP, ProcessStat{'T', kOurs}, kOurs), (JobControl::Stop{SIGTSTP, false}));
  EXPECT_TRUE(job.target_is_stopped());
  EXPECT_EQ(job.resumed(kOurs), std::nullopt);
  job.target_continued();
  EXPECT_FALSE(job.target_is_stopped());
}

TEST(JobControl, GoesOnWhereTheTargetWasContinuedMeanwhileOrIsGone) {
  JobControl job(Ability::kCanStop, kOurs);
  EXPECT_EQ(job.target_stopped(SIGSTOP, ProcessStat{'S', kOurs}, kOurs), std::nullopt);
  EXPECT_EQ(job.target_stopped(SIGSTOP, std::nullopt, kOurs), std::nullopt);
  EXPECT_FALSE(job.target_is_stopped());
}

TEST(JobControl, TakesTheTerminalFromTheTargetsGroupAndHandsItBackInTheForeground) {
  JobControl job(Ability::kCanStop, kOurs);
  EXPECT_EQ(job.target_stopped(SIGSTOP, ProcessStat{'T', kTheirs}, kTheirs), (JobControl::Stop{SIGSTOP, true}));
  EXPECT_EQ(job.resumed(kOurs), kTheirs);
  EXPECT_EQ(job.resumed(kOurs), std::nullopt) << "once only";
}

TEST(JobControl, KeepsTheTerminalFromATargetThatIsContinuedInTheBackground) {
  JobControl job(Ability::kCanStop, kOurs);
  static_cast<void>(job.target_stopped(SIGSTOP, ProcessStat{'T', kTheirs}, kTheirs));
  EXPECT_EQ(job.resumed(kShell), std::nullopt);
}

TEST(JobControl, LeavesTheTerminalWithAShellThatHasIt) {
  JobControl job(Ability::kCanStop, kOurs);
  EXPECT_EQ(job.target_stopped(SIGTTIN, ProcessStat{'T', kTheirs}, kShell), (JobControl::Stop{SIGTTIN, false}));
  EXPECT_EQ(job.resumed(kOurs), std::nullopt);
}

TEST(JobControl, NeverStopsWhereNobodyWouldContinueIt) {
  JobControl job(Ability::kCannotStop, kOurs);
  EXPECT_EQ(job.target_stopped(SIGSTOP, ProcessStat{'T', kOurs}, 0), std::nullopt);
  EXPECT_TRUE(job.target_is_stopped()) << "a signal sent to it still needs a SIGCONT";
}

TEST(ProcessStat, IsReadPastAHostileName) {
  EXPECT_EQ(parse_stat("7 (a) T 1 99 (b)) S 3 200 200 0 -1\n"), (ProcessStat{'S', 200, 3}));
  EXPECT_EQ(parse_stat("7 (sh) T 3 200 200 0 -1\n"), (ProcessStat{'T', 200, 3}));
  EXPECT_EQ(parse_stat(""), std::nullopt);
  EXPECT_EQ(parse_stat("7 (sh)"), std::nullopt);
  EXPECT_EQ(parse_stat("7 (sh) T 3"), std::nullopt);
  EXPECT_EQ(parse_stat("7 (sh) T 3 x 1"), std::nullopt);
}

}  // namespace
}  // namespace cordon::enforce::supervise
