// `cordon profile`: what the draft says, what it leaves out, where it goes, and what a person at a terminal is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/promise.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProfileCommand : public Promise {
 protected:
  void script(const std::string& text, const std::string& name = "s.sh") const {
    scene.tree().write("work/" + name, "#!/bin/sh\n" + text, 0755);
  }
  [[nodiscard]] Finished profiled(std::vector<std::string> words) const {
    words.insert(words.begin(), "profile");
    return scene.cordon(words).run();
  }
  [[nodiscard]] std::string drafted(const std::string& name = "s.sh.manifest.yaml") const {
    return scene.tree().read("work/" + name).value_or("(no draft)");
  }
};
INSTANTIATE_TEST_SUITE_P(As, ProfileCommand, testing::ValuesIn(identities()), identity_name);

TEST_P(ProfileCommand, DraftsWhatWasReadAndWrittenAndStartedInCanonicalOrder) {
  scene.tree().write("work/b.txt", "b");
  scene.tree().write("work/a.txt", "a");
  script("read x <b.txt; read x <a.txt; mkdir -p out; echo done >out/r; /usr/bin/id >/dev/null; echo said\n");
  const Finished run = profiled({"./s.sh"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(run.out, "said\n");
  EXPECT_EQ(drafted(),
            "entrypoint: ./s.sh\nread:\n  - ./a.txt\n  - ./b.txt\nwrite:\n  - ./out\nexec: all\n"
            "provenance:\n  generated-by: cordon profile\n")
      << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("project:"), HasSubstr("read: ./a.txt"), HasSubstr("/usr/bin/id"),
                             HasSubstr("cordon approve")));
  struct stat st{};
  ASSERT_EQ(::stat(scene.in_work("s.sh.manifest.yaml").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777U, 0600U);
}

TEST_P(ProfileCommand, AProgramThatNeedsNothingGetsNoLine) {
  script(":\n");
  EXPECT_EQ(profiled({"./s.sh"}).code, 0);
  EXPECT_EQ(drafted(), "entrypoint: ./s.sh\nexec: none\nprovenance:\n  generated-by: cordon profile\n");
}

TEST_P(ProfileCommand, PlantedCredentialsAreNeverSeenAndAreNamedAsWhatTheyAre) {
  scene.tree().write("home/.ssh/id_ed25519", "KEY-OF-A-TEST");
  scene.tree().write("home/.aws/credentials", "TOKEN-OF-A-TEST");
  script(
      "cat \"$HOME/.ssh/id_ed25519\" \"$HOME/.aws/credentials\" 2>/dev/null; ls \"$HOME/.aws\" 2>/dev/null; exit 0\n");
  EXPECT_THAT(scene.bare({"./s.sh"}).out, AllOf(HasSubstr("KEY-OF-A-TEST"), HasSubstr("TOKEN-OF-A-TEST")));
  const Finished run = profiled({"./s.sh"});
  EXPECT_THAT(run.out, AllOf(Not(HasSubstr("KEY-OF")), Not(HasSubstr("TOKEN-OF")), Not(HasSubstr("credentials"))));
  EXPECT_EQ(run.code, 4) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("withheld:"), HasSubstr(".ssh"), HasSubstr(".aws")));
  EXPECT_THAT(drafted(), AllOf(Not(HasSubstr(".ssh")), Not(HasSubstr(".aws"))));
}

TEST_P(ProfileCommand, WhatIsReachedForIsRecordedAndRefused) {
  scene.tree().write("work/net.py",
                     "import socket\n"
                     "try:\n  s = socket.create_connection(('api.example', 8443), 5); s.sendall(b'x'); "
                     "print('REACHED' if s.recv(1) else 'refused')\n"
                     "except OSError as error: print('refused')\n");
  const Finished run = profiled({"net.py", "--interpreter", "/usr/bin/python3"});
  EXPECT_EQ(run.out, "refused\n") << run;
  EXPECT_THAT(drafted("net.py.manifest.yaml"), HasSubstr("network:\n  - host: api.example\n    port: \"8443\"\n"));
}

