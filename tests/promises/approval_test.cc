// Promise: what a person approved is what runs. An unapproved or changed manifest does not run, and approving needs a
// person, or --yes.

#include <sys/stat.h>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::Not;

CORDON_PROMISE(Approval);

TEST_P(Approval, AnUnapprovedManifestDoesNotRun) {
  const std::string manifest = scene.manifest(act_manifest({"fork"}));
  const Snapshot before = snapshot(scene.work());
  const Finished run = scene.cordon({"run", manifest}).run();
  EXPECT_EQ(run.code, 125) << run;
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(run.says("approve")) << "the mend is named" << run;
  EXPECT_EQ(difference(before, snapshot(scene.work())), "");
  EXPECT_EQ(scene.cordon({"run", "--allow-unapproved", manifest}).run().code, 0);
}

TEST_P(Approval, AChangedManifestIsStale) {
  const std::string manifest = scene.approved(act_manifest({"fork"}));
  ASSERT_EQ(scene.cordon({"run", manifest}).run().code, 0);
  scene.tree().write("work/m.yaml", *scene.tree().read("work/m.yaml") + "write: [./out]\n");
  const Finished run = scene.cordon({"run", manifest}).run();
  EXPECT_EQ(run.code, 125) << run;
  EXPECT_TRUE(run.says("no longer holds") && run.says("./out")) << run;
  EXPECT_FALSE(scene.tree().exists("work/out")) << "nothing may be made for a run that is refused";
  EXPECT_EQ(scene.cordon({"validate", "--strict", manifest}).run().code, 125);
}

TEST_P(Approval, ACommentDoesNotMakeItStale) {
  const std::string manifest = scene.approved(act_manifest({"fork"}));
  scene.tree().write("work/m.yaml", "# a comment\n" + *scene.tree().read("work/m.yaml"));
  EXPECT_EQ(scene.cordon({"run", manifest}).run().code, 0);
}

