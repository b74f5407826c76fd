#include "host/fact_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "host/host_testing.h"

namespace cordon::host {
namespace {

using plan::Availability;
using plan::Feature;
using testing::TempTree;

CacheKey key() {
  return {.boot_id = "boot",
          .kernel = "6.1.0",
          .lsm = "landlock,bpf",
          .build = "abc",
          .confinement = "none",
          .uid = ::geteuid()};
}

CachedFacts facts() {
  CachedFacts out;
  out.features[0].state = Availability::kYes;
  out.features[static_cast<std::size_t>(Feature::kProcMount)] = {.state = Availability::kNo,
                                                                 .code = EPERM,
                                                                 .operation = "fsmount",
                                                                 .cause = "masked \"/proc\"\n",
                                                                 .mend = "do this"};
  return out;
}

class FactCacheTest : public ::testing::Test {
 protected:
  FactCacheTest() { tree.dir("cache", 0700); }
  [[nodiscard]] FactCache cache() const {
    return FactCache({.directory = tree.path("cache/cordon"), .build_id = "abc"}, key());
  }
  [[nodiscard]] std::string file() const {
    return tree.path("cache/cordon/facts-" + std::to_string(::geteuid()) + ".json");
  }
  void write(const std::string& text) const { std::ofstream(file()) << text; }
  [[nodiscard]] std::string text() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  TempTree tree;
};

TEST(FactText, ComesBackAsItWas) { EXPECT_EQ(decode_facts(encode_facts(key(), facts()), key()), facts()); }

TEST(FactText, BelongsToOneKey) {
  const std::string text = encode_facts(key(), facts());
  for (const auto& change : std::initializer_list<void (*)(CacheKey&)>{
           [](CacheKey& k) { k.boot_id = "other"; }, [](CacheKey& k) { k.kernel = "6.1.1"; },
           [](CacheKey& k) { k.lsm = "bpf"; }, [](CacheKey& k) { k.build = "abd"; },
           [](CacheKey& k) { k.confinement = "Seccomp:2"; }, [](CacheKey& k) { ++k.uid; }}) {
    CacheKey other = key();
    change(other);
    EXPECT_FALSE(decode_facts(text, other));
  }
}

TEST(FactText, IsBelievedOnlyWhereItIsExactlyOurs) {
  const std::string good = encode_facts(key(), facts());
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  ASSERT_TRUE(decode_facts(good, key()));
  const std::vector<std::string> bad = {
      "",
      "null",
      "[]",
      "{}",
      good.substr(0, good.size() / 2),
      good + "x",
      std::string(60'000, '['),
      with("\"yes\"", "\"maybe\""),
      with("\"yes\"", "true"),
      with("\"format\": 2", "\"format\": 1"),
      with("\"code\": 1", "\"code\": 99999"),
      with("\"user-namespace\"", "\"user-namespaces\""),
      with("\"features\"", "\"feature\""),
      with("\"format\"", "\"landlock_abi\": 1, \"format\""),
      with("\"operation\"", "\"operation\": \"x\", \"extra\""),
  };
  for (const std::string& text : bad) EXPECT_FALSE(decode_facts(text, key())) << text.substr(0, 200);
}

TEST_F(FactCacheTest, RemembersLoadsAndDrops) {
  EXPECT_FALSE(cache().load());
  cache().remember(facts());
  EXPECT_EQ(cache().load(), facts());
  struct ::stat about{};
  ASSERT_EQ(::stat(file().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600U);
  ASSERT_EQ(::stat(tree.path("cache/cordon").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700U);
  CachedFacts more;
  more.features[3].state = Availability::kYes;
  cache().remember(more);
  EXPECT_EQ(cache().load()->features[3].state, Availability::kYes);
  EXPECT_EQ(cache().load()->features[0].state, Availability::kYes) << "what is unknown now is left as it stands";
  cache().drop(static_cast<Feature>(0));
  EXPECT_EQ(cache().load()->features[0].state, Availability::kUnknown);
}

TEST_F(FactCacheTest, LeavesNothingElseBehind) {
  tree.dir("cache/cordon", 0700);
  tree.file("cache/cordon/.facts-" + std::to_string(::geteuid()) + ".json.new", "half", 0600);
  cache().remember(facts());
  EXPECT_EQ(cache().load(), facts()) << "a writer that was killed does not stop the next";
  EXPECT_EQ(::unlink(file().c_str()), 0);
  EXPECT_EQ(::rmdir(tree.path("cache/cordon").c_str()), 0) << "something is left";
}

TEST_F(FactCacheTest, MakesTheCacheDirectoryButNotItsParents) {
  FactCache missing({.directory = tree.path("new/cordon"), .build_id = "abc"}, key());
  missing.remember(facts());
  EXPECT_TRUE(missing.load());
  FactCache deeper({.directory = tree.path("no/such/cordon"), .build_id = "abc"}, key());
  deeper.remember(facts());
  EXPECT_FALSE(deeper.load());
  EXPECT_EQ(::access(tree.path("no").c_str(), F_OK), -1);
}

TEST_F(FactCacheTest, DoesWithoutADirectoryOrABoot) {
  FactCache nowhere({.directory = "", .build_id = ""}, key());
  nowhere.remember(facts());
  nowhere.drop(Feature::kLandlock);
  EXPECT_FALSE(nowhere.load());
  CacheKey bootless = key();
  bootless.boot_id.clear();
  FactCache unkeyed({.directory = tree.path("cache/cordon"), .build_id = "abc"}, bootless);
  unkeyed.remember(facts());
  EXPECT_EQ(::access(tree.path("cache/cordon").c_str(), F_OK), -1) << "facts of an unknown boot are worth nothing";
}

TEST_F(FactCacheTest, IgnoresAFileThatOthersMayHaveWritten) {
  cache().remember(facts());
  ASSERT_TRUE(cache().load());
  for (const unsigned bits : {0660U, 0606U, 0644U, 0400U, 04600U}) {
    ASSERT_EQ(::chmod(file().c_str(), bits), 0);
    EXPECT_FALSE(cache().load()) << bits;
  }
  ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
  ASSERT_TRUE(cache().load());
  for (const unsigned bits : {0770U, 0707U, 0755U, 01777U}) {
    tree.mode("cache/cordon", bits);
    EXPECT_FALSE(cache().load()) << bits;
  }
}

TEST_F(FactCacheTest, FollowsNoLink) {
  cache().remember(facts());
  const std::string good = text();
  const std::string elsewhere = tree.file("elsewhere", good, 0600);
  ASSERT_EQ(::unlink(file().c_str()), 0);
  ASSERT_EQ(::symlink(elsewhere.c_str(), file().c_str()), 0);
  EXPECT_FALSE(cache().load());
  cache().remember(facts());
  EXPECT_TRUE(cache().load()) << "the link is replaced and not followed";
  std::ifstream in(elsewhere);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), good);
  ASSERT_EQ(::rename(tree.path("cache/cordon").c_str(), tree.path("cache/real").c_str()), 0);
  tree.link("cache/cordon", "real");
  EXPECT_FALSE(cache().load());
}

TEST_F(FactCacheTest, IgnoresAHardLinkOfAnotherFile) {
  cache().remember(facts());
  ASSERT_EQ(::link(file().c_str(), tree.path("second").c_str()), 0);
  EXPECT_FALSE(cache().load());
}

TEST_F(FactCacheTest, IgnoresWhatIsNoSmallFile) {
  cache().remember(facts());
  const std::string good = text();
  write(good + std::string(70'000, ' '));
  ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
  EXPECT_FALSE(cache().load()) << "too large";
  write("garbage");
  EXPECT_FALSE(cache().load());
  ASSERT_EQ(::unlink(file().c_str()), 0);
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_FALSE(cache().load()) << "and does not wait for a writer";
  ASSERT_EQ(::unlink(file().c_str()), 0);
  ASSERT_EQ(::mkdir(file().c_str(), 0700), 0);
  EXPECT_FALSE(cache().load());
  cache().remember(facts());
  EXPECT_FALSE(cache().load());
}

TEST_F(FactCacheTest, BelievesNobodyElsesFile) {
  cache().remember(facts());
  // As root, the file and its directory are given away; else the key's user is another.
  if (testing::is_root()) {
    const std::string name = file().substr(tree.path().size() + 1);
    tree.own(name, testing::kStranger, testing::kStranger);
    EXPECT_FALSE(cache().load());
    tree.own(name, 0, 0);
    ASSERT_TRUE(cache().load());
    tree.own("cache/cordon", testing::kStranger, testing::kStranger);
    EXPECT_FALSE(cache().load());
  }
  CacheKey other = key();
  other.uid = ::geteuid() + 1;
  const std::string theirs = tree.path("cache/cordon/facts-" + std::to_string(other.uid) + ".json");
  std::ofstream(theirs) << encode_facts(other, facts());
  ASSERT_EQ(::chmod(theirs.c_str(), 0600), 0);
  FactCache foreign({.directory = tree.path("cache/cordon"), .build_id = "abc"}, other);
  EXPECT_FALSE(foreign.load());
}

TEST_F(FactCacheTest, LeavesNothingInAnotherUsersCache) {
  // sudo with the user's HOME: the parent belongs to that user.
  CacheKey other = key();
  other.uid = ::geteuid() + 1;
  FactCache foreign({.directory = tree.path("cache/cordon"), .build_id = "abc"}, other);
  foreign.remember(facts());
  EXPECT_EQ(::access(tree.path("cache/cordon").c_str(), F_OK), -1);
}

TEST_F(FactCacheTest, MakesNothingInAnotherUsersHomeNorWhereThatUsersLinksLead) {
  // As root, the home is a stranger's; else the key's user is another than the home's.
  CacheKey mine = key();
  tree.dir("home");
  tree.dir("target");
  if (testing::is_root()) {
    tree.own("home", testing::kStranger, testing::kStranger);
  } else {
    ++mine.uid;
  }
  const FactCache cache({.directory = tree.path("home/.cache/cordon"), .build_id = "abc"}, mine);
  cache.remember(facts());
  EXPECT_EQ(::access(tree.path("home/.cache").c_str(), F_OK), -1);
  tree.link("home/.cache", "../target");
  cache.remember(facts());
  EXPECT_EQ(::access(tree.path("target/cordon").c_str(), F_OK), -1);
  // The same in a home of one's own.
  const FactCache own({.directory = tree.path("cache/deeper/cordon"), .build_id = "abc"}, key());
  own.remember(facts());
  EXPECT_TRUE(own.load());
}

TEST_F(FactCacheTest, LivesWithAReadOnlyHome) {
  testing::as_each_user([] {
    const TempTree own;
    own.dir("home", 0500);
    FactCache frozen({.directory = own.path("home/.cache/cordon"), .build_id = "abc"}, key());
    frozen.remember(facts());
    EXPECT_EQ(frozen.load().has_value(), testing::is_root());
  });
}

TEST(CacheLocation, FollowsTheXdgSpecification) {
  using testing::caller;
  EXPECT_EQ(cache_location(caller({{"HOME", "/home/me"}}), "b").directory, "/home/me/.cache/cordon");
  EXPECT_EQ(cache_location(caller({{"HOME", "/home/me"}, {"XDG_CACHE_HOME", "/c"}}), "b").directory, "/c/cordon");
  EXPECT_EQ(cache_location(caller({{"HOME", "/home/me"}, {"XDG_CACHE_HOME", "c"}}), "b").directory,
            "/home/me/.cache/cordon");
  EXPECT_EQ(cache_location(caller({{"HOME", "relative"}}), "b").directory, "");
  EXPECT_EQ(cache_location(caller(), "b").build_id, "b");
}

}  // namespace
}  // namespace cordon::host
