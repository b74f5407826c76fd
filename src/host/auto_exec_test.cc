#include "host/auto_exec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "host/host_testing.h"

namespace cordon::host {
namespace {

namespace fs = std::filesystem;
using plan::FileChange;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

constexpr std::array<std::string_view, 4> kNames = {"package.json", ".mvn/jvm.config", ".husky/", ".github/workflows/"};

class AutoExec : public ::testing::Test {
 protected:
  AutoExec() {
    home = make("home");
    work = make("work");
  }
  std::string make(const std::string& name) const {
    fs::create_directories(tree.path(name));
    return tree.path(name);
  }
  std::string write(const std::string& name, const std::string& text = "x") const {
    make(fs::path(name).parent_path().string());
    std::ofstream(tree.path(name)) << text;
    return tree.path(name);
  }
  [[nodiscard]] AutoExecWatch watch(std::vector<std::string> roots) const {
    // What a test wrote a moment ago must lie before the start on the kernel's coarse clock.
    std::this_thread::sleep_for(std::chrono::milliseconds(12));
    return AutoExecWatch(
        {.roots = std::move(roots), .names = kNames, .user_configs = {home + "/.gitconfig"}, .home = home});
  }
  [[nodiscard]] AutoExecWatch watch_work() const { return watch({work}); }
  void repository(const std::string& name, const std::string& config = "") const {
    write(name + "/.git/config", "[core]\n\tbare = false\n" + config);
    make(name + "/.git/hooks");
  }
  static std::vector<std::string> paths(const plan::LeftBehind& left) {
    std::vector<std::string> out;
    for (const auto& change : left.changed) out.push_back(change.path);
    return out;
  }

