// What Cordon says where the older systems misled their users: one cause, in plain words, and the line to add. Each
// test here is a complaint about one of them.

#include <algorithm>
#include <sstream>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

CORDON_PROMISE(Message);

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_P(Message, SuccessIsSilentWithGrantsOutsideARepositoryToo) {
  scene.tree().make_directory("work/out");
  const Finished run = scene.acts({"create=" + scene.in_work("out/new"), "exit=0"}, list("write", {"./out"}));
  EXPECT_EQ(run.err, "") << run;
}

TEST_P(Message, ADeniedExecFromAScriptIsNamedWithItsGrant) {
  scene.tree().write("work/s.py",
                     "import subprocess, sys\ntry: subprocess.run(['/usr/bin/id'])\nexcept OSError: sys.exit(1)\n");
  const Finished run = scene.sandboxed("entrypoint: ./s.py\ninterpreter: /usr/bin/python3\n");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, AllOf(HasSubstr("/usr/bin/id"), HasSubstr("exec: all"))) << run;
  EXPECT_LE(line_count(run.err), 24U) << "one screen";
}

TEST_P(Message, AnEntrypointThatIsNotExecutableNamesChmodAndNothingElse) {
  scene.tree().write("work/s.py", "#!/usr/bin/python3\n", 0644);
  const std::string manifest = scene.manifest("entrypoint: ./s.py\n");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"run", "--allow-unapproved", manifest}, {"approve", "--yes", manifest}}) {
    const Finished said = scene.cordon(command).run();
    EXPECT_EQ(said.code, 125);
    EXPECT_TRUE(said.says("chmod")) << said;
    EXPECT_FALSE(said.says("the script ran") || said.says("filesystem (core")) << said;
  }
  const Finished validated = scene.cordon({"validate", manifest}).run();
  EXPECT_TRUE(validated.says("chmod")) << "validate sees the same" << validated;
}

TEST_P(Message, ATypoNamesTheFileTheLineAndTheWordThatWasMeant) {
  const std::string manifest = scene.manifest("entrypoint: ./act\nnetwrok: []\n");
  const Finished said = scene.cordon({"validate", manifest}).run();
  EXPECT_EQ(said.code, 125);
  EXPECT_TRUE(said.says("m.yaml:2:1")) << said;
  EXPECT_TRUE(said.says("network")) << said;
}

TEST_P(Message, ATypoInACommandOrAFlagGetsASuggestion) {
  EXPECT_TRUE(scene.cordon({"aprove", "m.yaml"}).run().says("approve"));
  EXPECT_TRUE(scene.cordon({"run", "--allow-unaproved", "m.yaml"}).run().says("--allow-unapproved"));
}

TEST_P(Message, ACommandWithoutDashesIsAskedAbout) {
  const Finished said = scene.cordon({"run", "npm", "install"}).run();
  EXPECT_EQ(said.code, 125);
  EXPECT_TRUE(said.says("cordon run -- npm install")) << said;
}

TEST_P(Message, LinesFitAScreen) {
  scene.tree().write("work/s.py", "#!/usr/bin/python3\n", 0644);
  const std::string manifest =
      scene.manifest("entrypoint: ./s.py\nread: [/proc, ./loop]\nwrite: [/, '~']\nexec: nonne\nlimit: {}\n");
  scene.tree().link("work/loop", "loop");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"validate", manifest}, {"run", manifest}, {"doctor"}, {"run", "--help"}}) {
    const Finished said = scene.cordon(command).run();
    std::istringstream in(said.out + said.err);
    for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), 160U) << line;
  }
}

TEST_P(Message, HelpNamesValuesAndNotCommands) {
  for (const char* command : {"run", "validate", "approve", "inspect", "doctor"}) {
    const Finished help = scene.cordon({command, "--help"}).run();
    EXPECT_EQ(help.code, 0);
    EXPECT_FALSE(help.says("`")) << help;
    EXPECT_FALSE(help.says("\x1b[")) << "no colour where there is no terminal";
  }
}

TEST_P(Message, ColourIsForTerminalsAndNoColourIsHonoured) {
  const Finished plain = scene.cordon({"doctor"}).env("NO_COLOR", "1").env("TERM", "xterm").pty().run();
  EXPECT_FALSE(plain.says("\x1b[")) << plain;
}

TEST_P(Message, ASignalIsNamedAsOne) {
  const Finished run = scene.acts({"die=9"});
  EXPECT_EQ(run.code, 137);
  EXPECT_TRUE(run.says("SIGKILL") || run.says("signal 9")) << run;
  EXPECT_FALSE(run.says("denial")) << run;
}

TEST_P(Message, DoctorNamesEachLayerAndExitsByWhatItFound) {
  const Finished said = scene.cordon({"doctor"}).run();
  for (const char* layer : {"filesystem", "processes", "network", "exec", "landlock"}) {
    EXPECT_TRUE(said.says(layer)) << layer << said;
  }
}

TEST_P(Message, AnUnsetVariableIsNamedOnce) {
  const Finished run = scene.acts({"exit=1"}, "env: [NOT_SET_HERE]\n");
  EXPECT_TRUE(run.says("NOT_SET_HERE")) << run;
}

TEST_P(Message, TheJsonOfARunEndsWithOneVerdict) {
  const std::string manifest = scene.approved(act_manifest({"read=/proc/self/status", "exit=5"}));
  const Finished run = scene.cordon({"run", "--json", manifest}).run();
  EXPECT_EQ(run.code, 5);
  EXPECT_EQ(run.err, "");
  std::istringstream in(run.out);
  std::string last;
  int verdicts = 0;
  for (std::string line; std::getline(in, line);) {
    EXPECT_THAT(line, testing::StartsWith("{"));
    EXPECT_THAT(line, testing::EndsWith("}"));
    verdicts += line.find("\"event\":\"verdict\"") != std::string::npos ? 1 : 0;
    last = line;
  }
  EXPECT_EQ(verdicts, 1) << run;
  EXPECT_THAT(last, AllOf(HasSubstr("\"exit_code\":5"), HasSubstr("\"schema_version\"")));
}

TEST_P(Message, TheJsonOfARefusalIsOneRefusal) {
  const std::string manifest = scene.manifest("entrypoint: ./gone\n");
  const Finished run = scene.cordon({"run", "--json", "--allow-unapproved", manifest}).run();
  EXPECT_EQ(run.code, 125);
  EXPECT_THAT(run.out, HasSubstr("\"event\":\"refusal\"")) << run;
  EXPECT_EQ(line_count(run.out), 1U);
  const Finished usage = scene.cordon({"run", "--json"}).run();
  EXPECT_EQ(usage.code, 125);
  EXPECT_THAT(usage.out, HasSubstr("\"event\":\"refusal\"")) << usage;
}

}  // namespace
}  // namespace cordon::test
