#include "host/alias_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "host/host_testing.h"
#include "kernel/file.h"

namespace cordon::host {
namespace {

using plan::AliasKind;
using plan::AliasScanEnd;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TempTree;
using ::testing::UnorderedElementsAre;

void hard_link(const std::string& from, const std::string& to) { ASSERT_EQ(::link(from.c_str(), to.c_str()), 0) << to; }

std::uint64_t device_of(const std::string& path) {
  const auto stat = kernel::statx(kernel::kHere, path.c_str(), 0);
  return stat ? makedev(stat->stx_dev_major, stat->stx_dev_minor) : 0;
}

/// A home with a key, and a directory that is granted.
class AliasScan : public ::testing::Test {
 protected:
  AliasScan() {
    home = dir("home");
    key = file("home/.ssh/id", "secret", 0600);
    file("home/.ssh/known_hosts");
    work = dir("work");
    file("work/plain");
  }

  std::string dir(const std::string& name) const {
    std::error_code failure;
    std::filesystem::create_directories(tree.path(name), failure);
    EXPECT_FALSE(failure) << name;
    return tree.path(name);
  }
  std::string file(const std::string& name, std::string_view content = "x", unsigned mode = 0644) const {
    static_cast<void>(dir(std::filesystem::path(name).parent_path().string()));
    return tree.file(name, content, mode);
  }
  [[nodiscard]] plan::AliasQuestion question(std::vector<std::string> exposed) const {
    plan::AliasQuestion out{.credentials = {home + "/.netrc", home + "/.ssh"},
                            .hidden = {home + "/.netrc", home + "/.ssh"},
                            .homes = {home},
                            .exposed = {}};
    for (std::string& path : exposed) out.exposed.push_back({.path = path, .device = device_of(path)});
    return out;
  }
  [[nodiscard]] plan::AliasAnswer scan(const plan::AliasQuestion& asked, AliasBounds bounds = {}) const {
    return scan_aliases(asked, MountTable::read(),
                        {.uid = ::geteuid(), .dead_mounts = {}, .watch = nullptr, .bounds = bounds});
  }
  [[nodiscard]] plan::AliasAnswer scan_work() const { return scan(question({work})); }

