#include "host/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "host/host_testing.h"

namespace cordon::host {
namespace {

using plan::PathFact;
using plan::PathState;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TempTree;

struct Fresh {
  Fresh()
      : tree({.uid = ::geteuid(), .overrides_modes = false, .dead_mounts = {}, .watch = nullptr}, mounts, pins),
        resolver(tree, accounts, ::geteuid()) {}
  std::vector<std::string> names(const std::string& directory, const std::vector<std::string>& asked) {
    return relative(resolve_names(tree, resolver, directory, list_of(asked)), directory);
  }
  std::vector<std::string> links(const std::string& directory) {
    return relative(find_links(tree, resolver, directory), directory);
  }
  static plan::NameList list_of(const std::vector<std::string>& names) {
    plan::NameList out;
    for (const std::string& name : names) out.add(name);
    return out;
  }
  static std::vector<std::string> relative(const std::vector<PathFact>& facts, const std::string& directory) {
    std::vector<std::string> out;
    for (const PathFact& fact : facts) out.push_back(fact.asked.substr(directory.size() + 1));
    std::ranges::sort(out);
    return out;
  }

  MountTable mounts = MountTable::read();
  AccountBook accounts = AccountBook::parse("", "");
  std::shared_ptr<PinStore> pins = std::make_shared<PinStore>();
  Tree tree;
  Resolver resolver;
};

const std::vector<std::string> kAsked = {".aws", ".config/gh", ".config/none", ".gone/a", ".netrc", ".ssh", "a",
                                         "b",    "c"};

TEST(Names, OfManyOnlyThoseThatStandThereAreTold) {
  const TempTree home;
  static_cast<void>(home.dir(".ssh"));
  static_cast<void>(home.dir(".config"));
  static_cast<void>(home.dir(".config/gh"));
  static_cast<void>(home.file(".netrc"));
  EXPECT_THAT(Fresh().names(home.path(), kAsked), ElementsAre(".config/gh", ".netrc", ".ssh"));
}

TEST(Names, AFewAreAskedForOneByOneWithTheSameAnswer) {
  const TempTree home;
  static_cast<void>(home.dir(".ssh"));
  EXPECT_THAT(Fresh().names(home.path(), {".aws", ".ssh"}), ElementsAre(".ssh"));
}

TEST(Names, WhatIsReachedOverALinkIsToldEvenWhereItDangles) {
  const TempTree home;
  static_cast<void>(home.link(".ssh", "nowhere"));
  static_cast<void>(home.dir("elsewhere"));
  static_cast<void>(home.dir("elsewhere/gh"));
  static_cast<void>(home.link(".config", "elsewhere"));
  Fresh fresh;
  EXPECT_THAT(fresh.names(home.path(), kAsked), ElementsAre(".config/gh", ".config/none", ".ssh"));
  EXPECT_EQ(fresh.resolver.resolve(home.path(".config/gh"), Keep::kIfRoom).real, home.path("elsewhere/gh"));
}

TEST(Names, ADirectoryThatIsNotThereHoldsNone) {
  const TempTree home;
  EXPECT_THAT(Fresh().names(home.path("none"), kAsked), IsEmpty());
}

TEST(Names, AnAbsentParentIsNeverAskedAgain) {
  const TempTree home;
  Fresh fresh;
  EXPECT_THAT(fresh.names(home.path(), kAsked), IsEmpty());
  static_cast<void>(home.dir(".ssh"));
  EXPECT_EQ(fresh.resolver.resolve(home.path(".ssh"), Keep::kIfRoom).state, PathState::kAbsent)
      << "one answer for one run";
}

TEST(Links, AreFoundAtAnyDepthAndNotInsideARepository) {
  const TempTree store;
  static_cast<void>(store.dir("a"));
  static_cast<void>(store.dir("a/b"));
  static_cast<void>(store.dir(".git"));
  static_cast<void>(store.link("top", "a"));
  static_cast<void>(store.link("a/b/deep", "/etc"));
  static_cast<void>(store.link(".git/not", "/etc"));
  static_cast<void>(store.file("plain"));
  EXPECT_THAT(Fresh().links(store.path()), ElementsAre("a/b/deep", "top"));
}

TEST(Links, OnlySoManyLevelsDownWhereThatIsAsked) {
  const TempTree store;
  static_cast<void>(store.dir("a"));
  static_cast<void>(store.dir("a/b"));
  static_cast<void>(store.link("top", "a"));
  static_cast<void>(store.link("a/near", "/etc"));
  static_cast<void>(store.link("a/b/deep", "/etc"));
  Fresh fresh;
  EXPECT_EQ(find_links(fresh.tree, fresh.resolver, store.path(), 1).size(), 1U);
  EXPECT_EQ(find_links(fresh.tree, fresh.resolver, store.path(), 2).size(), 2U);
  EXPECT_EQ(find_links(fresh.tree, fresh.resolver, store.path(), 3).size(), 3U);
}

TEST(Links, AWalkThatHadToEndSaysWhere) {
  const TempTree store;
  std::string path;
  for (std::size_t i = 0; i <= kDeepestWalk; ++i) {
    path += path.empty() ? "d" : "/d";
    static_cast<void>(store.dir(path));
  }
  Fresh fresh;
  const auto links = find_links(fresh.tree, fresh.resolver, store.path());
  ASSERT_FALSE(links.empty());
  EXPECT_EQ(links.back().state, PathState::kFailed);
}

}  // namespace
}  // namespace cordon::host
