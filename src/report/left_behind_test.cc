#include "report/left_behind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::report {
namespace {

using plan::FileChange;
using plan::LeftBehind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LeftBehindWords, SayTheFileWhatBecameOfItAndWhoWillRunIt) {
  LeftBehind left;
  left.changed = {{"/w/package.json", FileChange::kChanged},
                  {"/w/.husky/pre-commit", FileChange::kMade},
                  {"/w/hooks/post-merge", FileChange::kMade, true},
                  {.path = "/w/tools/clean", .change = FileChange::kChanged, .is_git_program = true},
                  {"/w/setup.py", FileChange::kRemoved}};
  left.redirected_hooks = {"/w/evil"};
  left.unresolved_hooks = {"/w"};
  left.repositories = {"/w/sub"};
  EXPECT_THAT(left_behind_sentences(left),
              ElementsAre("git now takes hooks from /w/evil and will run them",
                          "/w/sub became a git repository: git will run its hooks and settings",
                          "/w/package.json was changed: npm will run its scripts",
                          "/w/.husky/pre-commit is new: git will run it", "/w/hooks/post-merge is new: git will run it",
                          "/w/tools/clean was changed: git's configuration names it, and git may run it",
                          "/w/setup.py was removed", HasSubstr("/w: it could not be told where git takes hooks from")));
}

TEST(LeftBehindWords, AreNoneWhereNothingWasLeft) { EXPECT_THAT(left_behind_sentences({}), IsEmpty()); }

TEST(LeftBehindWords, AreCountedAndHostileNamesAreEscaped) {
  LeftBehind left;
  for (int i = 0; i < 20; ++i) left.changed.push_back({"/w/\x1b[2J/package.json", FileChange::kMade});
  const auto sentences = left_behind_sentences(left);
  ASSERT_EQ(sentences.size(), 9U);
  EXPECT_EQ(sentences.back(), "and 12 more");
  EXPECT_THAT(sentences.front(), HasSubstr("\\x1b"));
}

TEST(LeftBehindWords, SayThatNotAllWasLookedAt) {
  LeftBehind left;
  left.partial = true;
  EXPECT_THAT(left_behind_sentences(left), ElementsAre(HasSubstr("more is there than was looked at")));
}

TEST(LeftBehindWords, AnUnknownNameIsNotGuessedAt) {
  EXPECT_EQ(runner_of({"/w/mypackage.json", FileChange::kMade}), "a tool may run it without asking");
}

}  // namespace
}  // namespace cordon::report