  testing::TempTree tree;
  std::string home, work;
};

TEST_F(AutoExec, ARunThatTouchesNothingLeavesNothing) {
  write("work/package.json");
  write("work/.husky/pre-commit");
  repository("work", "\thooksPath = .husky\n");
  const AutoExecWatch before = watch_work();
  write("work/src/main.c");
  EXPECT_EQ(before.after(), plan::LeftBehind{});
}

TEST_F(AutoExec, AChangedANewAndARemovedFileAreTold) {
  const std::string changed = write("work/package.json");
  const std::string removed = write("work/.husky/old");
  const AutoExecWatch before = watch_work();
  write("work/package.json", "y");
  fs::remove(removed);
  const std::string made = write("work/.mvn/jvm.config");
  const std::string workflow = write("work/.github/workflows/ci.yml");
  EXPECT_THAT(before.after().changed, UnorderedElementsAre(plan::AutoExecChange{changed, FileChange::kChanged},
                                                           plan::AutoExecChange{removed, FileChange::kRemoved},
                                                           plan::AutoExecChange{made, FileChange::kMade},
                                                           plan::AutoExecChange{workflow, FileChange::kMade}));
}

TEST_F(AutoExec, AProgramThatGitsConfigurationNamesIsToldWhenItChanged) {
  write("work/clean");
  write("work/data");
  repository("work",
             "[filter \"x\"]\nclean = sh clean\nsmudge = ./new\n[alias]\nx = !cat data\ny = !./by-name <data\n");
  const AutoExecWatch before = watch_work();
  EXPECT_EQ(before.after(), plan::LeftBehind{}) << "the control";
  write("work/clean", "y");
  write("work/data", "y");
  write("work/new");
  write("work/by-name");
  const auto program = [&](const char* name, FileChange change) {
    return plan::AutoExecChange{.path = work + name, .change = change, .is_git_program = true};
  };
  EXPECT_THAT(before.after().changed,
              UnorderedElementsAre(program("/clean", FileChange::kChanged), program("/new", FileChange::kMade),
                                   program("/by-name", FileChange::kMade)));
}

TEST_F(AutoExec, AProgramThatIsAGrantOfItsOwnIsToldWhenItChanged) {
  const std::string path = write("work/clean");
  repository("work", "[filter \"x\"]\nclean = ./clean\n");
  const AutoExecWatch before = watch({path});
  write("work/clean", "y");
  EXPECT_THAT(paths(before.after()), ElementsAre(path));
}

TEST_F(AutoExec, AChangeThatKeepsSizeAndTimeIsSeen) {
  const std::string path = write("work/package.json", "a");
  struct stat st{};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  const AutoExecWatch before = watch_work();
  write("work/package.json", "b");
  const std::array<timespec, 2> times = {st.st_atim, st.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
  EXPECT_THAT(paths(before.after()), ElementsAre(path));
}

TEST_F(AutoExec, ALinkInTheWayIsNotFollowed) {
  const std::string outside = write("outside/pre-commit");
  write("work/.husky/pre-commit");
  const AutoExecWatch before = watch_work();
  fs::remove_all(work + "/.husky");
  fs::create_symlink(tree.path("outside"), work + "/.husky");
  EXPECT_THAT(paths(before.after()), UnorderedElementsAre(work + "/.husky", work + "/.husky/pre-commit"));
}

TEST_F(AutoExec, ARootThatIsRenamedIsStillTheOneThatWasHeld) {
  write("work/package.json");
  const AutoExecWatch before = watch_work();
  fs::rename(work, tree.path("moved"));
  make("work");
  EXPECT_THAT(paths(before.after()), IsEmpty());
}

TEST_F(AutoExec, ADirectoryThatTheRunMadeIsLookedAt) {
  const AutoExecWatch before = watch({work + "/a/b"});
  const std::string made = write("work/a/b/package.json");
  EXPECT_THAT(paths(before.after()), ElementsAre(made));
}

TEST_F(AutoExec, AGrantOfOneFileWatchesThatFileAlone) {
  const std::string file = write("work/package.json");
  const AutoExecWatch before = watch({file});
  write("work/package.json", "yy");
  write("work/.husky/pre-commit");
  EXPECT_THAT(paths(before.after()), ElementsAre(file));
}

TEST_F(AutoExec, HooksInTheGrantAreWatchedWhereverGitTakesThemFrom) {
  repository("work", "\thooksPath = tools/hooks\n");
  make("work/tools/hooks");
  const AutoExecWatch before = watch_work();
  const std::string hook = write("work/tools/hooks/post-merge");
  EXPECT_THAT(before.after().changed, ElementsAre(plan::AutoExecChange{hook, FileChange::kMade, true}));
}

TEST_F(AutoExec, AGrantBelowTheCheckoutIsWatchedForItsHooksToo) {
  repository("work", "\thooksPath = tools/hooks\n");
  make("work/tools/hooks");
  const AutoExecWatch before = watch({work + "/tools"});
  const std::string hook = write("work/tools/hooks/post-merge");
  EXPECT_THAT(paths(before.after()), ElementsAre(hook));
}

TEST_F(AutoExec, ARedirectedHooksPathIsTold) {
  repository("work");
  const AutoExecWatch before = watch_work();
  write("work/.git/config", "[core]\nhooksPath = evil\n");
  EXPECT_THAT(before.after().redirected_hooks, ElementsAre(work + "/evil"));
}

TEST_F(AutoExec, AnIncludeAndAConditionCountAsWell) {
  repository("work");
  const AutoExecWatch before = watch_work();
  write("work/more", "[core]\nhooksPath = evil\n");
  write("work/.git/config", "[includeIf \"onbranch:x\"]\npath = ../more\n");
  EXPECT_THAT(before.after().redirected_hooks, ElementsAre(work + "/evil"));
}

TEST_F(AutoExec, TheUsersOwnHooksPathCounts) {
  repository("work");
  write("home/.gitconfig", "[core]\nhooksPath = .githooks\n");
  const AutoExecWatch before = watch_work();
  const std::string hook = write("work/.githooks/pre-push");
  EXPECT_THAT(paths(before.after()), Contains(hook));
}

TEST_F(AutoExec, AConfigurationThatCannotBeReadIsTold) {
  repository("work");
  const AutoExecWatch before = watch_work();
  write("work/.git/config", "[core\n");
  EXPECT_THAT(before.after().unresolved_hooks, ElementsAre(work));
  fs::remove(work + "/.git/config");
  fs::create_symlink("/dev/zero", work + "/.git/config");
  EXPECT_THAT(before.after().unresolved_hooks, ElementsAre(work)) << "never through a link of the target's";
  fs::remove(work + "/.git/config");
  ASSERT_EQ(::mkfifo((work + "/.git/config").c_str(), 0600), 0);
  EXPECT_THAT(before.after().unresolved_hooks, ElementsAre(work)) << "a pipe is not waited for";
}

TEST_F(AutoExec, AWorktreeTakesTheHooksOfItsRepository) {
  repository("main", "\thooksPath = " + work + "/shared\n");
  write("main/.git/worktrees/w/commondir", "../..\n");
  write("work/.git", "gitdir: " + tree.path("main/.git/worktrees/w") + "\n");
  make("work/shared");
  const AutoExecWatch before = watch_work();
  const std::string hook = write("work/shared/pre-commit");
  EXPECT_THAT(paths(before.after()), ElementsAre(hook));
}

TEST_F(AutoExec, RepositoriesThatTheRunMadeAreTold) {
  repository("work/old");
  const AutoExecWatch before = watch_work();
  write("work/old/.git/index");
  write("work/old/file");
  EXPECT_THAT(before.after().repositories, IsEmpty()) << "the control: work in one that was there";
  repository("work/new");
  repository("work/a/b");
  repository("work");
  EXPECT_THAT(before.after().repositories, ElementsAre(work, work + "/a/b", work + "/new"));
}

TEST_F(AutoExec, WhatGitTakesForARepositoryByWhatItHoldsIsTold) {
  const auto bare = [&](const std::string& name) {
    write(name + "/HEAD");
    write(name + "/config");
    make(name + "/objects");
    make(name + "/refs");
  };
  bare("work/old");
  bare("work/a/b/old");
  bare("work/.git/modules/old");
  const AutoExecWatch before = watch_work();
  write("work/old/refs/heads/main");
  write("work/a/b/old/refs/heads/main");
  write("work/plain/HEAD");
  EXPECT_THAT(before.after().repositories, IsEmpty()) << "the control: what was pushed to one that was there";
  bare("work/new");
  bare("work/a/b/new");
  bare("work/.git/modules/lib/new");
  write("work/linked/HEAD");
  write("work/linked/commondir");
  EXPECT_THAT(before.after().repositories,
              ElementsAre(work + "/.git/modules/lib/new", work + "/a/b/new", work + "/linked", work + "/new"));
}

TEST_F(AutoExec, WhatAnotherRunHoldsHereIsNotToldOfThisOne) {
  const AutoExecWatch before = watch_work();
  const std::string envrc = write("work/.envrc", "");
  const std::string git = make("work/a/.git");
  const auto point = [](const std::string& path) {
    const auto facts = kernel::statx(kernel::kHere, path.c_str(), AT_SYMLINK_NOFOLLOW);
    return plan::HeldPoint{.path = path, .id = {.device = kernel::device_of(*facts), .inode = facts->stx_ino}};
  };
  std::vector<plan::HeldPoint> held = {point(envrc), point(git)};
  EXPECT_TRUE(before.after(held).empty());
  EXPECT_THAT(paths(before.after()), ElementsAre(envrc)) << "the control";
  EXPECT_THAT(before.after().repositories, ElementsAre(work + "/a")) << "the control";
  held[0].id.inode += 1;
  EXPECT_THAT(paths(before.after(held)), ElementsAre(envrc)) << "what took a point's place is somebody's";
}

TEST_F(AutoExec, ARepositoryThatWasHiddenUnderAnotherNameIsTold) {
  write("work/sub/stash/config");
  const AutoExecWatch before = watch_work();
  fs::rename(work + "/sub/stash", work + "/sub/.git");
  EXPECT_THAT(before.after().repositories, ElementsAre(work + "/sub"));
}

TEST_F(AutoExec, ASubmodulesRepositoryIsToldHoweverManyComponentsItsNameHas) {
  make("work/.git/modules");
  const AutoExecWatch before = watch_work();
  const std::string deep = "work/.git/modules/a/b/c/d/e/f";
  write(deep + "/HEAD");
  make(deep + "/objects");
  make(deep + "/refs");
  EXPECT_THAT(before.after().repositories, ElementsAre(tree.path(deep)));
  EXPECT_FALSE(before.after().partial);
  make("work/.git/modules/1/2/3/4/5/6/7/8/9/10/11/12/13/14");
  EXPECT_TRUE(before.after().partial) << "deeper than is looked";
}

TEST_F(AutoExec, ManyDirectoriesHideNoFileAndWhereFilesAreTooManyThatIsSaid) {
  make("work/.github/workflows");
  const AutoExecWatch before = watch_work();
  for (int i = 0; i < 300; ++i) make("work/.github/workflows/d" + std::to_string(i));
  std::vector<std::string> made;
  for (int i = 0; i < 20; ++i) made.push_back(write("work/.github/workflows/x" + std::to_string(i) + ".yml"));
  EXPECT_THAT(paths(before.after()), UnorderedElementsAreArray(made));
  EXPECT_FALSE(before.after().partial);
  for (int i = 0; i < 240; ++i) write("work/.github/workflows/y" + std::to_string(i));
  EXPECT_TRUE(before.after().partial);
}

TEST_F(AutoExec, FolderHooksBelowAreTold) {
  write("work/sub/.envrc");
  const AutoExecWatch before = watch_work();
  EXPECT_THAT(paths(before.after()), IsEmpty()) << "the control";
  const std::string made = write("work/sub/new/.envrc");
  write("work/node_modules/x/.envrc");
  EXPECT_THAT(before.after().changed, ElementsAre(plan::AutoExecChange{made, FileChange::kMade}));
}

}  // namespace
}  // namespace cordon::host
