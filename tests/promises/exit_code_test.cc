// Promise: the target's exit code is Cordon's; 128+N for a signal, 125 for Cordon's own refusal, 126 where the program
// could not be executed, 124 for a promise that lapsed or the time limit.

#include <csignal>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;

CORDON_PROMISE(ExitCode);

TEST_P(ExitCode, IsTheTargetsOwn) {
  for (const int code : {0, 1, 2, 7, 77, 124, 125, 126, 127, 255}) {
    EXPECT_EQ(scene.acts({"exit=" + std::to_string(code)}).code, code);
  }
}

TEST_P(ExitCode, IsOneHundredAndTwentyEightPlusTheSignal) {
  for (const int signal : {SIGKILL, SIGTERM, SIGSEGV, SIGABRT, SIGINT}) {
    const Finished run = scene.acts({"die=" + std::to_string(signal)});
    EXPECT_EQ(run.code, 128 + signal) << run;
    EXPECT_EQ(run.signal, 0) << "Cordon itself must not die of it";
  }
}

TEST_P(ExitCode, IsOneHundredAndTwentyFiveForARefusalAndForAUsageError) {
  EXPECT_EQ(scene.cordon({"run", scene.in_work("missing.yaml")}).run().code, 125);
  EXPECT_EQ(scene.cordon({"run"}).run().code, 125);
  EXPECT_EQ(scene.cordon({"run", "--no-such-flag", "x"}).run().code, 125);
  EXPECT_EQ(scene.cordon({"no-such-command"}).run().code, 125);
  EXPECT_EQ(scene.cordon({"run", "--strict", "--allow-degraded", "m.yaml"}).run().code, 125);
}

TEST_P(ExitCode, IsOneHundredAndTwentySixWhereTheProgramCannotBeExecuted) {
  // An argument that is longer than the kernel takes (MAX_ARG_STRLEN, 128 KiB): the sandbox stands, execve fails.
  const Finished run = scene.acts({"exit=0", std::string(200'000, 'x')});
  EXPECT_EQ(run.code, 126) << run.err;
  EXPECT_TRUE(run.says("E2BIG") || run.says("Argument list too long")) << run.err;
}

TEST_P(ExitCode, AFileThatIsNoProgramIsAMistakeAndSaidBeforeAnythingRuns) {
  std::string header(64, '\0');
  header.replace(0, 7,
                 "\x7f"
                 "ELF\x02\x01\x01");
  scene.tree().write("work/broken", header, 0755);
  const Finished run = scene.cordon({"run", "--allow-unapproved", scene.manifest("entrypoint: ./broken\n")}).run();
  EXPECT_EQ(run.code, 125) << run;
  EXPECT_TRUE(run.says("broken")) << run;
}

TEST_P(ExitCode, OfVersionAndHelpAndCompletionIsZero) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"version"},
                                               {"--version"},
                                               {"--help"},
                                               {"run", "--help"},
                                               {"completion", "bash"},
                                               {"completion", "zsh"},
                                               {"completion", "fish"}}) {
    const Finished run = scene.cordon(args).run();
    EXPECT_EQ(run.code, 0) << args[0] << run;
    EXPECT_FALSE(run.out.empty()) << args[0];
  }
}

TEST_P(ExitCode, OfDoctorIsZeroWhereTheCoreHolds) {
  const Finished run = scene.cordon({"doctor"}).run();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(scene.cordon({"doctor", "--json"}).run().code, 0);
}

TEST_P(ExitCode, ACleanRunSaysNothing) {
  const Finished run = scene.acts({"exit=0"});
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "") << "silent on success";
}

}  // namespace
}  // namespace cordon::test
