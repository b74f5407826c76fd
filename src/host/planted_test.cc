// Who could have planted what was followed. The caller is chosen so that the file system's owners are strangers to it:
// as root, files are given to kStranger and root is the caller; as an ordinary user, the caller is somebody else.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>

#include "host/host_testing.h"
#include "host/resolver.h"

namespace cordon::host {
namespace {

using plan::PathFact;
using plan::PathState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStranger;
using testing::TempTree;

class Planted : public ::testing::Test {
 protected:
  Planted() {
    tree.dir("d");
    tree.file("d/file");
  }

  /// Gives a name to `mallory` where that needs doing.
  void give(std::string_view name) const {
    if (testing::is_root()) tree.own(name, mallory, mallory);
  }

  PathFact resolve_as(std::uint32_t caller, std::string_view name, std::string_view passwd = "",
                      std::string_view group = "") const {
    const MountTable mounts = MountTable::read();
    const AccountBook accounts = AccountBook::parse(passwd, group);
    Tree files({.uid = ::geteuid(), .overrides_modes = false, .dead_mounts = {}, .watch = nullptr}, mounts,
               std::make_shared<PinStore>());
    Resolver resolver(files, accounts, caller);
    return resolver.resolve(tree.path(name), Keep::kIfRoom);
  }

