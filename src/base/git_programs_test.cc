#include "base/git_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::base {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> texts(std::string_view value) {
  std::vector<std::string> out;
  for (const GitProgramWord& word : words_of_git_program(value)) out.push_back(word.text);
  return out;
}

TEST(GitPrograms, ACommandThatIsSearchedInPathIsNoFileOfTheCheckout) {
  EXPECT_THAT(texts("git-lfs"), IsEmpty());
  EXPECT_THAT(texts("true"), IsEmpty());
  EXPECT_THAT(texts("less -R %f"), IsEmpty());
}

TEST(GitPrograms, WhatIsStartedAndWhatAnInterpreterReadsAreFiles) {
  EXPECT_THAT(texts("./tools/clean %f"), ElementsAre("./tools/clean"));
  EXPECT_THAT(texts("python3 filter.py"), ElementsAre("filter.py"));
  EXPECT_THAT(texts("!sudo -u x /opt/y; a/b"), ElementsAre("x", "/opt/y", "a/b"));
  EXPECT_THAT(texts("A=b/c tool --config=d/e"), ElementsAre("b/c", "tool", "d/e"));
}

TEST(GitPrograms, QuotesHideNoWord) {
  EXPECT_THAT(texts("sh -c './x y'"), ElementsAre("./x y", "./x", "y"));
  EXPECT_THAT(texts("\"dir/with blank\" \"b c\""), ElementsAre("dir/with blank", "dir/with", "blank", "b c", "b", "c"));
  EXPECT_THAT(texts("a\\ b/c"), ElementsAre("a b/c"));
}

TEST(GitPrograms, WhatStandsBehindAnExpansionIsSaidToDoSo) {
  EXPECT_THAT(words_of_git_program("\"$(git rev-parse --show-toplevel)/x\""),
              Contains(GitProgramWord{.text = "/x", .starts = true, .after_expansion = true}));
  EXPECT_THAT(words_of_git_program("$PWD/x"),
              ElementsAre(GitProgramWord{.text = "/x", .starts = true, .after_expansion = true}));
  EXPECT_THAT(texts("$HOME/p/x"), ElementsAre("~/p/x"));
  EXPECT_THAT(texts("\"${HOME}/p/x"), ElementsAre("~/p/x"));
}

TEST(GitPrograms, TheFirstPathOfEachCommandIsWhatStarts) {
  EXPECT_THAT(words_of_git_program("python3 a/b c/d | e/f"),
              ElementsAre(GitProgramWord{.text = "a/b", .starts = true}, GitProgramWord{.text = "c/d"},
                          GitProgramWord{.text = "e/f", .starts = true}));
}

TEST(GitPrograms, ACommandThatIsMoreThanItsWordsIsToldFromOneThatIsNot) {
  for (const char* plain :
       {"./tools/clean %f", "less -R", "git-lfs smudge -- %f", "sh -c './x y'", "diff-so-fancy | less -F",
        "!f() { test \"$1\" = get && echo x; }; f", "[ -x a/b ]", "$HOME/p/x", "${HOME}/p/x", "A=b/c tool"})
    EXPECT_TRUE(is_read_as_words(plain)) << plain;
  for (const char* odd : {"cd tools && ./a", "\"tools/[b]\" %f", "tools/*.sh", "t?ols/x", "make -s -C tools x",
                          "${NOPE:-tools/c}", "A=tools; $A/d", "A=tools sh -c '${A}/d'", "sh -c 'cd tools; exec ./g'",
                          "env --chdir=tools ./a", "eval x", ". tools/env"})
    EXPECT_FALSE(is_read_as_words(odd)) << odd;
  for (const char* broken : {"", "${", "$", "[", "]", "=", "${}", "'"}) static_cast<void>(is_read_as_words(broken));
}

TEST(GitPrograms, AnyTextIsReadWithinItsBound) {
  EXPECT_THAT(texts(std::string(100'000, 'a')), IsEmpty());
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += "a/b ";
  EXPECT_EQ(texts(many).size(), kMostGitProgramWords);
  for (const char* odd : {"$", "${", "\"", "\\", "'", "!", "${x", "$(", "\"'"})
    EXPECT_THAT(texts(odd), IsEmpty()) << odd;
}

TEST(GitPrograms, AnAliasCountsIfAShellRunsIt) {
  EXPECT_TRUE(names_git_program("alias", "st", "!./x"));
  EXPECT_FALSE(names_git_program("alias", "st", "status -sb"));
  EXPECT_TRUE(names_git_program("core", "fsmonitor", "x"));
  EXPECT_FALSE(names_git_program("core", "bare", "x"));
  EXPECT_TRUE(git_starts_unasked("filter.x.clean"));
  EXPECT_FALSE(git_starts_unasked("alias.st"));
}

}  // namespace
}  // namespace cordon::base
