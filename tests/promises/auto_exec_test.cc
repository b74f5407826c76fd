// Promise: what a run left in its write grants that a tool executes without being asked is told, in words and in JSON.

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::Not;

class AutoExecuted : public Promise {
 protected:
  AutoExecuted() { scene.tree().make_directory("work/out"); }
  [[nodiscard]] std::string out(std::string_view name) const { return scene.in_work("out/" + std::string(name)); }
  [[nodiscard]] Finished ran(const std::vector<std::string>& acts, const std::vector<std::string>& flags = {}) const {
    return scene.sandboxed(act_manifest(acts, list("write", {"./out"})), flags);
  }
};
INSTANTIATE_TEST_SUITE_P(As, AutoExecuted, testing::ValuesIn(identities()), identity_name);

TEST_P(AutoExecuted, AChangedPackageJsonIsTold) {
  scene.tree().write("work/out/package.json", "{}");
  const Finished quiet = ran({"create=" + out("other")});
  EXPECT_EQ(quiet.err, "") << "the control: what nobody executes is not told";
  const Finished told = ran({"append=" + out("package.json")});
  EXPECT_EQ(told.code, 0) << told;
  EXPECT_TRUE(told.says(out("package.json") + " was changed: npm will run its scripts")) << told;
  const Finished json = ran({"append=" + out("package.json")}, {"--json"});
  EXPECT_THAT(json.out, HasSubstr(R"("changed_auto_exec":[")" + out("package.json") + R"("])"));
}

// The repository's own are read-only; the user's core.hooksPath is not the policy's business, and is told.
TEST_P(AutoExecuted, ANewHookIsRefusedWhereverGitTakesItFrom) {
  scene.tree().write("work/.git/config", "[core]\n\thooksPath = out/hooks\n");
  scene.tree().write("work/.git/HEAD", "ref: refs/heads/main\n");
  scene.tree().make_directory("work/out/hooks");
  const std::string hook = "create=" + out("hooks/post-merge");
  EXPECT_THAT(verdict(ran({hook}), hook), testing::StartsWith("DENIED"));
  scene.tree().write("work/.git/config", "[core]\n");
  scene.tree().write("home/.gitconfig", "[core]\n\thooksPath = out/hooks\n");
  EXPECT_THAT(verdict(ran({hook}), hook), testing::StartsWith("DENIED"));
  scene.tree().write("home/.gitconfig", "");
  EXPECT_EQ(verdict(ran({hook}), hook), "ALLOWED") << "the control";
}

// At the root of a grant inside a checkout: what stands is held, and what the target makes anew is told.
TEST_P(AutoExecuted, WhatStandsAtTheRootOfAGrantInsideACheckoutIsHeld) {
  scene.tree().write("work/.git/HEAD", "ref: refs/heads/main\n");
  scene.tree().write("work/out/.mcp.json", "{}");
  const std::string standing = "append=" + out(".mcp.json"), made = "create=" + out(".cursorrules");
  const Finished inside = ran({standing, made});
  EXPECT_THAT(verdict(inside, standing), testing::StartsWith("DENIED")) << inside;
  EXPECT_EQ(verdict(inside, made), "ALLOWED") << inside;
  EXPECT_TRUE(inside.says(out(".cursorrules") + " is new")) << inside;
  EXPECT_EQ(verdict(scene.acts_bare({standing}), standing), "ALLOWED") << "the control, bare";
}

TEST_P(AutoExecuted, ARepositoryThatTheTargetMakesIsTold) {
  const Finished told = ran({"mkdir=" + out("sub"), "mkdir=" + out("sub/.git")});
  EXPECT_TRUE(told.says(out("sub") + " became a git repository")) << told;
  const Finished quiet = ran({"create=" + out("sub/file")});
  EXPECT_EQ(quiet.err, "") << "the control: it is told once, by the run that made it";
}

TEST_P(AutoExecuted, AFolderHookThatTheTargetMakesIsTold) {
  const Finished told = ran({"mkdir=" + out("a"), "mkdir=" + out("a/new"), "create=" + out("a/new/.envrc")});
  EXPECT_TRUE(told.says(out("a/new/.envrc") + " is new: direnv")) << told;
}

TEST_P(AutoExecuted, WhatGitTakesForARepositoryByWhatItHoldsIsTold) {
  std::vector<std::string> acts{"mkdir=" + out("x"), "create=" + out("x/HEAD"), "mkdir=" + out("x/objects")};
  EXPECT_EQ(ran(acts).err, "") << "the control: it is none yet";
  scene.tree().remove("work/out/x");
  acts.push_back("mkdir=" + out("x/refs"));
  EXPECT_TRUE(ran(acts).says(out("x") + " became a git repository"));
}

// With its state on another file system there is no overlay: what is held is held by mount points on the host, which
// the one run leaves to the other.
TEST_P(AutoExecuted, WhatTwoRunsHoldAtOnceIsToldOfNeither) {
  std::string elsewhere = "/dev/shm/cordon-test.XXXXXX";
  ASSERT_NE(::mkdtemp(elsewhere.data()), nullptr);
  ASSERT_EQ(::chown(elsewhere.c_str(), GetParam().uid, GetParam().gid), 0);
  const auto start = [&](const char* name, const std::string& last) {
    const std::string manifest =
        scene.manifest(act_manifest({"read=/proc/self/status", last}, list("write", {"./out"})), name);
    return scene.cordon({"run", "--allow-unapproved", manifest}).env("XDG_STATE_HOME", elsewhere).start();
  };
  Running first = start("first.yaml", "sleep=3");
  ASSERT_TRUE(first.expect("status ALLOWED")) << first.wait();
  Running second = start("second.yaml", "sleep=300");
  ASSERT_TRUE(second.expect("status ALLOWED")) << second.wait();
  const Finished ended = first.wait();
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_TRUE(scene.tree().exists("work/out/.envrc")) << "the control: it is held by a mount point";
  EXPECT_FALSE(ended.says("is new") || ended.says("became")) << ended;
  second.signal(SIGTERM);
  static_cast<void>(second.wait());
  std::filesystem::remove_all(elsewhere);
}

TEST_P(AutoExecuted, ADryRunTellsNothing) {
  scene.tree().write("work/out/package.json", "{}");
  const Finished dry = ran({"append=" + out("package.json")}, {"--dry-run"});
  EXPECT_THAT(dry.out + dry.err, Not(HasSubstr("npm")));
}

}  // namespace
}  // namespace cordon::test
