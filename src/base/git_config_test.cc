#include "base/git_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::base {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Setting = GitConfig::Setting;

std::vector<std::string> hooks(std::string_view text) {
  std::vector<std::string> out;
  const auto config = parse_git_config(text);
  if (!config.well_formed) return {"(unreadable)"};
  for (const auto& line : config.lines) {
    if (line.setting == Setting::kHooksPath) out.push_back(line.value);
  }
  return out;
}

TEST(GitConfig, FindsTheHooksPathHoweverItIsWritten) {
  EXPECT_THAT(hooks("[core]\n\thooksPath = .githooks\n"), ElementsAre(".githooks"));
  EXPECT_THAT(hooks("[CORE]\nHOOKSPATH=a\n"), ElementsAre("a"));
  EXPECT_THAT(hooks("[core] hookspath = \"a b\" ; comment\n"), ElementsAre("a b"));
  EXPECT_THAT(hooks("[core]\nhookspath = a\\\nb\n"), ElementsAre("ab"));
  EXPECT_THAT(hooks("[core]\nhookspath = a # not \"this\n"), ElementsAre("a"));
  EXPECT_THAT(hooks("[core]\r\nhookspath = a\r\n"), ElementsAre("a"));
  EXPECT_THAT(hooks("\xef\xbb\xbf[core]\nhookspath = a"), ElementsAre("a"));
  EXPECT_THAT(hooks("[core]\nbare\n[x \"y\\\"]\"]\nhookspath = z\n[core]\nhookspath=a\nhookspath=b\n"),
              ElementsAre("a", "b"));
}

TEST(GitConfig, AnotherSectionsKeyIsAnother) {
  EXPECT_THAT(hooks("[core \"x\"]\nhookspath = a\n"), IsEmpty());
  EXPECT_THAT(hooks("[corex]\nhookspath = a\n# [core]\n"), IsEmpty());
}

TEST(GitConfig, IncludesAreToldApart) {
  const auto config = parse_git_config("[include]\npath = a\n[includeIf \"gitdir:~/w/\"]\npath = b\n");
  EXPECT_THAT(config.lines,
              ElementsAre(GitConfig::Line{Setting::kInclude, "a"}, GitConfig::Line{Setting::kConditionalInclude, "b"}));
}

TEST(GitConfig, TheCheckoutOfASubmoduleIsTold) {
  EXPECT_THAT(parse_git_config("[core]\n\tbare = false\n\tworktree = ../../../sub\n").lines,
              ElementsAre(GitConfig::Line{Setting::kWorktree, "../../../sub"}));
}

TEST(GitConfig, ASubmoduleHasItsNameAndItsPath) {
  EXPECT_THAT(parse_git_config("[submodule \"A \\\"b\\c\"]\npath = lib/a\n[submodule.OLD]\npath = o\n").lines,
              ElementsAre(GitConfig::Line{Setting::kSubmodule, "lib/a", "A \"bc"},
                          GitConfig::Line{Setting::kSubmodule, "o", "old"}));
}

TEST(GitConfig, WhatGitWouldNotReadIsReadAroundIt) {
  const GitConfig config = parse_git_config("safe\n[core]\nx y\nhookspath = \"a\nhookspath = b\n");
  EXPECT_FALSE(config.well_formed);
  EXPECT_THAT(config.lines, ElementsAre(GitConfig::Line{Setting::kHooksPath, "b"}));
}

TEST(GitConfig, WhatGitWouldNotReadIsUnreadable) {
  for (const char* text : {"hookspath = a\n", "[core\n", "[core]\n= a\n", "[core]\nhookspath = \"a\n",
                           "[core]\nx = \\q\n", "[core \"x\n", "[]\n", "[core]\nx y\n"})
    EXPECT_THAT(hooks(text), ElementsAre("(unreadable)")) << text;
}

}  // namespace
}  // namespace cordon::base
