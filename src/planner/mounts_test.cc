#include "planner/mounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Want want(std::string path, Access access, Why why) {
  return {.path = std::move(path),
          .id = {},
          .directory = true,
          .access = access,
          .why = why,
          .create = {},
          .reason = {},
          .at = {}};
}
Want base(std::string path) { return want(std::move(path), Access::kReadOnly, Why::kBase); }
Want read(std::string path) { return want(std::move(path), Access::kReadOnly, Why::kRead); }
Want write(std::string path) { return want(std::move(path), Access::kWritable, Why::kWrite); }
Want deny(std::string path) { return want(std::move(path), Access::kHidden, Why::kDeny); }
Want program(std::string path) { return want(std::move(path), Access::kReadOnly, Why::kProgram); }
Want prefix(std::string path) { return want(std::move(path), Access::kReadOnly, Why::kPrefix); }
Want guard(std::string path) { return want(std::move(path), Access::kReadOnly, Why::kGuard); }

/// "ro /a", "rw /b", "mask /c", "pin /d", with "+" where the mount point is made.
std::vector<std::string> told(std::vector<Want> wants, bool writes_execute = false,
                              const std::vector<Link>& links = {}) {
  std::vector<std::string> out;
  const Arranged arranged = arrange(wants, links, writes_execute);
  for (const Mount& mount : arranged.mounts) {
    std::string line = mount.act == MountAct::kPin               ? "pin"
                       : mount.act == MountAct::kMask            ? "mask"
                       : mount.want->access == Access::kWritable ? "rw"
                                                                 : "ro";
    out.push_back(line + (mount.needs_point ? "+ " : " ") + mount.path);
  }
  for (const Link& link : arranged.links) out.push_back("link " + link.at);
  return out;
}

TEST(Arrange, BaseFirstThenParentsBeforeChildren) {
  EXPECT_THAT(told({read("/z"), write("/a/b"), read("/a"), base("/usr")}),
              ElementsAre("ro+ /usr", "ro+ /a", "rw /a/b", "ro+ /z"));
}

TEST(Arrange, AWantInsideAnotherOfTheSameKindNeedsNoMount) {
  EXPECT_THAT(told({read("/a"), read("/a/b"), read("/a/b/c"), write("/w"), write("/w/x")}),
              ElementsAre("ro+ /a", "rw+ /w"));
  EXPECT_THAT(told({read("/usr/share"), base("/usr")}), ElementsAre("ro+ /usr"));
}

TEST(Arrange, TheBaseGivesWayToAGrantThatCoversIt) {
  EXPECT_THAT(told({base("/etc/ssl/certs"), base("/usr"), read("/etc")}), ElementsAre("ro+ /usr", "ro+ /etc"));
}

TEST(Arrange, OfTwoWantsForOnePathTheStrongerDecides) {
  EXPECT_THAT(told({read("/a"), write("/a")}), ElementsAre("rw+ /a"));
  EXPECT_THAT(told({write("/w"), write("/w/a"), read("/w/a")}), ElementsAre("rw+ /w"))
      << "the covered write grant decides";
  EXPECT_THAT(told({write("/a/run"), program("/a/run")}), ElementsAre("ro+ /a/run"));
}

TEST(Arrange, WhatIsReadOnlyBelowAWriteGrantPinsItsChain) {
  EXPECT_THAT(told({write("/w"), read("/w/a/b/c")}), ElementsAre("rw+ /w", "pin /w/a", "pin /w/a/b", "ro /w/a/b/c"));
  EXPECT_THAT(told({write("/w"), read("/w/c")}), ElementsAre("rw+ /w", "ro /w/c"));
}

TEST(Arrange, AChainIsPinnedOnceAndBeforeAnythingBelowIt) {
  EXPECT_THAT(told({write("/w"), deny("/w/a/b/one"), deny("/w/a/b/two"), read("/w/a/x")}),
              ElementsAre("rw+ /w", "pin /w/a", "pin /w/a/b", "mask /w/a/b/one", "mask /w/a/b/two", "ro /w/a/x"));
}