  TempTree tree;
  std::string home, key, work;
};

plan::Alias link_to(const std::string& path, const std::string& credential) {
  return {path, credential, AliasKind::kHardLink};
}

TEST_F(AliasScan, AHardLinkIsFoundAndACopyIsNot) {
  file("work/copy", "secret");
  EXPECT_THAT(scan_work().found, IsEmpty());
  dir("work/deep/er");
  hard_link(key, work + "/deep/er/name");
  const plan::AliasAnswer answer = scan_work();
  EXPECT_EQ(answer.end, AliasScanEnd::kComplete);
  EXPECT_THAT(answer.found, ElementsAre(link_to(work + "/deep/er/name", key)));
}

TEST_F(AliasScan, NothingIsWalkedWhereNoFileHasASecondLink) {
  // A tree that no walk could come through: that the search ends well shows that none was made.
  for (int i = 0; i < 20; ++i) file("work/" + std::to_string(i));
  const AliasBounds none{.tree_entries = 0};
  EXPECT_EQ(scan(question({work}), none).end, AliasScanEnd::kComplete);
  hard_link(key, home + "/.ssh/id2");
  EXPECT_EQ(scan(question({work}), none).end, AliasScanEnd::kTooMany) << "the control";
}

TEST_F(AliasScan, CodeIsLookedForByItsFilesAndNotByItsLinks) {
  const std::string tool = file("work/bin/tool"), module = file("work/lib/deep/module.so");
  dir("work/out");
  tree.link("work/lib/out", work + "/out");
  plan::AliasQuestion asked = question({work});
  asked.code = {tool, work + "/lib"};
  EXPECT_THAT(scan(asked).found, IsEmpty());
  hard_link(tool, work + "/out/tool-1");
  hard_link(module, work + "/out/m");
  hard_link(key, work + "/out/key");
  EXPECT_THAT(scan(asked).found,
              UnorderedElementsAre(link_to(work + "/out/tool-1", tool), link_to(work + "/out/m", module),
                                   link_to(work + "/out/key", key)));
  hard_link(key, work + "/lib/deep/key");
  EXPECT_THAT(scan(asked).found,
              ::testing::IsSupersetOf({link_to(work + "/out/key", key), link_to(work + "/lib/deep/key", key)}))
      << "what is both is a credential";
}

TEST_F(AliasScan, AGrantOfTheVeryFileIsFound) {
  hard_link(key, work + "/name");
  EXPECT_THAT(scan(question({work + "/name"})).found, ElementsAre(link_to(work + "/name", key)));
}

TEST_F(AliasScan, WhatIsHiddenIsNoOtherName) {
  hard_link(key, home + "/.ssh/id2");
  dir("home/public");
  hard_link(key, home + "/public/id");
  EXPECT_THAT(scan(question({home})).found,
              UnorderedElementsAre(::testing::Field(&plan::Alias::path, home + "/public/id")));
}

TEST_F(AliasScan, ASingleHiddenFileCounts) {
  const std::string netrc = file("home/.netrc", "n", 0600);
  hard_link(netrc, work + "/n");
  EXPECT_THAT(scan_work().found, ElementsAre(link_to(work + "/n", netrc)));
}

TEST_F(AliasScan, GitsObjectsInAStoreAreNoCredentials) {
  const std::string object = file("home/.ssh/.git/objects/ab/cd");
  hard_link(object, work + "/cd");
  EXPECT_THAT(scan_work().found, IsEmpty());
  const std::string config = file("home/.ssh/.git/config");
  hard_link(config, work + "/config");
  EXPECT_THAT(scan_work().found, ElementsAre(link_to(work + "/config", config))) << "the control";
}

TEST_F(AliasScan, ALinkInAStoreLeadsToTheCredential) {
  const std::string real = file("home/dotfiles/config", "c", 0600);
  tree.link("home/.ssh/config", real);
  hard_link(real, work + "/c");
  EXPECT_THAT(scan_work().found, ElementsAre(link_to(work + "/c", real)));
}

TEST_F(AliasScan, ALinkToADirectoryMakesAllInItCredentials) {
  const std::string real = file("home/dotfiles/keys/k", "c", 0600);
  tree.link("home/.ssh/keys", home + "/dotfiles/keys");
  hard_link(real, work + "/k");
  EXPECT_THAT(scan_work().found, ElementsAre(link_to(work + "/k", real)));
}

TEST_F(AliasScan, ALinkToTheHomeOrOutOfItMakesNothingACredential) {
  const std::string notes = file("home/notes");
  const std::string public_file = file("elsewhere/f");
  tree.link("home/.ssh/home", home);
  tree.link("home/.ssh/root", "/");
  tree.link("home/.ssh/out", public_file);
  hard_link(notes, work + "/notes");
  hard_link(public_file, work + "/f");
  const plan::AliasAnswer answer = scan_work();
  EXPECT_EQ(answer.end, AliasScanEnd::kComplete);
  EXPECT_THAT(answer.found, IsEmpty());
}

TEST_F(AliasScan, AStoreThatIsALinkIsFollowedAnywhere) {
  const std::string real = file("vault/id", "k", 0600);
  plan::AliasQuestion asked = question({work});
  asked.credentials.push_back(home + "/.gnupg");
  tree.link("home/.gnupg", tree.path("vault"));
  hard_link(real, work + "/k");
  EXPECT_THAT(scan(asked).found, ElementsAre(link_to(work + "/k", real)));
}

TEST_F(AliasScan, NoLinkIsFollowedInAnExposedTree) {
  dir("beside");
  hard_link(key, tree.path("beside/name"));
  tree.link("work/link", tree.path("beside"));
  EXPECT_THAT(scan_work().found, IsEmpty());
}

TEST_F(AliasScan, BoundsAreNeverPassedOverInSilence) {
  hard_link(key, work + "/name");
  for (int i = 0; i < 20; ++i) file("work/" + std::to_string(i));
  std::string deep = "work";
  for (int i = 0; i < 6; ++i) deep += "/d";
  dir(deep);
  EXPECT_EQ(scan(question({work}), {.tree_entries = 10}).end, AliasScanEnd::kTooMany);
  EXPECT_EQ(scan(question({work}), {.tree_depth = 3}).end, AliasScanEnd::kTooDeep);
  EXPECT_EQ(scan(question({work}), {.time = std::chrono::milliseconds(-1)}).end, AliasScanEnd::kTooLong);
  EXPECT_EQ(scan(question({work}), {.store_entries = 1}).end, AliasScanEnd::kTooMany);
  plan::AliasQuestion quick = question({work});
  quick.effort = plan::AliasEffort::kQuick;
  EXPECT_EQ(scan(quick, {.quick_entries = 10}).end, AliasScanEnd::kPartial);
}

TEST_F(AliasScan, AMountTableThatIsNotWholeIsAFailure) {
  const auto broken = MountTable::parse("garbage\n");
  EXPECT_FALSE(broken.is_whole());
  EXPECT_EQ(
      scan_aliases(question({work}), broken, {.uid = ::geteuid(), .dead_mounts = {}, .watch = {}, .bounds = {}}).end,
      AliasScanEnd::kMountTable);
  EXPECT_FALSE(MountTable::parse("").is_whole());
  EXPECT_FALSE(MountTable::parse("1 2 8:1 / / rw - ext4 /dev/a rw\n1 2 8:1").is_whole()) << "cut";
  EXPECT_TRUE(MountTable::parse("1 2 8:1 /a\\040b / rw - ext4 /dev/a rw\n").is_whole());
  EXPECT_EQ(MountTable::parse("1 2 8:1 /a\\040b / rw - ext4 /dev/a rw\n").find(1)->root, "/a b");
}

TEST_F(AliasScan, ADeadMountIsNotAsked) {
  const plan::AliasAnswer answer = scan_aliases(question({work}), MountTable::read(),
                                                {.uid = ::geteuid(), .dead_mounts = {home}, .watch = {}, .bounds = {}});
  EXPECT_EQ(answer.end, AliasScanEnd::kCannotBeRead);
  EXPECT_EQ(answer.code, ETIMEDOUT);
}

class AsUser {
 public:
  explicit AsUser(TempTree& tree) : tree_(tree) {}
  void own(const char* name) const {
    if (testing::is_root()) tree_.own(name, testing::kStranger, testing::kStranger);
  }

