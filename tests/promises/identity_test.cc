// Promise: as root, a workspace of another user is worked on as that user and keeps its owner; `--as-root` keeps uid 0,
// without any capability.

#include <sys/stat.h>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::ElementsAre;
using testing::StartsWith;

CORDON_PROMISE(WorkspaceOwner);
CORDON_ROOT_PROMISE(AsRoot);

TEST_P(WorkspaceOwner, FilesBelongToWhoOwnsTheEntrypointsDirectory) {
  const Identity& owner = ordinary_user();
  Scene theirs(owner);
  theirs.tree().make_directory("work/out");
  const std::string manifest = theirs.manifest(
      act_manifest({"show-ids", "create=" + theirs.in_work("out/new"), "read=" + theirs.in_work("private")},
                   list("write", {"./out"}) + list("read", {"./private"})));
  theirs.tree().write("work/private", "p", 0600);
  ASSERT_EQ(theirs.approve(manifest).code, 0);
  // Whoever calls, root or the owner: the result is the owner's.
  const Finished run = theirs.cordon({"run", manifest}).as(GetParam()).run();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(verdict(run, "create=" + theirs.in_work("out/new")), "ALLOWED") << run;
  EXPECT_EQ(verdict(run, "read=" + theirs.in_work("private")), "ALLOWED") << run;
  struct stat st{};
  ASSERT_EQ(::stat(theirs.in_work("out/new").c_str(), &st), 0);
  EXPECT_EQ(st.st_uid, owner.uid);
  EXPECT_EQ(st.st_gid, owner.gid);
  const std::string uid = std::to_string(owner.uid);
  EXPECT_THAT(lines(run, "ids "), ElementsAre(StartsWith(uid + " " + uid))) << run;
}

TEST_P(WorkspaceOwner, AMissingWriteDirectoryIsMadeTheirs) {
  Scene theirs(ordinary_user());
  const std::string manifest =
      theirs.manifest(act_manifest({"create=" + theirs.in_work("fresh/new")}, list("write", {"./fresh"})));
  ASSERT_EQ(theirs.approve(manifest).code, 0);
  const Finished run = theirs.cordon({"run", manifest}).as(GetParam()).run();
  EXPECT_EQ(run.code, 0) << run;
  struct stat st{};
  ASSERT_EQ(::stat(theirs.in_work("fresh/new").c_str(), &st), 0);
  EXPECT_EQ(st.st_uid, ordinary_user().uid);
  ASSERT_EQ(::stat(theirs.in_work("fresh").c_str(), &st), 0);
  EXPECT_EQ(st.st_uid, ordinary_user().uid);
}

TEST_P(AsRoot, LendsTheOwnerOfAWorkspaceNoReach) {
  const Identity& owner = ordinary_user();
  Scene theirs(owner);
  const std::string secret = scene.tree().write("home/priv/f", "secret");
  theirs.tree().link("work/data", scene.tree().path("home/priv"));
  const std::string read = "read=" + theirs.in_work("data/f");
  const std::string manifest = theirs.manifest(act_manifest({read}, list("read", {"./data"})));
  const auto run = [&] { return theirs.cordon({"run", "--allow-unapproved", manifest}).as(GetParam()).run(); };
  ASSERT_EQ(::chmod(scene.home().c_str(), 0700), 0);
  const Finished shut = run();
  EXPECT_EQ(shut.code, 125) << shut;
  EXPECT_TRUE(shut.says("somebody else can choose")) << shut;
  ASSERT_EQ(::chmod(scene.home().c_str(), 0755), 0);
  EXPECT_EQ(verdict(run(), read), "ALLOWED") << "the control: the owner could go there itself";
  EXPECT_TRUE(scene.tree().read("home/priv/f")) << secret;
}

// What is read to judge a grant is read with the owner's reach too.
TEST_P(AsRoot, ReadsNoConfigurationForTheOwnerThatTheOwnerCouldNot) {
  Scene theirs(ordinary_user());
  const std::string hooks = theirs.tree().make_directory("work/p/myhooks");
  scene.tree().write("home/priv/config", "[core]\n\thooksPath = " + hooks + "\n");
  theirs.tree().make_directory("work/p/.git");
  theirs.tree().link("work/p/.git/config", scene.tree().path("home/priv/config"));
  const std::string create = "create=" + hooks + "/pre-push";
  const std::string manifest = theirs.manifest(act_manifest({create}, list("write", {"./p"})));
  const auto run = [&] { return theirs.cordon({"run", "--allow-unapproved", manifest}).as(GetParam()).run(); };
  ASSERT_EQ(::chmod(scene.home().c_str(), 0700), 0);
  const Finished shut = run();
  EXPECT_EQ(shut.code, 125) << shut;
  EXPECT_FALSE(shut.says("myhooks")) << "nothing of what it says is told" << shut;
  ASSERT_EQ(::chmod(scene.home().c_str(), 0755), 0);
  EXPECT_THAT(verdict(run(), create), StartsWith("DENIED")) << "the control: the owner could read it, and it is held";
}

TEST_P(AsRoot, MakesNothingForTheOwnerWhereTheOwnerCouldNot) {
  Scene theirs(ordinary_user());
  const std::string mine = scene.tree().make_directory("home/mine");
  theirs.tree().link("work/out", mine);
  const std::string there = theirs.manifest(act_manifest({"fork"}, list("write", {"./out/x"})));
  const Finished run = theirs.cordon({"run", "--allow-unapproved", there}).as(GetParam()).run();
  EXPECT_EQ(run.code, 125) << run;
  EXPECT_FALSE(scene.tree().exists("home/mine/x"));
}

TEST_P(AsRoot, KeepsUidZeroAndNoCapability) {
  Scene theirs(ordinary_user());
  const std::string manifest = theirs.manifest(act_manifest({"show-ids", "show-file=/proc/self/status"}));
  ASSERT_EQ(theirs.approve(manifest).code, 0);
  const Finished run = theirs.cordon({"run", "--as-root", manifest}).as(GetParam()).run();
  EXPECT_THAT(lines(run, "ids "), ElementsAre(StartsWith("0 0"))) << run;
  EXPECT_THAT(lines(run, "| "), testing::Contains("CapEff:\t0000000000000000")) << run;
}

TEST_P(WorkspaceOwner, OnesOwnWorkspaceIsWorkedOnAsOneself) {
  const Finished run = scene.acts({"show-ids"});
  const std::string uid = std::to_string(GetParam().uid);
  EXPECT_THAT(lines(run, "ids "), ElementsAre(StartsWith(uid + " " + uid))) << run;
}

}  // namespace
}  // namespace cordon::test
