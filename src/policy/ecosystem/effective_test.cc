#include "policy/ecosystem/effective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "policy/ecosystem/places.h"

namespace cordon::policy::ecosystem {
namespace {
using base::AbsPath;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

AbsPath path(std::string_view text) { return *AbsPath::parse(text); }

using Variables = std::map<std::string, std::string>;

struct Machine {
  std::map<std::string, std::string> environment;
  shield::Rules shields;
  Surroundings surroundings;

  explicit Machine(const Variables& variables)
      : environment(variables), shields(shield::rules_for({{"/home/u"}, environment})) {
    surroundings = {path("/home/u"), path("/home/u/p"), path("/home/u/p"), {path("/home/u"), path("/root")},
                    environment,     &shields};
  }
};

base::Result<Effective, base::Diagnostics> of(std::vector<std::string_view> names, const Variables& variables = {}) {
  const Machine machine(variables);
  std::vector<const Profile*> chosen;
  for (const auto name : names) chosen.push_back(find_profile(name));
  return effective(chosen, machine.surroundings);
}

std::string said(const base::Diagnostics& mistakes) {
  std::string out;
  for (const auto& one : mistakes) out += one.message + "; " + one.hint + "\n";
  return out;
}

const Root* at(const std::vector<Root>& roots, std::string_view where) {
  const auto found = std::ranges::find(roots, path(where), &Root::path);
  return found == roots.end() ? nullptr : &*found;
}

TEST(Effective, says_of_each_root_where_it_comes_from) {
  const auto all = of({"rust"});
  ASSERT_TRUE(all) << said(all.error());
  const Root* cache = at(all->caches, "/home/u/.cargo/registry/cache");
  ASSERT_NE(cache, nullptr);
  EXPECT_EQ(cache->cache, CacheClass::kUnpacked);
  EXPECT_EQ(cache->origin, "profile rust: caches");
  EXPECT_EQ(cache->variable, "");
  EXPECT_NE(at(all->toolchains, "/home/u/.rustup"), nullptr);
  EXPECT_NE(at(all->credentials, "/home/u/.cargo/credentials.toml"), nullptr);
}

TEST(Effective, a_variable_moves_the_place_and_passes) {
  const auto all = of({"rust"}, {{"CARGO_HOME", "/data/cargo"}});
  ASSERT_TRUE(all) << said(all.error());
  EXPECT_EQ(at(all->caches, "/home/u/.cargo"), nullptr);
  const Root* cache = at(all->caches, "/data/cargo/registry/cache");
  ASSERT_NE(cache, nullptr);
  EXPECT_EQ(cache->variable, "CARGO_HOME");
  EXPECT_NE(at(all->toolchains, "/data/cargo/bin"), nullptr);
  EXPECT_TRUE(all->passes("CARGO_HOME"));
}

TEST(Effective, credentials_stay_out_at_both_places) {
  const auto all = of({"rust"}, {{"CARGO_HOME", "/data/cargo"}});
  ASSERT_TRUE(all);
  EXPECT_NE(at(all->credentials, "/data/cargo/credentials.toml"), nullptr);
  EXPECT_NE(at(all->credentials, "/home/u/.cargo/credentials.toml"), nullptr);
}

TEST(Effective, the_standard_directories_move_what_lies_in_them) {
  const auto all = of({"python"}, {{"XDG_CACHE_HOME", "/data/cache"}});
  ASSERT_TRUE(all) << said(all.error());
  EXPECT_NE(at(all->caches, "/data/cache/pip"), nullptr);
  const auto relative = of({"python"}, {{"XDG_CACHE_HOME", "cache"}});
  ASSERT_TRUE(relative);
  EXPECT_NE(at(relative->caches, "/home/u/.cache/pip"), nullptr);
}

TEST(Effective, a_tools_own_variable_is_stronger_than_the_standard_one) {
  const auto all = of({"python"}, {{"XDG_CACHE_HOME", "/data/cache"}, {"PIP_CACHE_DIR", "/data/pip"}});
  ASSERT_TRUE(all);
  EXPECT_NE(at(all->caches, "/data/pip"), nullptr);
  EXPECT_EQ(at(all->caches, "/data/cache/pip"), nullptr);
}

TEST(Effective, of_gopath_the_first_directory_counts) {
  const auto all = of({"go"}, {{"GOPATH", "/data/go:/other"}});
  ASSERT_TRUE(all) << said(all.error());
  EXPECT_NE(at(all->caches, "/data/go/pkg/mod"), nullptr);
}

TEST(Effective, what_moves_into_the_workspace_is_an_output) {
  for (const char* value : {"out/target", "/home/u/p/out/target"}) {
    const auto all = of({"rust"}, {{"CARGO_TARGET_DIR", value}});
    ASSERT_TRUE(all) << said(all.error());
    ASSERT_EQ(all->moved_outputs.size(), 1U);
    EXPECT_EQ(all->moved_outputs[0].path.str(), "/home/u/p/out/target");
    EXPECT_EQ(at(all->caches, "/home/u/p/out/target"), nullptr);
  }
}

class Dangerous : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(Dangerous, place_is_refused_with_the_variable) {
  const auto& [value, why] = GetParam();
  const auto all = of({"rust"}, {{"CARGO_HOME", value}});
  ASSERT_FALSE(all);
  EXPECT_THAT(said(all.error()), HasSubstr("CARGO_HOME is \"" + value + "\""));
  EXPECT_THAT(said(all.error()), HasSubstr(why));
  EXPECT_THAT(said(all.error()), HasSubstr("unset CARGO_HOME"));
  EXPECT_EQ(all.error().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Effective, Dangerous,
    testing::Values(std::pair{"/", "a directory of the system"}, std::pair{"/home/u", "it is a home or holds one"},
                    std::pair{"/home", "a directory of the system"},
                    std::pair{"/home/u/p", "it is the workspace or holds it"},
                    std::pair{"/home/u/p/.git/x", "a repository's own directory"},
                    std::pair{"..", "it is a home or holds one"}, std::pair{"/etc/cargo", "a directory of the system"},
                    std::pair{"/proc/self/cwd", "a directory of the system"},
                    std::pair{"/usr", "a directory of the system"}, std::pair{"/home/u/.ssh", "OpenSSH"},
                    std::pair{"/home/u/.ssh/keys", "OpenSSH"}));

TEST(Effective, an_empty_value_moves_nothing) {
  const auto all = of({"rust"}, {{"CARGO_HOME", ""}});
  ASSERT_TRUE(all);
  EXPECT_NE(at(all->caches, "/home/u/.cargo"), nullptr);
}

TEST(Effective, every_command_has_what_generic_has) {
  for (const Profile& profile : profiles()) {
    const auto all = of({profile.name});
    ASSERT_TRUE(all) << said(all.error());
    for (const char* name : {"PATH", "CC", "RUSTFLAGS", "NODE_ENV", "LC_ALL", "LC_CTYPE", "NO_COLOR"})
      EXPECT_TRUE(all->passes(name)) << profile.name << " " << name;
  }
}

TEST(Effective, passes_no_credential) {
  std::vector<std::string_view> names;
  for (const Profile& profile : profiles()) names.push_back(profile.name);
  const auto all = of(names);
  ASSERT_TRUE(all);
  for (const char* name : {"NPM_TOKEN",
                           "NODE_AUTH_TOKEN",
                           "npm_config__auth",
                           "npm_config__authToken",
                           "CARGO_REGISTRY_TOKEN",
                           "CARGO_REGISTRIES_X_TOKEN",
                           "TWINE_PASSWORD",
                           "UV_PUBLISH_TOKEN",
                           "POETRY_PYPI_TOKEN_PYPI",
                           "HEX_API_KEY",
                           "BUNDLE_GITHUB__COM",
                           "COMPOSER_AUTH",
                           "NUGET_API_KEY",
                           "GITHUB_TOKEN",
                           "AWS_SECRET_ACCESS_KEY",
                           "SSH_AUTH_SOCK",
                           "LD_PRELOAD",
                           "PIP_INDEX_URL",
                           "NETRC",
                           "GOAUTH",
                           "DATABASE_URL",
                           "HTTP_PROXY",
                           "TMPDIR"})
    EXPECT_FALSE(all->passes(name)) << name;
}

TEST(Effective, several_profiles_are_one_value_without_repetition) {
  const auto all = of({"node", "python", "node"});
  ASSERT_TRUE(all);
  EXPECT_THAT(all->profiles, testing::ElementsAre("node", "python", "generic"));
  std::vector<std::string> hosts;
  for (const auto& one : all->domains) hosts.push_back(one.value);
  std::ranges::sort(hosts);
  EXPECT_EQ(std::ranges::adjacent_find(hosts), hosts.end());
  EXPECT_EQ(all->domains[0].origin, "profile node: domains");
}

TEST(Effective, a_configuration_file_moves_with_its_variable) {
  const auto all = of({"node"}, {{"NPM_CONFIG_USERCONFIG", "/data/npmrc"}});
  ASSERT_TRUE(all) << said(all.error());
  EXPECT_EQ(all->registries[0].registry->role, "npm-registry");
  EXPECT_EQ(all->registries[0].files[0].path.str(), "/data/npmrc");
  EXPECT_FALSE(all->passes("NPM_CONFIG_USERCONFIG"));
}

TEST(Effective, asks_for_every_variable_that_moves) {
  const auto all = moving_variables();
  EXPECT_THAT(all, Contains("CARGO_HOME"));
  EXPECT_THAT(all, Contains("XDG_CACHE_HOME"));
  EXPECT_THAT(all, Contains("NPM_CONFIG_USERCONFIG"));
  EXPECT_TRUE(std::ranges::is_sorted(all));
}

// What the data of profiles and shields say of each other.

TEST(Profiles, promote_into_no_shield) {
  const Machine machine(Variables{});
  for (const Profile& profile : profiles())
    for (const Place& place : profile.caches)
      if (const auto where = usual(place, machine.surroundings)) {
        EXPECT_EQ(
            why_not(*where, place.cache == CacheClass::kContent ? Use::kPromoted : Use::kOwn, machine.surroundings), "")
            << profile.name << " " << place.path;
      }
}

TEST(Profiles, show_nothing_that_is_hidden) {
  const Machine machine(Variables{});
  for (const Profile& profile : profiles())
    for (const auto places : {profile.toolchains, profile.read})
      for (const Place& place : places) {
        const auto where = usual(place, machine.surroundings);
        const shield::Rule* rule = where ? machine.shields.covering(where->str()) : nullptr;
        EXPECT_TRUE(rule == nullptr || rule->deny == shield::Deny::kWrite) << profile.name << " " << place.path;
      }
}

TEST(Profiles, name_no_host_for_the_role_that_npm_answers) {
  const auto* node = find_profile("node");
  ASSERT_NE(node, nullptr);
  for (const Registry& registry : node->registries) {
    EXPECT_THAT(registry.hosts, IsEmpty());
    EXPECT_THAT(registry.ask, Not(IsEmpty()));
  }
}

}  // namespace
}  // namespace cordon::policy::ecosystem
