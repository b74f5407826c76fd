#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "report/refused.h"

namespace cordon::report {
namespace {

using testing::HasSubstr;

plan::Plan small_plan() {
  plan::Plan plan;
  plan.steps = {
      {plan::step::EnterNamespaces{}, plan::Layer::kProcesses, "base", {}},
      {plan::step::Bind{.source = "/srv/data", .id = {}, .target = "/srv/data", .attributes = {}, .create = {}},
       plan::Layer::kFilesystem,
       "read: ./data",
       {.file = "m.yaml", .line = 3, .column = 9, .length = 6}},
      {plan::step::Execute{.path = "/srv/run.sh", .argv = {"./run.sh"}, .environment = {}, .working_directory = "/srv"},
       plan::Layer::kExec,
       "entrypoint: ./run.sh",
       {.file = "m.yaml", .line = 1, .column = 13, .length = 8}},
  };
  plan.requested = {plan::Layer::kFilesystem, plan::Layer::kProcesses, plan::Layer::kExec};
  plan.exec_closed = true;
  plan.timeout_ms = 5000;
  return plan;
}

plan::Outcome ran(int code) {
  plan::Outcome outcome;
  outcome.executed = true;
  outcome.exit_code = code;
  return outcome;
}

std::string words(const plan::Plan& plan, const plan::Outcome& outcome) {
  return text(make_report(plan, outcome), Style{});
}

TEST(Report, SaysNothingAtAllAboutACleanRun) {
  plan::Plan plan = small_plan();
  plan.notes = {{"env-unset", "env: TOKEN is listed but not set", {}}};
  EXPECT_EQ(words(plan, ran(0)), "");
  EXPECT_EQ(make_report(plan, ran(0)).exit_code, 0);
}

plan::Plan limited_plan() {
  plan::Plan plan = small_plan();
  plan.steps.insert(
      plan.steps.end() - 1,
      {plan::step::Cgroup{
           .way = plan::CgroupWay::kScope, .memory_bytes = 512ULL << 20U, .cpu_hundredths = 5'050, .pids = 64},
       plan::Layer::kLimits,
       "limits.memory: 512M",
       {}});
  return plan;
}

TEST(Report, SaysThatTheMemoryLimitEndedTheRun) {
  plan::Outcome outcome = ran(0);
  outcome.signal = SIGKILL;
  outcome.ended_by = plan::EndedBy::kMemory;
  outcome.limits = plan::LimitsUse{.memory_kills = 2};
  EXPECT_EQ(words(limited_plan(), outcome),
            "cordon: error: the memory limit of 512 MiB was reached, and the kernel ended\n"
            "cordon:   the run (limits.memory)\n");
  EXPECT_EQ(make_report(limited_plan(), outcome).exit_code, 137);
  EXPECT_EQ(ending_code(make_report(limited_plan(), outcome).ending), "memory-limit");
}

TEST(Report, SaysWhichLimitWasReached) {
  plan::Outcome outcome = ran(0);
  outcome.limits = plan::LimitsUse{.pids_refused = 3, .cpu_periods = 9, .cpu_throttled = 4};
  EXPECT_THAT(words(limited_plan(), outcome), HasSubstr("limit of 64 processes and threads was reached 3 times"));
  EXPECT_THAT(words(limited_plan(), outcome), testing::Not(HasSubstr("limits.cpu"))) << "it explains failures alone";
  outcome.exit_code = 1;
  EXPECT_THAT(words(limited_plan(), outcome), HasSubstr("the CPU limit of 50.5% held the run back in 4 of 9"));
  outcome = ran(1);
  outcome.limits = plan::LimitsUse{};
  EXPECT_EQ(words(limited_plan(), outcome), "") << "limits that were not reached";
}

TEST(Report, SaysNothingAboutAFailureThatItCannotExplain) { EXPECT_EQ(words(small_plan(), ran(7)), ""); }

TEST(Report, SaysWhatAListOfProgramsMayHaveRefused) {
  plan::Plan plan = small_plan();
  EXPECT_EQ(words(plan, ran(126)), "") << "exec: none records what it refuses";
  plan.exec_closed = false;
  plan.steps.push_back({plan::step::Filter{.name = "exec-list", .program = {}, .notify = false, .flags = 0},
                        plan::Layer::kExec,
                        "exec: a list",
                        {.file = "m.yaml", .line = 2, .column = 7}});
  EXPECT_THAT(words(plan, ran(126)), HasSubstr("add it to the list"));
  EXPECT_EQ(words(plan, ran(1)), "");
}

TEST(Report, NamesWhatMayExplainAFailureOnceItHappened) {
  plan::Plan plan = small_plan();
  plan.notes = {{"missing-read", "read: ./data.csv does not exist here", {.file = "m.yaml", .line = 4, .column = 3}}};
  EXPECT_EQ(words(plan, ran(1)),
            "cordon: the target ended with code 1; this may be why:\n"
            "cordon:   read: ./data.csv does not exist here (m.yaml:4)\n");
}

TEST(Report, SaysWhatWasLiftedHoweverTheRunEnded) {
  plan::Plan plan = small_plan();
  plan.notes = {{"shield-lifted", "read: ~/.ssh: it holds keys", {.file = "m.yaml", .line = 4, .column = 3}}};
  for (const int code : {0, 1})
    EXPECT_EQ(words(plan, ran(code)), "cordon: lifted: read: ~/.ssh: it holds keys (m.yaml:4)\n") << code;
}

TEST(Report, ExplainsNoFailureByWhatIsNotThere) {
  plan::Plan plan = small_plan();
  plan.notes = {{"shields-absent", "shielded names that do not exist: 19", {}}};
  EXPECT_EQ(words(plan, ran(1)), "");
}

TEST(Report, SaysNothingTwiceThatWasToldWhenTheRunBegan) {
  Report report = make_report(small_plan(), ran(1));
  report.told = {{"directory-world-writable", "told at the start", {}}};
  EXPECT_EQ(text(report, Style{}), "");
}

TEST(Report, NamesEachDeniedProgramAndTheOneLineThatAllowsThem) {
  plan::Outcome outcome = ran(126);
  outcome.exec_attempts = {{"/usr/bin/git", 12, 3}, {"", 13, 1}, {"/tmp/a\nb", 14, 1}};
  outcome.exec_attempts_total = 9;
  EXPECT_EQ(words(small_plan(), outcome),
            "cordon: denied: starting /usr/bin/git (3 times)\n"
            "cordon: denied: starting a program\n"
            "cordon: denied: starting \"/tmp/a\\nb\"\n"
            "cordon: denied: and 4 more\n"
            "cordon:   mend: to allow it, write in the manifest: exec: all\n");
}

TEST(Report, ShowsOneScreenOfDenialsHoweverManyThereWere) {
  plan::Outcome outcome = ran(1);
  for (std::uint32_t i = 0; i < 100; ++i) outcome.exec_attempts.push_back({"/bin/p" + std::to_string(i), i, 1});
  outcome.exec_attempts_total = 100;
  const std::string said = words(small_plan(), outcome);
  EXPECT_LE(std::ranges::count(said, '\n'), 24);
  EXPECT_THAT(said, HasSubstr("and 92 more"));
}

TEST(Report, SaysThatTheTimeLimitEndedTheTarget) {
  plan::Outcome outcome = ran(0);
  outcome.ended_by = plan::EndedBy::kTimeout;
  outcome.signal = SIGKILL;
  EXPECT_EQ(words(small_plan(), outcome),
            "cordon: error: the time limit of 5 s was reached, so the target was ended\n"
            "cordon:   (limits.timeout)\n");
  EXPECT_EQ(make_report(small_plan(), outcome).exit_code, 124);
}

TEST(Report, SaysWhichPromiseLapsedAndEndsWith124) {
  plan::Outcome outcome = ran(0);
  outcome.lapses = {{plan::Layer::kFilesystem, "the mask over ~/.ssh was lost", "leave ~/.ssh alone", {}, "/h/.ssh"}};
  EXPECT_EQ(words(small_plan(), outcome),
            "cordon: error: a promise lapsed while the target ran, so the run was ended;\n"
            "cordon:   do not trust what it left\n"
            "cordon:   filesystem: the mask over ~/.ssh was lost; leave ~/.ssh alone\n");
  const Report report = make_report(small_plan(), outcome);
  EXPECT_EQ(report.exit_code, 124);
  EXPECT_FALSE(fully_enforced(report.layers));
}

TEST(Report, PassesASignalOnAs128PlusItsNumberAndNamesIt) {
  plan::Outcome outcome = ran(0);
  outcome.signal = SIGKILL;
  EXPECT_EQ(make_report(small_plan(), outcome).exit_code, 137);
  EXPECT_EQ(words(small_plan(), outcome), "cordon: the target was ended by SIGKILL\n");
}

TEST(Report, IsSilentAboutCtrlCAndAClosedPipe) {
  for (const int signal : {SIGINT, SIGPIPE}) {
    plan::Outcome outcome = ran(0);
    outcome.signal = signal;
    EXPECT_EQ(words(small_plan(), outcome), "");
  }
}

TEST(Report, RepeatsEveryDegradationOfThePlan) {
  plan::Plan plan = small_plan();
  plan.degradations = {{plan::Layer::kLandlock, plan::LayerState::kUnavailable,
                        "the file system policy is not repeated by Landlock", "boot with lsm=landlock"}};
  EXPECT_EQ(words(plan, ran(0)),
            "cordon: weaker: landlock: the file system policy is not repeated by Landlock\n"
            "cordon:   mend: boot with lsm=landlock\n");
  EXPECT_FALSE(fully_enforced(make_report(plan, ran(0)).layers));
}

TEST(Report, AFailedStepIsNamedWithThePolicyLineThatAskedForIt) {
  plan::Outcome outcome;
  outcome.setup_error = base::Error{.operation = "open_tree", .subject = "/srv/data", .code = ENOENT, .step = {2}};
  const Report report = make_report(small_plan(), outcome);
  EXPECT_EQ(report.exit_code, 125);
  EXPECT_EQ(report.ending, Ending::kNotSetUp);
  const std::string said = text(report, Style{});
  EXPECT_THAT(said, testing::StartsWith("m.yaml:3:9: error: step 2 (bind for read: ./data) failed: open_tree"));
  EXPECT_THAT(said, testing::EndsWith("cordon: nothing was run\n"));
}

TEST(Report, AProgramThatCannotBeExecutedIsTheFilesFaultAndEndsWith126) {
  plan::Outcome outcome;
  outcome.setup_error = base::Error{.operation = "execve", .subject = "/srv/run.sh", .code = ENOEXEC, .step = {3}};
  const Report report = make_report(small_plan(), outcome);
  EXPECT_EQ(report.exit_code, 126);
  EXPECT_EQ(refused(report).items.front().blame, plan::Blame::kPolicy);
  EXPECT_EQ(text(report, Style{}),
            "m.yaml:1:13: error: /srv/run.sh is no program that this machine runs: it has\n"
            "  no '#!' line and no ELF header\n"
            "  mend: start the file with a '#!' line, or name its interpreter in the\n"
            "        manifest: interpreter: …\n"
            "cordon: nothing was run\n");
}

TEST(Report, ALayerIsVerifiedOnlyWhenItsChecksHeld) {
  plan::Outcome outcome = ran(0);
  outcome.verifications = {{"root-read-only", plan::Layer::kFilesystem, {1}, true, 30},
                           {"exec-closed", plan::Layer::kExec, {3}, false, 0}};
  const Report report = make_report(small_plan(), outcome);
  const auto line = [&](plan::Layer layer) { return *std::ranges::find(report.layers, layer, &LayerLine::layer); };
  EXPECT_TRUE(line(plan::Layer::kFilesystem).verified);
  EXPECT_FALSE(line(plan::Layer::kProcesses).verified);
  EXPECT_EQ(line(plan::Layer::kExec).state, plan::LayerState::kDegraded);
}

TEST(Report, ColourIsThereOnlyWhenAskedForAndNeverMovesALineBreak) {
  plan::Outcome outcome = ran(1);
  outcome.exec_attempts = {{"/usr/bin/git", 12, 1}};
  outcome.exec_attempts_total = 1;
  const Report report = make_report(small_plan(), outcome);
  std::string coloured = text(report, Style{.colour = true, .width = 50});
  EXPECT_THAT(coloured, HasSubstr("\x1b["));
  for (std::size_t at = 0; (at = coloured.find('\x1b')) != std::string::npos;)
    coloured.erase(at, coloured.find('m', at) - at + 1);
  EXPECT_EQ(coloured, text(report, Style{.colour = false, .width = 50}));
}

TEST(Report, NoLineIsWiderThanTheTerminal) {
  plan::Plan plan = small_plan();
  plan.degradations = {{plan::Layer::kLandlock, plan::LayerState::kUnavailable,
                        std::string(40, 'x') + " " + std::string(300, ' ') + "word", "m"}};
  plan.notes = {{"n", "some words that go on for much longer than a narrow terminal can hold in one line of it", {}}};
  const std::string said = words(plan, ran(1));
  for (std::size_t at = 0; at < said.size();) {
    const std::size_t end = said.find('\n', at);
    EXPECT_LE(end - at, 78U);
    at = end + 1;
  }
}

}  // namespace
}  // namespace cordon::report