  TempTree tree;
  const std::uint32_t mallory = testing::is_root() ? kStranger : ::geteuid();
  const std::uint32_t victim = testing::is_root() ? 0 : ::geteuid() + 1;
};

TEST_F(Planted, LinksOfTheCallerAreItsOwn) {
  tree.link("l", "d/file");
  give("l");
  if (testing::is_root()) tree.own("", mallory, mallory);
  const PathFact fact = resolve_as(mallory, "l");
  EXPECT_EQ(fact.state, PathState::kPresent);
  EXPECT_THAT(fact.planted_by, IsEmpty());
  EXPECT_THAT(fact.planters, IsEmpty());
  EXPECT_FALSE(fact.hops.at(0).in_shared_directory);
}

TEST_F(Planted, ALinkOfAnotherUserIsHis) {
  tree.link("l", "d/file");
  give("l");
  const PathFact fact = resolve_as(victim, "l");
  EXPECT_EQ(fact.state, PathState::kPresent) << "the planner decides, not we";
  EXPECT_EQ(fact.hops.at(0).owner, mallory);
  EXPECT_THAT(fact.planters, ElementsAre(mallory));
  EXPECT_THAT(fact.planted_by, HasSubstr("belongs to uid " + std::to_string(mallory)));
  EXPECT_THAT(fact.planted_by, HasSubstr(tree.path("l")));
}

TEST_F(Planted, ALinkInAStickyDirectoryIsJudgedByItsOwner) {
  tree.dir("sticky", 01777);
  tree.link("sticky/own", "../d/file");
  const PathFact own = resolve_as(::geteuid(), "sticky/own");
  EXPECT_TRUE(own.hops.at(0).in_shared_directory);
  EXPECT_THAT(own.planted_by, IsEmpty()) << "nobody else can exchange it";
  give("sticky/own");
  EXPECT_THAT(resolve_as(victim, "sticky/own").planters, ::testing::Contains(mallory));
}

TEST_F(Planted, AnyLinkInADirectoryThatOthersWriteCanBeExchanged) {
  tree.dir("open", 0777);
  tree.link("open/own", "../d/file");
  const PathFact fact = resolve_as(::geteuid(), "open/own");
  EXPECT_TRUE(fact.hops.at(0).in_shared_directory);
  EXPECT_THAT(fact.planters, ElementsAre(plan::kAnybody));
  EXPECT_THAT(fact.planted_by, HasSubstr("others may write"));
}

TEST_F(Planted, TheOwnerOfADirectoryCanExchangeWhatIsInIt) {
  tree.dir("his", 01755);
  tree.link("his/l", "../d/file");
  give("his");
  const PathFact fact = resolve_as(victim, "his/l");
  EXPECT_THAT(fact.planters, ::testing::Contains(mallory));
}

TEST_F(Planted, AGroupOfOneLetsNobodyIn) {
  tree.dir("group");
  tree.link("group/l", "../d/file");
  tree.mode("group", 0775);
  const std::string gid = std::to_string(::getegid());
  const std::string uid = std::to_string(::geteuid());
  const std::string me = "me:x:" + uid + ":" + gid + "::/home/me:/bin/sh\n";
  const std::string other = "other:x:77777:77777::/:/bin/sh\n";
  EXPECT_THAT(resolve_as(::geteuid(), "group/l", me + other, "me:x:" + gid + ":\n").planters, IsEmpty());
  EXPECT_THAT(resolve_as(::geteuid(), "group/l", me + other, "me:x:" + gid + ":me\n").planters, IsEmpty());
  EXPECT_THAT(resolve_as(::geteuid(), "group/l", me + other, "me:x:" + gid + ":me,other\n").planters,
              ElementsAre(plan::kAnybody));
  EXPECT_THAT(resolve_as(::geteuid(), "group/l", me + other, "me:x:" + gid + ":ghost\n").planters,
              ElementsAre(plan::kAnybody))
      << "a member without account may be anybody";
  EXPECT_THAT(resolve_as(::geteuid(), "group/l", me + "b:x:77777:" + gid + "::/:/bin/sh\n", "").planters,
              ElementsAre(plan::kAnybody))
      << "a primary group needs no line in /etc/group";
  EXPECT_THAT(resolve_as(::geteuid(), "group/l").planters, ElementsAre(plan::kAnybody))
      << "a group that only a directory service knows";
}

TEST_F(Planted, AnAclBehindThePrivateGroupLetsOthersIn) {
  tree.dir("acl");
  tree.link("acl/l", "../d/file");
  // version 2; user::rwx user:77777:rwx group::r-x mask::rwx other::r-x
  struct [[gnu::packed]] Entry {
    std::uint16_t tag, perm;
    std::uint32_t id;
  };
  struct [[gnu::packed]] {
    std::uint32_t version = 2;
    Entry entries[5] = {
        {1, 7, 0xffffffff}, {2, 7, 77777}, {4, 5, 0xffffffff}, {16, 7, 0xffffffff}, {32, 5, 0xffffffff}};
  } acl;
  ASSERT_EQ(::setxattr(tree.path("acl").c_str(), "system.posix_acl_access", &acl, sizeof acl, 0), 0)
      << std::strerror(errno);
  const std::string ids = std::to_string(::geteuid()) + ":" + std::to_string(::getegid());
  const std::string me = "me:x:" + ids + "::/home/me:/bin/sh\n";
  EXPECT_THAT(resolve_as(::geteuid(), "acl/l", me).planters, ElementsAre(plan::kAnybody));
}

TEST_F(Planted, ForRootTheDirectoriesThatALinkLedThroughAreNamedWhereTheyKeepSomebodyOut) {
  tree.dir("shut", 0700);
  tree.dir("shut/in");
  tree.link("l", "shut/in");
  tree.link("open", "d/file");
  const PathFact fact = resolve_as(0, "l");
  ASSERT_EQ(fact.gates.size(), 1U);
  EXPECT_EQ(fact.gates[0].directory, tree.path("shut"));
  EXPECT_EQ(fact.gates[0].uid, ::geteuid());
  EXPECT_EQ(fact.gates[0].mode, 0700U);
  EXPECT_FALSE(fact.gates[0].has_acl);
  EXPECT_THAT(resolve_as(0, "l/new").gates, ::testing::SizeIs(1)) << "what is not there is looked up there too";
  EXPECT_THAT(resolve_as(0, "open").gates, IsEmpty()) << "everybody may go there";
  EXPECT_THAT(resolve_as(0, "shut/in").gates, IsEmpty()) << "no link: whoever named it means it";
  if (!testing::is_root()) {
    EXPECT_THAT(resolve_as(::geteuid(), "l").gates, IsEmpty()) << "the kernel has judged";
  }
}

TEST_F(Planted, WhatIsNotThereInASharedDirectoryCanBeMadeByOthers) {
  tree.dir("sticky", 01777);
  const PathFact shared = resolve_as(::geteuid(), "sticky/new/file");
  EXPECT_EQ(shared.state, PathState::kAbsent);
  EXPECT_THAT(shared.planters, ElementsAre(plan::kAnybody));
  EXPECT_THAT(shared.planted_by, HasSubstr(tree.path("sticky/new")));
  EXPECT_THAT(resolve_as(::geteuid(), "d/new").planted_by, IsEmpty());
  give("d");
  EXPECT_THAT(resolve_as(victim, "d/new").planters, ElementsAre(mallory));
}

TEST_F(Planted, APresentFileIsNobodysPlant) {
  tree.dir("sticky", 01777);
  tree.file("sticky/file");
  give("sticky/file");
  EXPECT_THAT(resolve_as(victim, "sticky/file").planters, IsEmpty()) << "its owner is in the fact";
}

TEST_F(Planted, EveryHopOfAChainCounts) {
  tree.link("first", "second");
  tree.link("second", "d/file");
  give("second");
  if (testing::is_root()) {
    EXPECT_THAT(resolve_as(victim, "first").planters, ElementsAre(mallory));
    EXPECT_THAT(resolve_as(victim, "first").planted_by, HasSubstr("/second"));
  } else {
    EXPECT_THAT(resolve_as(victim, "first").planters, ElementsAre(mallory));
  }
}

}  // namespace
}  // namespace cordon::host
