// How much is promoted, how often, and what into a cache.
#include <gtest/gtest.h>
#include <unistd.h>

#include "enforce/promote/desk_test.h"

namespace cordon::enforce::promote {
namespace {

using testing::as;
using testing::As;
using testing::Desk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::words;

class Promotions : public testing::Everybody {};
INSTANTIATE_TEST_SUITE_P(Everybody, Promotions, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

TEST_P(Promotions, PromotesNothingBeyondItsBounds) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    desk.made("up/target");
    desk.file("up/target/a", "12345");
    desk.file("up/target/b/c/d", "12345");
    const std::string before = desk.listing("up");
    for (const auto& narrow : {Bounds{.entries = 3}, Bounds{.levels = 3}, Bounds{.path = 11}, Bounds{.bytes = 9}}) {
      Task task = desk.task();
      task.bounds = narrow;
      const Outcome outcome = desk.promote(std::move(task));
      EXPECT_TRUE(outcome.over_bound);
      ASSERT_EQ(outcome.refused.entries.size(), 1U);
      EXPECT_EQ(outcome.refused.entries[0].reason, Reason::kOverBound);
      EXPECT_EQ(desk.listing("ws"), "");
    }
    Task wide = desk.task();
    wide.bounds = {.entries = 5, .levels = 4, .path = 12, .bytes = 10};
    EXPECT_TRUE(desk.promote(std::move(wide)).is_all());
    EXPECT_TRUE(desk.exists("ws/target/b/c/d"));
  });
}

TEST_P(Promotions, BoundsItsListsAndCountsOn) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    for (int i = 0; i < 20; ++i) desk.file("up/other" + std::to_string(i));
    Task task = desk.task();
    task.bounds.listed = 5;
    const Outcome outcome = desk.promote(std::move(task));
    EXPECT_EQ(outcome.kept.entries.size(), 5U);
    EXPECT_EQ(outcome.kept.total, 20U);
  });
}

TEST_P(Promotions, WorksRunAfterRun) {
  as(GetParam(), [] {
    Desk desk;
    for (const char* content : {"first", "second", "third"}) {
      desk.begin();
      desk.made("up/target");
      desk.file("up/target/a/file", content);
      EXPECT_TRUE(desk.promote().is_all());
      EXPECT_EQ(desk.read("ws/target/a/file"), content);
    }
  });
}

TEST_P(Promotions, DeletesNoRepositoryInAnOutputThatIsReplaced) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/node_modules/linked/.git/config");
    desk.file("ws/target/bare/HEAD");
    desk.file("ws/target/bare/objects/x");
    desk.file("ws/target/bare/refs/x");
    desk.begin();
    desk.made("up/node_modules");
    desk.file("up/node_modules/new");
    desk.whiteout("up/target");
    EXPECT_THAT(words(desk.promote().refused),
                ElementsAre("node_modules: protected-at-place", "target: protected-at-place"));
    EXPECT_TRUE(desk.exists("ws/node_modules/linked/.git/config"));
    EXPECT_TRUE(desk.exists("ws/target/bare/HEAD"));
  });
}

TEST_P(Promotions, NewEntriesReplaceNothingAndComeWholeOrNotAtAll) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/content/aa/1", "host");
    desk.begin();
    desk.file("up/content/aa/1", "poisoned");
    desk.file("up/content/aa/2", "new");
    desk.made("up/content/bb");
    desk.file("up/content/bb/3", "new");
    desk.made("up/content/cc");
    desk.file("up/content/cc/4", "new");
    desk.link("up/content/cc/bad", "/etc/passwd");
    desk.whiteout("up/content/gone");
    Task task = desk.task();
    const auto outcome = promote_new_entries(task);
    ASSERT_TRUE(outcome) << base::to_string(outcome.error());
    EXPECT_THAT(words(outcome->promoted), ElementsAre("content/aa/2: promoted", "content/bb: promoted"));
    EXPECT_THAT(words(outcome->kept), ElementsAre("content/aa/1: exists", "content/cc: holds-refused"));
    EXPECT_EQ(desk.read("ws/content/aa/1"), "host");
    EXPECT_FALSE(desk.exists("ws/content/cc"));
  });
}

TEST(ForeignOwner, IsRefusedWhereRootCanMakeOne) {
  Desk desk;
  desk.begin();
  desk.made("up/target");
  desk.file("up/target/good");
  desk.file("up/target/theirs");
  Task task = desk.task();
  if (geteuid() == 0) {
    ASSERT_EQ(::chown(desk.at("up/target/theirs").c_str(), 4'711, 4'711), 0);
  } else {
    task.uid = 4'711;  // and then everything is somebody else's
  }
  EXPECT_THAT(words(desk.promote(std::move(task)).refused), ::testing::Contains(HasSubstr("foreign-owner")));
  EXPECT_FALSE(desk.exists("ws/target/theirs"));
}

}  // namespace
}  // namespace cordon::enforce::promote