TEST(Arrange, NoPinsBelowWhatIsReadOnly) {
  EXPECT_THAT(told({read("/r"), deny("/r/a/b")}), ElementsAre("ro+ /r", "mask /r/a/b"));
  EXPECT_THAT(told({write("/w"), read("/w/a/r"), deny("/w/a/r/x/y")}),
              ElementsAre("rw+ /w", "pin /w/a", "ro /w/a/r", "mask /w/a/r/x/y"));
  EXPECT_THAT(told({read("/r"), write("/r/w"), deny("/r/w/a/b")}),
              ElementsAre("ro+ /r", "rw /r/w", "pin /r/w/a", "mask /r/w/a/b"));
}

TEST(Arrange, NothingIsMountedForWhatNothingShows) {
  EXPECT_THAT(told({deny("/secret"), base("/secret/lib")}), IsEmpty());
}

TEST(Arrange, AGuardStandsOnlyBelowAWriteGrant) {
  EXPECT_THAT(told({guard("/a/m"), read("/b"), guard("/b/m"), write("/c"), guard("/c/m")}),
              ElementsAre("ro+ /b", "rw+ /c", "ro /c/m"));
  EXPECT_THAT(told({guard("/usr"), base("/usr")}), ElementsAre("ro+ /usr"));
}

TEST(Arrange, APrefixIsHeldWhereAWriteGrantMayNotExecute) {
  EXPECT_THAT(told({write("/w"), prefix("/w/venv")}, false), ElementsAre("rw+ /w", "ro /w/venv"));
  EXPECT_THAT(told({write("/w"), prefix("/w/venv")}, true), ElementsAre("rw+ /w"));
}

TEST(Arrange, ADirectoryToBeMadeIsMountedEvenBelowAWriteGrant) {
  Want made = write("/w/out");
  made.create = {"out"};
  EXPECT_THAT(told({write("/w"), made}), ElementsAre("rw+ /w", "rw /w/out"));
}

TEST(Arrange, SiblingsWhoseNamesSortBetweenDoNotSplitADirectory) {
  EXPECT_THAT(told({read("/a"), read("/a/b"), read("/a-b"), read("/a.c")}),
              ElementsAre("ro+ /a", "ro+ /a-b", "ro+ /a.c"));
}

TEST(Arrange, LinksAreMadeWhereNothingShowsThem) {
  const std::vector<Link> links = {{.at = "/home/me", .text = "/data/me", .reason = {}, .span = {}},
                                   {.at = "/data/me/l", .text = "x", .reason = {}, .span = {}},
                                   {.at = "/home/me", .text = "/data/me", .reason = {}, .span = {}}};
  EXPECT_THAT(told({read("/data/me")}, false, links), ElementsAre("ro+ /data/me", "link /home/me"));
}

TEST(PathText, ComparesByComponents) {
  EXPECT_TRUE(within("/a/b", "/a"));
  EXPECT_TRUE(within("/a", "/a"));
  EXPECT_TRUE(within("/a", "/"));
  EXPECT_FALSE(within("/ab", "/a"));
  EXPECT_FALSE(within("/a", "/a/b"));
  EXPECT_TRUE(path_before("/a", "/a/b"));
  EXPECT_TRUE(path_before("/a/b", "/a-b"));
  EXPECT_FALSE(path_before("/a-b", "/a/b"));
  EXPECT_FALSE(path_before("/a", "/a"));
  EXPECT_THAT(between("/a", "/a/b/c/d"), ElementsAre("/a/b", "/a/b/c"));
  EXPECT_THAT(between("/a", "/a/b"), IsEmpty());
  EXPECT_THAT(between("/", "/a/b"), ElementsAre("/a"));
  EXPECT_EQ(parent_of("/a"), "/");
  EXPECT_EQ(parent_of("/"), "/");
  EXPECT_EQ(name_of("/a/b"), "b");
  EXPECT_EQ(depth_of("/"), 0U);
  EXPECT_EQ(depth_of("/a/b"), 2U);
}

}  // namespace
}  // namespace cordon::planner