TEST_P(ProfileCommand, ArgumentsStandBehindTheDashesAndInTheDraft) {
  script("echo \"$1-$2\"\n");
  const Finished run = profiled({"./s.sh", "--", "a b", "-x"});
  EXPECT_EQ(run.out, "a b--x\n") << run;
  EXPECT_THAT(drafted(), HasSubstr("args:\n  - a b\n  - \"-x\"\n"));
  EXPECT_EQ(profiled({"./s.sh", "extra"}).code, 125);
}

TEST_P(ProfileCommand, TheDraftGoesWhereItIsToldAndToStandardOutputAlone) {
  script("echo noise\n");
  EXPECT_EQ(profiled({"./s.sh", "--out", "here.yaml"}).code, 0);
  EXPECT_THAT(drafted("here.yaml"), HasSubstr("entrypoint: ./s.sh"));
  const Finished shown = profiled({"--out", "-", "./s.sh"});
  EXPECT_THAT(shown.out, testing::StartsWith("entrypoint: ./s.sh\n"));
  EXPECT_THAT(shown.err, HasSubstr("noise"));
}

TEST_P(ProfileCommand, SaysItAllAsOneObject) {
  scene.tree().write("work/a.txt", "a");
  script("cat a.txt; echo noise\n");
  const Finished run = profiled({"--json", "./s.sh"});
  const auto said = nlohmann::json::parse(run.out, nullptr, false);
  ASSERT_FALSE(said.is_discarded()) << run;
  EXPECT_EQ(said["complete"], true);
  EXPECT_EQ(said["policy"]["read"][0], "./a.txt");
  EXPECT_EQ(said["lines"][0]["group"], "project");
  EXPECT_EQ(said["policy"]["exec"], "all");
}

