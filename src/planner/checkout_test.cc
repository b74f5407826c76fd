#include "planner/checkout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::planner {
namespace {

using ::testing::ElementsAre;

TEST(GitConfig, TheLastHooksPathCounts) {
  EXPECT_EQ(read_git_config("[core]\nhooksPath = a\n[x]\nhooksPath = b\n[CORE] HooksPath = \"c d\" ; why\n").hooks_path,
            "c d");
  EXPECT_EQ(read_git_config("; [core]\n#hooksPath = a\n").hooks_path, "");
}

TEST(GitConfig, IncludesAreToldWithAndWithoutACondition) {
  EXPECT_THAT(read_git_config("[include]\npath = ../a\n[includeIf \"gitdir:~/x/\"]\n  path = \"/b\"\n").includes,
              ElementsAre("../a", "/b"));
}

TEST(GitConfig, TheCheckoutOfASubmoduleIsTold) {
  EXPECT_EQ(read_git_config("[core]\n\trepositoryformatversion = 0\n\tworktree = ../../../sub\n").worktree,
            "../../../sub");
}

TEST(GitConfig, HostileTextIsNoTrouble) {
  EXPECT_EQ(read_git_config("[[[\n=\n]\n[core\nhooksPath").hooks_path, "");
  EXPECT_EQ(read_git_config("").hooks_path, "");
  EXPECT_EQ(read_git_config("[core]\nhooksPath = \"\\").hooks_path, "\\");
}

}  // namespace
}  // namespace cordon::planner
