// What a person reads. Each test is a complaint about one of the older systems, or a rule of SPEC §1 and §12, held on
// the real program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/scene.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Words : public testing::Test {
 protected:
  Words() : scene_(ordinary_user()) { scene_.tree().write("work/s.sh", "#!/bin/sh\nexit 0\n", 0755); }
  [[nodiscard]] Finished ran(const std::string& script, const std::string& lines, std::vector<std::string> flags = {}) {
    scene_.tree().write("work/s.sh", "#!/bin/sh\n" + script, 0755);
    return scene_.sandboxed("entrypoint: ./s.sh\n" + lines, flags);
  }
  [[nodiscard]] Finished says(std::vector<std::string> words) const { return scene_.cordon(std::move(words)).run(); }
  Scene scene_;
};

// ---- mistakes on the command line

TEST_F(Words, WithoutACommandTheUsageIsShownAndNothingSucceeds) {
  const Finished said = says({});
  EXPECT_EQ(said.code, 125);
  EXPECT_EQ(said.out, "");
  EXPECT_THAT(said.err, StartsWith("usage: cordon run|profile|validate|")) << said;
}

TEST_F(Words, AnUnknownCommandListsTheOnesThereAre) {
  const Finished said = says({"frobnicate"});
  EXPECT_EQ(said.err,
            "cordon: error: there is no command \"frobnicate\"\n"
            "  mend: cordon help lists the commands\n"
            "usage: cordon "
            "run|profile|validate|approve|inspect|explain|changes|trust|doctor|profiles|version|completion|help …\n");
  EXPECT_EQ(said.code, 125);
}

TEST_F(Words, AProgramInAManifestsPlaceIsAskedAbout) {
  EXPECT_THAT(says({"run", "cat"}).err, HasSubstr("did you mean: cordon run -- cat"));
}

TEST_F(Words, ACommandThatIsNotThereIsSaidAsAShellSaysIt) {
  const Finished said = says({"run", "--", "no-such-command"});
  EXPECT_EQ(said.code, 127);
  EXPECT_THAT(said.err, HasSubstr("no-such-command: command not found")) << said;
  const Finished none = says({"run", "--"});
  EXPECT_EQ(none.code, 125);
  EXPECT_THAT(none.err, HasSubstr("nothing stands after --")) << none;
}

TEST_F(Words, HelpTellsOfThisPlatformOnlyAndOfEveryFlag) {
  const Finished all = says({"help"});
  EXPECT_EQ(all.code, 0);
  for (const char* word : {"macOS", "SBPL", "Seatbelt"}) EXPECT_FALSE(all.says(word));
  const Finished run = says({"help", "run"});
  for (const char* flag : {"--strict", "--allow-degraded", "--allow-unapproved", "--env NAME=VALUE", "--dry-run",
                           "--report FILE", "--as-root", "--run-id ID", "--json"})
    EXPECT_THAT(run.out, HasSubstr(flag));
  EXPECT_EQ(run.out, says({"run", "--help"}).out);
}

TEST_F(Words, ARunIdNeedsLimits) {
  EXPECT_THAT(ran("echo ran\n", "", {"--run-id", "x"}).err, HasSubstr("--run-id names the scope of a run with limits"));
  EXPECT_THAT(says({"run", "--run-id", "a/b", "m.yaml"}).err, HasSubstr("letters, digits and underscores"));
}

// ---- a run

TEST_F(Words, ASuccessIsSilentEvenWhenAVariableIsUnsetOrAGrantIsMissing) {
  const Finished run = ran("exit 0\n", "env: [NOT_SET_HERE]\nread: [./absent]\n");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out + run.err, "");
}

TEST_F(Words, AFailureNamesTheGrantThatIsMissingAndTheVariableThatIsUnset) {
  const Finished run = ran("exit 3\n", "env: [NOT_SET_HERE]\nread: [./absent]\n");
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, AllOf(StartsWith("cordon: the target ended with code 3; this may be why:\n"),
                             HasSubstr("NOT_SET_HERE"), HasSubstr("./absent")))
      << run;
}