TEST_P(ProfileCommand, MergesIntoWhatAPersonWroteAndKeepsTheirWords) {
  scene.tree().write("work/a.txt", "a");
  script("read x <a.txt\n");
  const std::string mine =
      "# mine\nentrypoint: ./s.sh  # the tool\nread:\n  - ./kept.txt  # Ana asked for it\nargs: [x]\n";
  scene.tree().write("work/s.sh.manifest.yaml", mine);
  const Finished run = profiled({"./s.sh"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(
      drafted(),
      "# mine\nentrypoint: ./s.sh  # the tool\nread:\n  - ./kept.txt  # Ana asked for it\n  - ./a.txt\nargs: [x]\n"
      "provenance:\n  generated-by: cordon profile\n");
}

TEST_P(ProfileCommand, AnApprovalEndsWithTheFirstNewLineAndNotBefore) {
  scene.tree().write("work/a.txt", "a");
  script("read x <a.txt; exit 0\n");
  EXPECT_EQ(profiled({"./s.sh"}).code, 0);
  const std::string manifest = scene.in_work("s.sh.manifest.yaml");
  EXPECT_EQ(scene.approve(manifest).code, 0);
  const std::string approved = drafted();
  EXPECT_EQ(profiled({"./s.sh"}).code, 0);
  EXPECT_EQ(drafted(), approved);
  scene.tree().write("work/b.txt", "b");
  script("read x <a.txt; read x <b.txt; exit 0\n");
  EXPECT_THAT(profiled({"./s.sh"}).err, HasSubstr("no longer holds"));
  EXPECT_THAT(drafted(), AllOf(HasSubstr("./b.txt"), Not(HasSubstr("approves"))));
}

TEST_P(ProfileCommand, LeavesAloneWhatIsNoManifestOfThisProgram) {
  script(":\n");
  for (const char* there : {"entrypoint: ./other.sh\n", "not a manifest\n", "entrypoint: [\n"}) {
    scene.tree().write("work/s.sh.manifest.yaml", there);
    EXPECT_EQ(profiled({"./s.sh"}).code, 125) << there;
    EXPECT_EQ(drafted(), there);
  }
  scene.tree().remove("work/s.sh.manifest.yaml");
  scene.tree().link("work/s.sh.manifest.yaml", scene.tree().path("home/elsewhere"));
  EXPECT_EQ(profiled({"./s.sh"}).code, 125);
  EXPECT_FALSE(scene.tree().exists("home/elsewhere"));
}

TEST_P(ProfileCommand, ACodeOfTheProgramsOwnIsNoReasonToDoubtTheDraft) {
  script("exit 3\n");
  EXPECT_EQ(profiled({"./s.sh"}).code, 0);
  scene.tree().write("home/data.csv", "1");
  script("read x <\"$HOME/data.csv\" || exit 3\n");
  const Finished denied = profiled({"./s.sh"});
  EXPECT_EQ(denied.code, 4) << denied;
  EXPECT_THAT(denied.err, HasSubstr("incomplete:"));
  EXPECT_THAT(drafted(), AllOf(HasSubstr("- ~/data.csv"), HasSubstr("env:\n  - HOME\n")));
}

TEST_P(ProfileCommand, AKilledProgramCannotBeVouchedFor) {
  script("kill -9 $$\n");
  const Finished run = profiled({"./s.sh"});
  EXPECT_EQ(run.code, 4) << run;
  EXPECT_THAT(run.err, HasSubstr("SIGKILL"));
}

TEST_P(ProfileCommand, TmpAndDevNullAndBytecodeAreNobodysNeed) {
  script("echo x >/tmp/mine; cat /tmp/mine >/dev/null; mkdir -p /tmp/a/b\n");
  const Finished run = profiled({"./s.sh"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.err, Not(HasSubstr("withheld")));
  EXPECT_THAT(drafted(), AllOf(Not(HasSubstr("write:")), Not(HasSubstr("read:"))));
}

TEST_P(ProfileCommand, ACommandIsProfiledUnderItsResolvedName) {
  const Finished run = profiled({"--", "true", "x"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(drafted("true.manifest.yaml"), HasSubstr("/bin/true\nargs:\n  - x\n"));
  EXPECT_THAT(run.err, HasSubstr("cordon run"));
  EXPECT_EQ(profiled({"--", "no-such-program"}).code, 125);
  EXPECT_EQ(profiled({}).code, 125);
  EXPECT_THAT(profiled({"no-such-script"}).err, HasSubstr("cordon profile -- COMMAND"));
}

TEST_P(ProfileCommand, CheckFailsWhereTheRunAsksForMore) {
  scene.tree().write("work/a.txt", "a");
  scene.tree().write("work/b.txt", "b");
  script("read x <a.txt\n");
  EXPECT_EQ(profiled({"./s.sh"}).code, 0);
  const std::string manifest = scene.in_work("s.sh.manifest.yaml");
  EXPECT_EQ(profiled({"--check", manifest}).code, 125) << "nobody approved it";
  EXPECT_EQ(scene.approve(manifest).code, 0);
  const Finished same = profiled({"--check", manifest});
  EXPECT_EQ(same.code, 0) << same;
  script("read x <a.txt; read x <b.txt; /usr/bin/id\n");
  const Finished more = profiled({"--check", manifest});
  EXPECT_EQ(more.code, 4) << more;
  EXPECT_THAT(more.err, AllOf(HasSubstr("./b.txt"), HasSubstr("/usr/bin/id")));
  EXPECT_THAT(drafted(), Not(HasSubstr("b.txt"))) << "a check writes nothing";
}

// ---- at a terminal

TEST_P(ProfileCommand, AtATerminalEachLineIsAskedAndTheRunIsRepeatedUntilNothingIsNew) {
  scene.tree().write("home/list.txt", "second.txt");
  scene.tree().write("home/second.txt", "deep");
  script("n=$(cat \"$HOME/list.txt\") && cat \"$HOME/$n\"\n");
  Running run = scene.cordon({"profile", "./s.sh"}).pty().start();
  ASSERT_TRUE(run.expect("grant read: ~/list.txt?")) << run.seen();
  ASSERT_TRUE(run.expect("[q]uit ")) << run.seen();
  run.type("y\n");
  ASSERT_TRUE(run.expect("grant exec: all?")) << run.seen();
  ASSERT_TRUE(run.expect("[q]uit ")) << run.seen();
  run.type("y\n");
  ASSERT_TRUE(run.expect("grant read: ~/second.txt?")) << run.seen();
  ASSERT_TRUE(run.expect("[q]uit ")) << run.seen();
  run.type("y\n");
  const Finished done = run.wait();
  EXPECT_EQ(done.code, 0) << done;
  EXPECT_THAT(done.out, HasSubstr("deep"));
  EXPECT_THAT(drafted(), HasSubstr("read:\n  - ~/list.txt\n  - ~/second.txt\n"));
}

TEST_P(ProfileCommand, WhatIsDeclinedIsNotAskedAgainAndTakenOut) {
  scene.tree().write("work/a.txt", "a");
  scene.tree().write("work/s.sh.manifest.yaml", "entrypoint: ./s.sh\nread:\n  - ./old.txt  # stays\n");
  script("read x <a.txt\n");
  Running run = scene.cordon({"profile", "./s.sh"}).pty().start();
  ASSERT_TRUE(run.expect("[q]uit ")) << run.seen();
  run.type("n\n");
  EXPECT_EQ(run.wait().code, 4) << "not all that it asked for is in the draft";
  EXPECT_THAT(drafted(), AllOf(HasSubstr("old.txt  # stays"), Not(HasSubstr("a.txt"))));
}

TEST_P(ProfileCommand, WhoLeavesBeforeTheFirstAnswerGetsNoFile) {
  scene.tree().write("work/a.txt", "a");
  script("read x <a.txt\n");
  Running run = scene.cordon({"profile", "./s.sh"}).pty().start();
  ASSERT_TRUE(run.expect("[q]uit ")) << run.seen();
  run.type("q\n");
  EXPECT_EQ(run.wait().code, 4);
  EXPECT_EQ(drafted(), "(no draft)");
}

TEST_P(ProfileCommand, WhoFailedByARefusedHostIsNotVouchedFor) {
  const std::string reach = "exec 3<>/dev/tcp/example.com/443";
  scene.tree().write("work/s.sh", "#!/bin/bash\n" + reach + "; read x <&3 || exit 3\n", 0755);
  const Finished failed = scene.cordon({"profile", "./s.sh"}).run();
  EXPECT_EQ(failed.code, 4) << failed;
  EXPECT_THAT(failed.err, HasSubstr("refused 1 of its hosts"));
  std::filesystem::remove(scene.in_work("s.sh.manifest.yaml"));
  scene.tree().write("work/s.sh", "#!/bin/bash\n" + reach + "; read x <&3\nexit 0\n", 0755);
  const Finished did_without = scene.cordon({"profile", "./s.sh"}).run();
  EXPECT_EQ(did_without.code, 0) << "the control" << did_without;
}

TEST_P(ProfileCommand, AnIpv6AddressIsDraftedSoThatItsManifestLoads) {
  scene.tree().write("work/s.sh", "#!/bin/bash\n(exec 3<>/dev/tcp/2001:db8::1/443)\nexit 0\n", 0755);
  const Finished run = scene.cordon({"profile", "./s.sh"}).run();
  EXPECT_THAT(run.err, HasSubstr("[2001:db8::1]:443")) << run;
  EXPECT_EQ(scene.cordon({"validate", scene.in_work("s.sh.manifest.yaml")}).run().code, 0)
      << scene.tree().read("work/s.sh.manifest.yaml").value_or("");
}

}  // namespace
}  // namespace cordon::test