TEST_P(Approval, KeepsCommentsLayoutAndMode) {
  const std::string yaml = "# mine\nentrypoint:   ./act   # the tool\n\n# why\nread:\n  - ./m.yaml\n";
  const std::string manifest = scene.manifest(yaml);
  ::chmod(manifest.c_str(), 0640);
  ASSERT_EQ(scene.approve(manifest).code, 0);
  EXPECT_THAT(*scene.tree().read("work/m.yaml"), testing::StartsWith(yaml));
  struct stat st{};
  ASSERT_EQ(::stat(manifest.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777U, 0640U);
  EXPECT_EQ(st.st_uid, GetParam().uid);
}

TEST_P(Approval, WithoutATerminalNobodyCanSayYes) {
  const std::string manifest = scene.manifest(act_manifest({"fork"}));
  const Finished asked = scene.cordon({"approve", manifest}).input("y\n").run();
  EXPECT_EQ(asked.code, 125) << asked;
  EXPECT_TRUE(asked.says("--yes")) << asked;
  EXPECT_THAT(*scene.tree().read("work/m.yaml"), Not(HasSubstr("approves")));
}

TEST_P(Approval, OnATerminalItAsksAndOnlyYesIsYes) {
  const std::string manifest = scene.manifest(act_manifest({"fork"}));
  for (const char* answer : {"n\n", "\n", "maybe\n"}) {
    Running asked = scene.cordon({"approve", manifest}).pty().start();
    ASSERT_TRUE(asked.expect("[y/N]")) << asked.seen();
    asked.type(answer);
    EXPECT_EQ(asked.wait().code, 125);
    EXPECT_THAT(*scene.tree().read("work/m.yaml"), Not(HasSubstr("approves")));
  }
  Running asked = scene.cordon({"approve", manifest}).pty().start();
  ASSERT_TRUE(asked.expect("[y/N]"));
  asked.type("y\n");
  EXPECT_EQ(asked.wait().code, 0);
  EXPECT_EQ(scene.cordon({"run", manifest}).run().code, 0);
}

TEST_P(Approval, AgainShowsWhatChangedInWords) {
  const std::string manifest = scene.approved(act_manifest({"fork"}));
  scene.manifest(act_manifest({"fork"}, "write: [./out]\n"));
  const Finished again = scene.approve(manifest);
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_THAT(again.out + again.err, HasSubstr("./out")) << again;
}

TEST_P(Approval, APinnedFileThatWasEditedIsStale) {
  scene.tree().write("work/script.py", "print('first')\n");
  const std::string manifest =
      scene.approved("entrypoint: ./script.py\ninterpreter: /usr/bin/python3\npin: [./script.py]\n");
  EXPECT_EQ(scene.cordon({"run", manifest}).run().out, "first\n");
  scene.tree().write("work/script.py", "print('second')\n");
  const Finished run = scene.cordon({"run", manifest}).run();
  EXPECT_EQ(run.code, 125) << run;
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(run.says("script.py")) << "which file changed is named" << run;
}

TEST_P(Approval, ALinkThatLeadsElsewhereIsStale) {
  scene.tree().write("work/public/f", "public");
  scene.tree().write("home/private/f", "private");
  scene.tree().link("work/data", "public");
  const std::string manifest =
      scene.approved(act_manifest({"read=" + scene.in_work("data/f")}, list("read", {"./data"})));
  ASSERT_EQ(scene.cordon({"run", manifest}).run().code, 0);
  scene.tree().remove("work/data");
  scene.tree().link("work/data", scene.tree().path("home/private"));
  const Finished run = scene.cordon({"run", manifest}).run();
  EXPECT_EQ(run.code, 125) << run;
  EXPECT_TRUE(run.says("since it was approved") && run.says("private")) << run;
  EXPECT_EQ(scene.cordon({"run", "--dry-run", manifest}).run().code, 125);
  EXPECT_EQ(scene.cordon({"validate", "--strict", manifest}).run().code, 125);
  EXPECT_EQ(scene.cordon({"run", "--allow-unapproved", manifest}).run().code, 0);
  ASSERT_EQ(scene.approve(manifest).code, 0);
  EXPECT_EQ(scene.cordon({"run", manifest}).run().code, 0) << "approved anew";
}

TEST_P(Approval, ADirectoryThatBecomesALinkIsStale) {
  scene.tree().write("work/data/f", "data");
  scene.tree().write("home/private/f", "private");
  const std::string manifest =
      scene.approved(act_manifest({"read=" + scene.in_work("data/f")}, list("read", {"./data"})));
  ASSERT_EQ(scene.cordon({"run", manifest}).run().code, 0);
  scene.tree().remove("work/data");
  scene.tree().link("work/data", scene.tree().path("home/private"));
  EXPECT_EQ(scene.cordon({"run", manifest}).run().code, 125);
}

TEST_P(Approval, AFirstLineThatNamesAnotherProgramIsStale) {
  scene.tree().copy("work/bin/tool", programs().act);
  scene.tree().write("work/secret.txt", "secret");
  scene.tree().write("work/s.sh", "#!/bin/sh\nexit 0\n", 0755);
  const std::string manifest = scene.approved("entrypoint: ./s.sh\n");
  ASSERT_EQ(scene.cordon({"run", manifest}).run().code, 0);
  scene.tree().write("work/s.sh", "#!" + scene.in_work("bin/tool") + " read=" + scene.in_work("secret.txt") + "\n",
                     0755);
  const Finished run = scene.cordon({"run", manifest}).run();
  EXPECT_EQ(run.code, 125) << run;
  EXPECT_TRUE(run.says("interpreter")) << run;
  const Finished allowed = scene.cordon({"run", "--allow-unapproved", manifest}).run();
  EXPECT_THAT(verdict(allowed, "read=" + scene.in_work("secret.txt")), testing::StartsWith("DENIED"))
      << "the directory around the program is no grant" << allowed;
  EXPECT_EQ(verdict(scene.bare({"./s.sh"}), "read=" + scene.in_work("secret.txt")), "ALLOWED") << "the control";
}

TEST_P(Approval, AStampThatCameWithTheFileIsHeldFromItsFirstRunOn) {
  scene.tree().write("work/public/f", "public");
  scene.tree().write("home/private/f", "private");
  scene.tree().link("work/data", "public");
  const std::string manifest =
      scene.approved(act_manifest({"read=" + scene.in_work("data/f")}, list("read", {"./data"})));
  scene.tree().remove("home/.local");
  const Finished first = scene.cordon({"run", manifest}).run();
  EXPECT_EQ(first.code, 0) << first;
  EXPECT_TRUE(first.says("recorded now")) << first;
  EXPECT_FALSE(scene.cordon({"run", manifest}).run().says("recorded now"));
  scene.tree().remove("work/data");
  scene.tree().link("work/data", scene.tree().path("home/private"));
  EXPECT_EQ(scene.cordon({"run", manifest}).run().code, 125);
}

TEST_P(Approval, AManifestThatOthersCouldReplaceIsNotApproved) {
  scene.tree().make_directory("work/open");
  const std::string manifest = scene.manifest("entrypoint: ../act\n", "open/m.yaml");
  ::chmod(scene.in_work("open").c_str(), 0777);
  const Finished refused = scene.approve(manifest);
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("open")) << refused;
  ::chmod(scene.in_work("open").c_str(), 0755);
  EXPECT_EQ(scene.approve(manifest).code, 0) << "the control";
}

TEST_P(Approval, WhatCannotRunIsNotApproved) {
  const std::string manifest = scene.manifest("entrypoint: ./missing\n");
  const Finished refused = scene.approve(manifest);
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("missing"));
}

// One planner call stands behind every verdict.
TEST_P(Approval, ValidateInspectDryRunAndRunAgree) {
  struct Case {
    const char* yaml;
    int code;
  };
  for (const auto& [yaml, code] :
       {Case{"entrypoint: ./act\n", 0}, Case{"entrypoint: ./missing\n", 125},
        Case{"entrypoint: ./act\nread: [/proc]\n", 125}, Case{"entrypoint: ./act\nwrite: [./act/x]\n", 125}}) {
    const std::string manifest = scene.manifest(yaml);
    EXPECT_EQ(scene.cordon({"run", "--allow-unapproved", manifest}).run().code, code) << yaml;
    EXPECT_EQ(scene.cordon({"run", "--allow-unapproved", "--dry-run", manifest}).run().code, code) << yaml;
    EXPECT_EQ(scene.cordon({"inspect", manifest}).run().code, code) << yaml;
    EXPECT_EQ(scene.cordon({"approve", "--yes", manifest}).run().code, code) << yaml;
  }
}

}  // namespace
}  // namespace cordon::test
