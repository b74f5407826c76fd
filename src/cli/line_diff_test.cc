#include "cli/line_diff.h"

#include <gtest/gtest.h>

namespace cordon::cli {
namespace {

TEST(LineDiff, ShowsWhatChangedWithThreeLinesAround) {
  EXPECT_EQ(line_diff("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\nten\n"),
            "--- a/f\n+++ b/f\n@@ -2,8 +2,9 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n+ten\n");
  EXPECT_EQ(line_diff("f", "a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(line_diff("f", "", "a\n"), "--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n");
  EXPECT_EQ(line_diff("f", "a\n", ""), "--- a/f\n+++ b/f\n@@ -1,1 +0,0 @@\n-a\n");
}

TEST(LineDiff, ShowsDistantChangesApart) {
  std::string before;
  for (int i = 0; i < 40; ++i) before += std::to_string(i) + "\n";
  const std::string diff = line_diff("f", before, "x\n" + before + "y\n");
  EXPECT_EQ(diff, "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n+x\n 0\n 1\n 2\n@@ -38,3 +39,4 @@\n 37\n 38\n 39\n+y\n");
}

TEST(LineDiff, EscapesWhatMisleadsATerminalAndLeavesTabs) {
  EXPECT_EQ(line_diff("a\x1b", "", "\tok\\\n\x1b[2Jevil\n"),
            "--- a/a\\x1b\n+++ b/a\\x1b\n@@ -0,0 +1,2 @@\n+\tok\\\n+\\x1b[2Jevil\n");
}

TEST(LineDiff, ShowsTwoLargeTextsThatShareNothingWhole) {
  std::string before, after;
  for (int i = 0; i < 3'000; ++i) before += "a" + std::to_string(i) + "\n", after += "b" + std::to_string(i) + "\n";
  EXPECT_NE(line_diff("f", before, after).find("@@ -1,3000 +1,3000 @@\n-a0\n"), std::string::npos);
}

TEST(LineDiff, TakesForTextWhatIsOne) {
  EXPECT_TRUE(is_text("\u00e4\n"));
  EXPECT_FALSE(is_text(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_text("\xff"));
}

}  // namespace
}  // namespace cordon::cli