TEST_F(Words, EveryLineOfARunsOwnIsMarked) {
  const Finished run = ran("/usr/bin/id 2>/dev/null\nexit 1\n", "env: [NOT_SET_HERE]\n");
  std::istringstream in(run.err);
  for (std::string line; std::getline(in, line);) EXPECT_THAT(line, StartsWith("cordon: "));
}

TEST_F(Words, NoLogLinesNoTimesNoColour) {
  const Finished run = ran("/usr/bin/id\nexit 1\n", "");
  EXPECT_THAT(run.err, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("INFO")))) << run;
}

TEST_F(Words, AKilledTargetIsNotCalledADenial) {
  const Finished run = ran("kill -KILL $$\n", "");
  EXPECT_EQ(run.code, 137);
  EXPECT_EQ(run.err, "cordon: the target was ended by SIGKILL\n");
}

TEST_F(Words, ATimeLimitNamesTheKeyThatSetIt) {
  const Finished run = ran("sleep 30\n", "exec: all\nlimits: {timeout: 1s}\n");
  EXPECT_EQ(run.code, 124);
  EXPECT_THAT(run.err, AllOf(HasSubstr("the time limit of 1 s"), HasSubstr("limits.timeout"))) << run;
}

TEST_F(Words, ARunMakesNothingInTheHomeButItsRecordAndItsFacts) {
  const Finished run = ran("exit 0\n", "");
  std::vector<std::string> made;
  for (const auto& entry : fs::directory_iterator(scene_.home())) made.push_back(entry.path().filename());
  EXPECT_THAT(made, testing::IsSubsetOf({std::string(".local"), std::string(".cache")})) << run;
}

TEST_F(Words, ARunLeavesARecordWithoutValues) {
  scene_.tree().write("work/s.sh", "#!/bin/sh\nexit 7\n", 0755);
  const std::string manifest = scene_.approved("entrypoint: ./s.sh\nenv: [SECRET]\n");
  EXPECT_EQ(says({"run", "--env", "SECRET=hunter2", manifest}).code, 7);
  const std::string runs = scene_.home() + "/.local/state/cordon/runs";
  const Finished shown = scene_.bare({"sh", "-c", "cat " + runs + "/*.json"});
  const nlohmann::json record = nlohmann::json::parse(shown.out);
  EXPECT_EQ(record["exit_code"], 7);
  EXPECT_EQ(record["manifest"], manifest);
  EXPECT_THAT(shown.out, Not(HasSubstr("hunter2")));
}

TEST_F(Words, ARunWithoutAWritableHomeIsARunAllTheSame) {
  scene_.tree().write("work/s.sh", "#!/bin/sh\nexit 0\n", 0755);
  const std::string manifest = scene_.approved("entrypoint: ./s.sh\n");
  const Finished run = scene_.cordon({"run", manifest}).env("HOME", "/proc").run();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(run.err, "");
}

TEST_F(Words, AReportFileHoldsTheVerdict) {
  scene_.tree().write("work/s.sh", "#!/bin/sh\nexit 7\n", 0755);
  const std::string manifest = scene_.approved("entrypoint: ./s.sh\n");
  EXPECT_EQ(says({"run", "--report", scene_.in_work("r.json"), manifest}).code, 7);
  const auto report = nlohmann::json::parse(scene_.bare({"cat", scene_.in_work("r.json")}).out);
  EXPECT_EQ(report["exit_code"], 7);
  EXPECT_EQ(says({"run", "--report", "/nonexistent/r.json", manifest}).code, 125);
}