 private:
  TempTree& tree_;
};

TEST_F(AliasScan, OnesOwnDirectoryThatCannotBeListedIsAFailureAndSomebodyElsesIsNot) {
  hard_link(key, work + "/name");
  dir("work/closed");
  const AsUser user(tree);
  for (const char* name : {"home", "home/.ssh", "home/.ssh/id", "home/.ssh/known_hosts", "work", "work/closed"})
    user.own(name);
  tree.mode("work/closed", 0);
  const auto as_user = [&](const std::function<void()>& body) {
    testing::in_forked([&] {
      if (testing::is_root()) {
        ASSERT_EQ(::setresuid(testing::kStranger, testing::kStranger, testing::kStranger), 0);
      }
      body();
    });
  };
  as_user([&] { EXPECT_EQ(scan_work().end, AliasScanEnd::kCannotBeRead); });
  if (testing::is_root()) {
    tree.own("work/closed", 0, 0);
    as_user([&] { EXPECT_EQ(scan_work().end, AliasScanEnd::kComplete); });
  }
  tree.mode("work/closed", 0700);
}

TEST_F(AliasScan, AStoreThatTheCallerMayNotReadIsToldAndStopsNothing) {
  tree.mode("home/.ssh", 0);
  testing::in_forked([&] {
    if (testing::is_root()) {
      ASSERT_EQ(::setresuid(testing::kStranger, testing::kStranger, testing::kStranger), 0);
    }
    const plan::AliasAnswer answer = scan_work();
    EXPECT_EQ(answer.end, AliasScanEnd::kComplete);
    EXPECT_THAT(answer.unread, ElementsAre(home + "/.ssh"));
  });
  tree.mode("home/.ssh", 0700);
}

// Mounts, each in a namespace of its own.

void bind_mount(const std::string& from, const std::string& to) {
  ASSERT_EQ(::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr), 0) << to;
}

TEST_F(AliasScan, AMountThatHoldsTheStoreIsFoundWithoutAWalk) {
  dir("work/backup");
  testing::in_user_namespace(CLONE_NEWNS, [&] {
    bind_mount(home, work + "/backup");
    EXPECT_THAT(scan(question({work}), {.tree_entries = 0}).found,
                ElementsAre(plan::Alias{work + "/backup/.ssh", home + "/.ssh", AliasKind::kBindMount}));
  });
  EXPECT_THAT(scan_work().found, IsEmpty()) << "the control";
}

TEST_F(AliasScan, AMountOfTheStoreOrOfAFileInItIsFound) {
  dir("work/s");
  file("work/f");
  testing::in_user_namespace(CLONE_NEWNS, [&] {
    bind_mount(home + "/.ssh", work + "/s");
    bind_mount(key, work + "/f");
    EXPECT_THAT(scan_work().found, UnorderedElementsAre(plan::Alias{work + "/s", home + "/.ssh", AliasKind::kBindMount},
                                                        plan::Alias{work + "/f", key, AliasKind::kBindMount}));
  });
}

TEST_F(AliasScan, AMountAboveTheGrantIsFound) {
  dir("mnt");
  testing::in_user_namespace(CLONE_NEWNS, [&] {
    bind_mount(home, tree.path("mnt"));
    EXPECT_THAT(scan(question({tree.path("mnt/.ssh/id")})).found,
                ElementsAre(plan::Alias{tree.path("mnt/.ssh/id"), home + "/.ssh", AliasKind::kBindMount}));
  });
}

TEST_F(AliasScan, AMountThatIsNotShownOrIsCoveredIsNone) {
  dir("mnt");
  dir("work/backup");
  testing::in_user_namespace(CLONE_NEWNS, [&] {
    bind_mount(home, tree.path("mnt"));
    EXPECT_THAT(scan_work().found, IsEmpty());
    bind_mount(home, work + "/backup");
    ASSERT_EQ(::mount("none", (work + "/backup").c_str(), "tmpfs", 0, nullptr), 0);
    EXPECT_THAT(scan_work().found, IsEmpty());
  });
}

TEST_F(AliasScan, AnotherDeviceIsPrunedAndWhatIsMountedBelowItIsNot) {
  hard_link(key, home + "/.ssh/id2");
  dir("work/other");
  dir("linked");
  hard_link(key, tree.path("linked/name"));
  testing::in_user_namespace(CLONE_NEWNS, [&] {
    ASSERT_EQ(::mount("none", (work + "/other").c_str(), "tmpfs", 0, nullptr), 0);
    for (int i = 0; i < 50; ++i) file("work/other/" + std::to_string(i));
    EXPECT_EQ(scan(question({work}), {.tree_entries = 20}).end, AliasScanEnd::kComplete);
    dir("work/other/a/b");
    bind_mount(tree.path("linked"), work + "/other/a/b");
    EXPECT_THAT(scan_work().found, ElementsAre(link_to(work + "/other/a/b/name", key)));
  });
}

TEST_F(AliasScan, ANetworkFileSystemThatIsMountedOnceMoreIsToldAndNotAsked) {
  const std::string table = "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:50 / " + home +
                            " rw - nfs4 server:/x rw\n3 1 0:50 / " + work + "/n rw - nfs4 server:/x rw\n";
  // The store's mount id is the real one, which this table does not hold: it is found by its path.
  const plan::AliasAnswer answer = scan_aliases(question({work}), MountTable::parse(table),
                                                {.uid = ::geteuid(), .dead_mounts = {}, .watch = {}, .bounds = {}});
  EXPECT_THAT(answer.found, Contains(plan::Alias{work + "/n", home + "/.ssh", AliasKind::kNetworkMount}));
}

}  // namespace
}  // namespace cordon::host
