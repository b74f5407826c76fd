#include "policy/ecosystem/workspace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::policy::ecosystem {
namespace {
using base::AbsPath;
using testing::HasSubstr;

std::string root_of(const std::vector<Directory>& upwards) {
  const std::vector<AbsPath> homes{*AbsPath::parse("/home/u"), *AbsPath::parse("/root")};
  const auto root = workspace_root(upwards, homes);
  if (!root) return "refused: " + root.error().message + "; " + root.error().hint;
  return root->path.str() + " " + root->because;
}

TEST(Workspace, is_the_repository) {
  EXPECT_EQ(root_of({{"/home/u/p/web/src", {}}, {"/home/u/p/web", {"package.json"}}, {"/home/u/p", {".git"}}}),
            "/home/u/p .git");
}

TEST(Workspace, is_the_nearest_marker_outside_a_repository) {
  EXPECT_EQ(root_of({{"/srv/p/a", {}}, {"/srv/p", {"go.mod"}}, {"/srv", {"package.json"}}, {"/", {}}}),
            "/srv/p go.mod");
}

TEST(Workspace, is_the_working_directory_where_nothing_tells) {
  EXPECT_EQ(root_of({{"/srv/p", {}}, {"/srv", {}}, {"/", {}}}), "/srv/p ");
}

TEST(Workspace, is_no_home_because_a_home_is_kept_in_git) {
  EXPECT_EQ(root_of({{"/home/u/p/a", {}}, {"/home/u/p", {}}, {"/home/u", {".git", "package.json"}}, {"/home", {}}}),
            "/home/u/p/a ");
}

TEST(Workspace, nothing_above_a_home_or_a_shared_place_counts) {
  EXPECT_EQ(root_of({{"/tmp/x", {}}, {"/tmp", {".git"}}}), "/tmp/x ");
  EXPECT_EQ(root_of({{"/w", {}}, {"/", {".git"}}}), "/w ");
}

TEST(Workspace, at_a_place_that_holds_too_much_is_refused_with_the_cd) {
  EXPECT_THAT(root_of({{"/home/u", {".git"}}}), HasSubstr("refused: /home/u is a home"));
  EXPECT_THAT(root_of({{"/home/u", {".git"}}}), HasSubstr("cd /home/u/PROJECT"));
  EXPECT_THAT(root_of({{"/home", {}}}), HasSubstr("a directory that holds homes"));
  EXPECT_THAT(root_of({{"/", {}}}), HasSubstr("the root of the file system"));
  EXPECT_THAT(root_of({{"/tmp", {}}}), HasSubstr("a place that everyone shares"));
  EXPECT_THAT(root_of({}), HasSubstr("refused"));
}

}  // namespace
}  // namespace cordon::policy::ecosystem