TEST_F(Words, AReportReplacesNoPartOfTheRunAndNoLinkDeviceOrPipe) {
  const std::string script = "#!/bin/sh\nexit 7\n";
  scene_.tree().write("work/s.sh", script, 0755);
  const std::string manifest = scene_.approved("entrypoint: ./s.sh\npin: [./s.sh]\n");
  const std::string text = *scene_.tree().read("work/m.yaml");
  scene_.tree().make_directory("work/real");
  scene_.tree().link("work/to-real", "real");
  scene_.tree().link("work/link.json", "elsewhere.json");
  scene_.tree().write("work/old.json", "old");
  ASSERT_EQ(::mkfifo(scene_.in_work("pipe").c_str(), 0666), 0);
  for (const std::string& target :
       {manifest, scene_.in_work("s.sh"), scene_.in_work("link.json"), scene_.in_work("pipe"),
        scene_.in_work("to-real/r.json"), std::string("/dev/stdout"), std::string("/dev/null"), std::string("-"),
        std::string("/proc/self/fd/1"), programs().cordon, programs().launcher}) {
    const Finished run = says({"run", "--report", target, manifest});
    EXPECT_EQ(run.code, 125) << target << run;
    EXPECT_THAT(run.err, HasSubstr("--report")) << target;
  }
  EXPECT_TRUE(says({"run", "--report", "to-real/r.json", manifest})
                  .says("give its real path: " + scene_.in_work("real/r.json")));
  EXPECT_EQ(scene_.tree().read("work/m.yaml"), text);
  EXPECT_EQ(scene_.tree().read("work/s.sh"), script);
  EXPECT_FALSE(scene_.tree().read("work/real/r.json"));
  for (const char* target : {"real/r.json", "old.json", "new.json"}) {
    EXPECT_EQ(says({"run", "--report", target, manifest}).code, 7) << target;
    EXPECT_THAT(*scene_.tree().read("work/" + std::string(target)), HasSubstr("exit_code")) << target;
  }
}

TEST_F(Words, AReportThatCannotBeWrittenIsNoticedBeforeTheRun) {
  scene_.tree().write("work/s.sh", "#!/bin/sh\necho ran\n", 0755);
  const std::string manifest = scene_.approved("entrypoint: ./s.sh\n");
  scene_.tree().make_directory("work/shut", 0500);
  const Finished run = says({"run", "--report", "shut/r.json", manifest});
  EXPECT_EQ(run.code, 125) << run;
  EXPECT_EQ(run.out, "") << "it ran";
}

TEST_F(Words, EnvGivesAListedNameAndRefusesAnyOther) {
  const std::string script = "test \"$GIVEN\" = 'a b' || exit 9\n";
  EXPECT_EQ(ran(script, "env: [GIVEN]\n", {"--env", "GIVEN=a b"}).code, 0);
  const Finished other = ran(script, "env: [GIVEN]\n", {"--env", "OTHER=hunter2"});
  EXPECT_EQ(other.code, 125);
  EXPECT_THAT(other.err, AllOf(HasSubstr("OTHER"), HasSubstr("env: [OTHER]"), Not(HasSubstr("hunter2")))) << other;
  EXPECT_EQ(ran(script, "env: [GIVEN]\n", {"--env", "GIVEN"}).code, 125);
}

TEST_F(Words, AnEditedManifestSaysWhatChangedSinceItWasApproved) {
  const std::string manifest = scene_.approved("entrypoint: ./s.sh\n");
  scene_.manifest("write: [./out]\n" + scene_.bare({"cat", manifest}).out);
  const Finished run = says({"run", manifest});
  EXPECT_EQ(run.code, 125);
  EXPECT_THAT(run.err, AllOf(HasSubstr("./out"), HasSubstr("cordon approve"), HasSubstr("nothing was run"))) << run;
}

TEST_F(Words, APinnedScriptThatWasEditedIsNamed) {
  const std::string manifest = scene_.manifest("# mine\nentrypoint: ./s.sh # this one\n");
  const Finished approved = says({"approve", "--yes", "--pin", manifest});
  EXPECT_EQ(approved.code, 0) << approved;
  const std::string text = scene_.bare({"cat", manifest}).out;
  EXPECT_THAT(text, StartsWith("# mine\nentrypoint: ./s.sh # this one\npin: ['./s.sh']\n"));
  EXPECT_EQ(says({"run", manifest}).code, 0);
  scene_.tree().write("work/s.sh", "#!/bin/sh\nexit 66\n", 0755);
  const Finished stale = says({"run", manifest});
  EXPECT_EQ(stale.code, 125);
  EXPECT_THAT(stale.err, HasSubstr("./s.sh")) << stale;
}

TEST_F(Words, APinThatHasNoPlainPlaceIsLeftToAPerson) {
  const std::string manifest = scene_.manifest("{entrypoint: ./s.sh}\n");
  const Finished said = says({"approve", "--yes", "--pin", manifest});
  EXPECT_EQ(said.code, 125);
  EXPECT_THAT(said.err, HasSubstr("pin: ['./s.sh']")) << said;
  EXPECT_EQ(scene_.bare({"cat", manifest}).out, "{entrypoint: ./s.sh}\n");
}

