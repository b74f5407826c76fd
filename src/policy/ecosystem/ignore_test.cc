#include "policy/ecosystem/ignore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::policy::ecosystem {
namespace {

struct File {
  std::string base, text;
};

std::string root_of(std::string_view path, const std::vector<File>& files) {
  IgnoreRules rules;
  for (const File& file : files) EXPECT_EQ(rules.add(file.text, file.base), IgnoreRules::Added::kAll);
  return std::string(rules.ignored_root(path).value_or("none"));
}

/// What gitignore(5) says, one line each; each answer is what git 2.39 gives (`git check-ignore`).
struct Case {
  std::string patterns, path, root;
};
std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.patterns << " : " << one.path; }
class Gitignore : public testing::TestWithParam<Case> {};
TEST_P(Gitignore, is_read_as_git_reads_it) {
  EXPECT_EQ(root_of(GetParam().path, {{"", GetParam().patterns}}), GetParam().root);
}
INSTANTIATE_TEST_SUITE_P(
    Patterns, Gitignore,
    testing::Values(
        Case{"build", "build", "build"}, Case{"build", "a/b/build", "a/b/build"}, Case{"build/", "a/build", "a/build"},
        Case{"build", "build/x/y", "build"}, Case{"build", "builds", "none"}, Case{"/build", "build", "build"},
        Case{"/build", "a/build", "none"}, Case{"a/build", "a/build", "a/build"}, Case{"a/build", "x/a/build", "none"},
        Case{"doc/frotz/", "doc/frotz", "doc/frotz"}, Case{"doc/frotz/", "a/doc/frotz", "none"},
        Case{"frotz/", "a/doc/frotz", "a/doc/frotz"}, Case{"# build", "build", "none"}, Case{"\\#x", "#x", "#x"},
        Case{"\\!x", "!x", "!x"}, Case{"build ", "build", "build"}, Case{"build\\ ", "build ", "build "},
        Case{"build\\ ", "build", "none"}, Case{"", "build", "none"}, Case{"/", "build", "none"},
        Case{"b*d", "build", "build"}, Case{"b*d", "a/build", "a/build"}, Case{"foo/*", "foo", "none"},
        Case{"foo/*", "foo/bar", "foo/bar"}, Case{"foo/*", "foo/bar/baz", "foo/bar"},
        Case{"foo/*/baz", "foo/bar/baz", "foo/bar/baz"}, Case{"foo/*/baz", "foo/a/b/baz", "none"},
        Case{"b?ild", "build", "build"}, Case{"b[a-z]ild", "build", "build"}, Case{"b[!a-z]ild", "build", "none"},
        Case{"b[^x]ild", "build", "build"}, Case{"b[[:alpha:]]ild", "build", "build"},
        Case{"b[]u]ild", "build", "build"}, Case{"b[u-]ild", "b-ild", "b-ild"}, Case{"a[/]b", "a/b", "none"},
        Case{"**/foo", "foo", "foo"}, Case{"**/foo", "a/b/foo", "a/b/foo"},
        Case{"**/foo/bar", "x/foo/bar", "x/foo/bar"}, Case{"**/foo/bar", "foo/bar", "foo/bar"},
        Case{"abc/**", "abc", "none"}, Case{"abc/**", "abc/d", "abc/d"}, Case{"abc/**", "x/abc/d", "none"},
        Case{"a/**/b", "a/b", "a/b"}, Case{"a/**/b", "a/x/b", "a/x/b"}, Case{"a/**/b", "a/x/y/b", "a/x/y/b"},
        Case{"a/**/b", "a/xb", "none"}, Case{"a/**/b", "ab", "none"}, Case{"a/b**", "a/bcd", "a/bcd"},
        Case{"a/b**", "a/bc/d", "a/bc"}, Case{"a**b", "axxb", "axxb"}, Case{"build\n!build", "build", "none"},
        Case{"!build\nbuild", "build", "build"}, Case{"build\n!build/keep", "build/keep", "build"},
        Case{"/*\n!/src", "src", "none"}, Case{"/*\n!/src", "x", "x"}, Case{"build\r\nx", "build", "build"},
        Case{"\xEF\xBB\xBF"
             "build",
             "build", "build"},
        Case{"bu[ild", "bu[ild", "none"}, Case{"build\\", "build", "none"}, Case{"Build", "build", "none"},
        Case{"**", "a", "a"}, Case{"*", "a/b", "a"}, Case{"***", "a", "a"}));

TEST(Ignore, a_deeper_file_is_stronger_and_seen_from_its_place) {
  EXPECT_EQ(root_of("web/out", {{"", "out"}, {"web", "!out"}}), "none");
  EXPECT_EQ(root_of("out", {{"", "out"}, {"web", "!out"}}), "out");
  EXPECT_EQ(root_of("web/a", {{"web", "/a"}}), "web/a");
  EXPECT_EQ(root_of("web/x/a", {{"web", "/a"}}), "none");
  EXPECT_EQ(root_of("webs/a", {{"web", "a"}}), "none");
  EXPECT_EQ(root_of("web", {{"web", "web"}}), "none");
}

TEST(Ignore, a_file_beyond_a_bound_ignores_nothing) {
  IgnoreRules rules;
  std::string many;
  for (std::size_t i = 0; i <= IgnoreRules::kMostPatterns; ++i) many += "a\n";
  EXPECT_EQ(rules.add(many, ""), IgnoreRules::Added::kNothing);
  EXPECT_EQ(rules.add(std::string(IgnoreRules::kLongestPattern + 1, 'a'), ""), IgnoreRules::Added::kNothing);
  EXPECT_EQ(rules.add("a\n" + std::string(IgnoreRules::kLargestFile, '\n'), ""), IgnoreRules::Added::kNothing);
  EXPECT_FALSE(rules.ignored_root("a").has_value());
}

TEST(Ignore, what_is_taken_back_and_not_understood_makes_the_whole_file_count_for_nothing) {
  IgnoreRules rules;
  EXPECT_EQ(rules.add("build\n!bu[ild", ""), IgnoreRules::Added::kNothing);
  EXPECT_FALSE(rules.ignored_root("build").has_value());
}

TEST(Ignore, a_hostile_pattern_costs_no_more_than_its_length_times_the_text) {
  IgnoreRules rules;
  std::string pattern;
  for (int i = 0; i < 250; ++i) pattern += "*a";
  pattern += "/**/b";
  ASSERT_EQ(rules.add(pattern, ""), IgnoreRules::Added::kAll);
  EXPECT_FALSE(rules.ignored_root(std::string(4000, 'a')).has_value());
}

}  // namespace
}  // namespace cordon::policy::ecosystem
