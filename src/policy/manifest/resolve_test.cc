#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/manifest/manifest.h"

namespace cordon::policy::manifest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Anchors kAnchors = {"/srv/dir", "/home/u", "/srv/dir/m.yaml"};

Policy parsed(const std::string& text) {
  auto loaded = parse(text, "m.yaml");
  EXPECT_TRUE(loaded) << text;
  return loaded ? loaded->policy : Policy{};
}

base::Diagnostics refused(const std::string& text, const Anchors& anchors = kAnchors) {
  auto resolved = resolve(parsed(text), anchors);
  EXPECT_FALSE(resolved) << text;
  return resolved ? base::Diagnostics{{}} : resolved.error();
}

std::vector<std::string> paths(const std::vector<PathGrant>& grants) {
  std::vector<std::string> out;
  for (const PathGrant& grant : grants) out.push_back(grant.path);
  return out;
}

TEST(Resolve, relative_paths_hang_on_the_manifest_and_tildes_on_the_home) {
  const auto policy = resolve(parsed("entrypoint: bin/../x\ninterpreter: ~/py/bin/python\nargs: [~/a, ./b, \"~\"]\n"
                                     "read: [., .., \"~\", ~/, ~//a/./b/, /usr//share/, a/~b]\nwrite: [./out, ~/w]\n"
                                     "deny: [\"~\"]\nwx: [build]\npin: [./x]\nexec: [git, ./t, ~/t]\n"),
                              kAnchors);
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->entrypoint.path, "/srv/dir/x");
  EXPECT_EQ(policy->entrypoint.written, "bin/../x");
  EXPECT_EQ(policy->interpreter.value, "~/py/bin/python");
  EXPECT_EQ(policy->interpreter_path, "/home/u/py/bin/python");
  EXPECT_EQ(policy->args[0].value, "~/a");
  EXPECT_EQ(policy->args[1].value, "./b");
  EXPECT_THAT(paths(policy->read),
              ElementsAre("/srv/dir", "/srv", "/home/u", "/home/u", "/home/u/a/b", "/usr/share", "/srv/dir/a/~b"));
  EXPECT_THAT(paths(policy->write), ElementsAre("/srv/dir/out", "/home/u/w"));
  EXPECT_THAT(paths(policy->deny), ElementsAre("/home/u"));
  EXPECT_THAT(paths(policy->wx), ElementsAre("/srv/dir/build"));
  EXPECT_THAT(paths(policy->pin), ElementsAre("/srv/dir/x"));
  EXPECT_THAT(paths(policy->exec.programs), ElementsAre("", "/srv/dir/t", "/home/u/t"));
  EXPECT_EQ(policy->manifest.path, "/srv/dir/m.yaml");
}

TEST(Resolve, a_bare_interpreter_is_left_to_the_host) {
  const auto policy = resolve(parsed("entrypoint: ./x\ninterpreter: python3\n"), kAnchors);
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->interpreter_path, "");
}

TEST(Resolve, write_grants_that_come_out_as_a_home_or_above_it_are_refused) {
  const Anchors at_home = {"/home/u/project", "/home/u", "/home/u/project/m.yaml"};
  for (const char* path : {"..", "../", "../..", "/home/u", "/home/u/", "/home", "/home/u/x/..", "./../../u"}) {
    const auto found = refused(std::string("entrypoint: ./x\nwrite: [\"") + path + "\"]\n", at_home);
    ASSERT_EQ(found.size(), 1U) << path;
    EXPECT_EQ(found[0].code, "write-home") << path;
    EXPECT_EQ(found[0].at.line, 2U);
  }
  EXPECT_EQ(refused("entrypoint: ./x\nwrite: [../../..]\n", at_home)[0].code, "write-root");
  EXPECT_EQ(refused("entrypoint: ./x\nwx: [..]\n", at_home)[0].code, "write-home");
  EXPECT_EQ(refused("entrypoint: ./x\ndeny: [../../..]\n", at_home)[0].code, "deny-root");
  EXPECT_TRUE(resolve(parsed("entrypoint: ./x\nwrite: [.]\nread: [.., \"~\", /]\n"), at_home));
}

TEST(Resolve, a_sibling_spelling_of_the_home_is_seen_through) {
  EXPECT_EQ(refused("entrypoint: ./x\nwrite: [~/../u]\n")[0].code, "write-home");
}

TEST(Resolve, a_tilde_needs_an_absolute_home_that_can_be_shown) {
  for (const char* home : {"", "relative", "/home/\x1b[2J", "/home/\xe2\x80\xae"}) {
    const Anchors anchors = {"/srv/dir", home, "/srv/dir/m.yaml"};
    const auto found = refused("entrypoint: ./x\nread: [~/a]\n", anchors);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].code, "home-unknown");
    EXPECT_THAT(found[0].message, ::testing::Not(HasSubstr("\x1b")));
    EXPECT_TRUE(resolve(parsed("entrypoint: ./x\nread: [./a]\n"), anchors));
  }
}

TEST(Resolve, all_problems_are_reported_in_one_go) {
  EXPECT_EQ(refused("entrypoint: ./x\nread: [~/a, b]\nwrite: [~/c]\n", {"", "", ""}).size(), 4U);
}

TEST(Resolve, paths_that_grow_too_long_are_refused) {
  std::string deep;
  for (int i = 0; i < 20; ++i) deep += "/" + std::string(200, 'a');
  const Anchors anchors = {"/" + std::string(150, 'b'), "/home/u", "/m"};
  EXPECT_EQ(refused("entrypoint: ./x\nread: [\"." + deep + "\"]\n", anchors)[0].code, "path-too-long");
}

TEST(Resolve, a_policy_that_did_not_come_from_a_manifest_is_screened_as_well) {
  Policy policy;
  policy.entrypoint.written = "./x";
  policy.read.push_back({"~bob/x", {}, {}});
  policy.write.push_back({"a\nb", {}, {}});
  const auto resolved = resolve(policy, kAnchors);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error()[0].code, "other-home");
  EXPECT_EQ(resolved.error()[1].code, "unsafe-character");
}

}  // namespace
}  // namespace cordon::policy::manifest