// ---- validate

TEST_F(Words, ValidateSaysWhatHoldsAndStrictlyFailsForWhatDoesNot) {
  const std::string manifest = scene_.approved("entrypoint: ./s.sh\nread: [./absent]\n");
  const Finished said = says({"validate", manifest});
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.out,
              AllOf(HasSubstr("(absent)"), HasSubstr("runnable:     yes"), HasSubstr("approval:     current")))
      << said;
  EXPECT_EQ(says({"validate", "--strict", manifest}).code, 125) << "a grant that names nothing";
  const std::string sound = scene_.approved("entrypoint: ./s.sh\n");
  EXPECT_EQ(says({"validate", "--strict", sound}).code, 0);
  EXPECT_EQ(says({"validate", "--strict", scene_.manifest("entrypoint: ./s.sh\n")}).code, 125) << "no stamp";
}

TEST_F(Words, ValidateDoesNotCallAScriptRunnableThatMayNotBeExecuted) {
  scene_.tree().write("work/plain.py", "#!/usr/bin/python3\n", 0644);
  const Finished said = says({"validate", scene_.manifest("entrypoint: ./plain.py\n")});
  EXPECT_THAT(said.out, AllOf(HasSubstr("runnable:     no"), HasSubstr("chmod"))) << said;
}

TEST_F(Words, ValidateTellsWhatTiesAManifestToThisHost) {
  const std::string manifest = scene_.manifest("entrypoint: ./s.sh\nread: [/usr/share, ./in]\n");
  const Finished said = says({"validate", "--relocatable", manifest});
  EXPECT_EQ(said.code, 125);
  EXPECT_THAT(said.out, HasSubstr("relocatable:  no: tied to this host by /usr/share")) << said;
  EXPECT_EQ(says({"validate", "--relocatable", scene_.manifest("entrypoint: ./s.sh\nread: [./in]\n")}).code, 0);
}

TEST_F(Words, ValidateClaimsNoShieldThatItDoesNotHold) {
  const std::string manifest = scene_.manifest("entrypoint: ./s.sh\nread: ['~']\n");
  EXPECT_THAT(says({"validate", manifest}).out, HasSubstr("without credentials"));
  const std::string key = scene_.tree().write("home/.ssh/id", "SENTINEL\n");
  const std::string plain = scene_.tree().write("home/plain", "PLAIN\n");
  const Finished run =
      ran("read -r a <" + plain + " && echo $a; read -r b <" + key + " && echo $b; exit 0\n", "read: ['~']\n");
  EXPECT_THAT(run.out, AllOf(HasSubstr("PLAIN"), Not(HasSubstr("SENTINEL")))) << run;
}

TEST_F(Words, AValidHostWildcardIsNamedWhereAnInvalidOneStands) {
  const Finished said =
      says({"validate", scene_.manifest("entrypoint: ./s.sh\nnetwork:\n  - {host: '*.com.*', port: '443'}\n")});
  EXPECT_EQ(said.code, 125);
  EXPECT_THAT(said.err, AllOf(HasSubstr("m.yaml:3:"), HasSubstr("^"), HasSubstr("mend:"))) << said;
}

// ---- approve

TEST_F(Words, ApproveAsksOnlyOnATerminalAndOnlyYesIsYes) {
  const std::string manifest = scene_.manifest("entrypoint: ./s.sh\n");
  const Finished piped = scene_.cordon({"approve", manifest}).input("y\n").run();
  EXPECT_EQ(piped.code, 125) << piped;
  EXPECT_THAT(piped.err, HasSubstr("--yes"));
  for (const char* answer : {"n\n", "\n", "yep\n"}) {
    Running asked = scene_.cordon({"approve", manifest}).pty().start();
    ASSERT_TRUE(asked.expect("[y/N]")) << asked.seen();
    asked.type(answer);
    EXPECT_EQ(asked.wait().code, 125) << answer;
  }
  EXPECT_EQ(scene_.bare({"cat", manifest}).out, "entrypoint: ./s.sh\n") << "nothing was written";
  Running asked = scene_.cordon({"approve", manifest}).pty().start();
  ASSERT_TRUE(asked.expect("[y/N]"));
  asked.type("y\n");
  EXPECT_EQ(asked.wait().code, 0);
  EXPECT_EQ(says({"run", manifest}).code, 0);
  const Finished again = says({"approve", manifest});
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_THAT(again.out, HasSubstr("already approved"));
}

TEST_F(Words, ApproveTakesNoAnswerThatWasTypedBeforeItsQuestion) {
  const std::string manifest = scene_.manifest("entrypoint: ./s.sh\n");
  Running asked = scene_.cordon({"approve", manifest}).pty().start();
  asked.type("y\n");
  ASSERT_TRUE(asked.expect("[y/N]")) << asked.seen();
  asked.type("n\n");
  EXPECT_EQ(asked.wait().code, 125) << "the early yes was taken";
  EXPECT_EQ(scene_.bare({"cat", manifest}).out, "entrypoint: ./s.sh\n");
}

TEST_F(Words, AReApprovalSaysInSentencesWhatIsNew) {
  const std::string manifest = scene_.approved("entrypoint: ./s.sh\n");
  scene_.manifest("write: [./out]\n" + scene_.bare({"cat", manifest}).out);
  const Finished said = says({"approve", "--yes", manifest});
  EXPECT_THAT(said.out, AllOf(HasSubstr("what changed since the approval of"), HasSubstr("+ now also writes ./out")))
      << said;
}

TEST_F(Words, ApproveStampsNothingThatARunWouldRefuse) {
  const std::string text = "entrypoint: ./gone.sh\n";
  const Finished said = says({"approve", "--yes", scene_.manifest(text)});
  EXPECT_EQ(said.code, 125);
  EXPECT_THAT(said.err, HasSubstr("not stamped")) << said;
  EXPECT_EQ(scene_.bare({"cat", scene_.in_work("m.yaml")}).out, text);
}

// ---- the rest

TEST_F(Words, DoctorNamesTheLauncherAndFillsTheFacts) {
  const Finished said = says({"doctor"});
  EXPECT_THAT(said.out, AllOf(HasSubstr("launcher:"), HasSubstr("ready"))) << said;
  EXPECT_FALSE(fs::is_empty(scene_.home() + "/.cache/cordon"));
}

TEST_F(Words, ProfilesAreListedAndShownByName) {
  EXPECT_THAT(says({"profiles"}).out, AllOf(HasSubstr("node"), HasSubstr("rust"), HasSubstr("python-index")));
  const Finished one = says({"profiles", "rust"});
  EXPECT_EQ(one.code, 0);
  EXPECT_THAT(one.out, AllOf(HasSubstr("~/.rustup"), HasSubstr("target/"), HasSubstr("Cargo.lock"))) << one;
  const Finished unknown = says({"profiles", "rsut"});
  EXPECT_EQ(unknown.code, 125);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean: cordon profiles rust")) << unknown;
}

TEST_F(Words, VersionNamesTheBuild) { EXPECT_THAT(says({"version"}).out, HasSubstr("build ")); }

TEST_F(Words, CompletionScriptsAreAcceptedByTheirShellAndCompleteTheFlags) {
  const Finished bash =
      scene_.bare({"bash", "-c",
                   "source <(" + programs().cordon +
                       " completion bash)\n"
                       "COMP_WORDS=(cordon run --allow-) COMP_CWORD=2\n_cordon\necho \"${COMPREPLY[@]}\"\n"
                       "COMP_WORDS=(cordon val) COMP_CWORD=1\n_cordon\necho \"${COMPREPLY[@]}\"\n"});
  EXPECT_EQ(bash.out,
            "--allow-degraded --allow-unapproved --allow-domain --allow-fetch --allow-all-network "
            "--allow-insecure-linux-network --allow-read --allow-write --allow-wx "
            "--allow-exec "
            "--allow-address\nvalidate\n")
      << bash;
  for (const char* shell : {"zsh", "fish"}) {
    const Finished script = says({"completion", shell});
    EXPECT_EQ(script.code, 0);
    EXPECT_THAT(script.out, HasSubstr("allow-unapproved"));
  }
  EXPECT_THAT(says({"completion", "bsh"}).err, HasSubstr("did you mean bash?"));
}

}  // namespace
}  // namespace cordon::test
