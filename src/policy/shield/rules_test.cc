#include "policy/shield/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/path_order.h"

namespace cordon::policy::shield {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

Rules at_home() { return rules_for({.anchors = {"/home/u"}, .environment = {}}); }

TEST(Rules, stand_below_every_home) {
  const Rules rules = rules_for({.anchors = {"/root", "/home/u"}, .environment = {}});
  EXPECT_EQ(rules.list.size(), 2 * home_rules().size() + system_rules().size() + runtime_directories().size());
  for (const HomeRule& rule : home_rules())
    for (const char* home : {"/home/u", "/root"}) {
      const Rule* found = rules.exactly(std::string(home) + "/" + std::string(rule.path));
      ASSERT_NE(found, nullptr) << rule.path;
      EXPECT_EQ(found->deny, rule.deny);
      EXPECT_EQ(found->kind, rule.kind);
      EXPECT_EQ(found->holds, rule.holds);
      EXPECT_EQ(found->write_opt_in, rule.write_opt_in);
      EXPECT_EQ(found->what, rule.what);
      EXPECT_EQ(found->anchor(), home);
      EXPECT_EQ(found->source, "");
    }
}

TEST(Rules, are_sorted_with_one_for_each_path_and_nothing_below_a_hidden_one) {
  const Rules rules =
      rules_for({.anchors = {"/home/u", "/home/u-2", "/home/u/nested"},
                 .environment = {{"XDG_CONFIG_HOME", "/home/u/.ssh"}, {"GNUPGHOME", "/home/u/.config"}}});
  for (std::size_t i = 1; i < rules.list.size(); ++i)
    EXPECT_TRUE(base::path_before(rules.list[i - 1].path, rules.list[i].path)) << rules.list[i].path;
  for (const Rule& rule : rules.list) {
    const auto inside = rules.below(rule.path);
    ASSERT_FALSE(inside.empty());
    EXPECT_TRUE(rule.deny != Deny::kAll || inside.size() == 1) << rule.path << " holds " << inside.back().path;
  }
}

TEST(Rules, of_one_home_given_twice_stand_once) {
  EXPECT_EQ(rules_for({.anchors = {"/home/u", "/home/u"}, .environment = {}}).list, at_home().list);
}

TEST(Rules, without_a_home_are_those_of_the_system) {
  const Rules rules = rules_for({});
  ASSERT_EQ(rules.list.size(), system_rules().size() + 2);
  for (const char* path : {"/run", "/var/run"}) {
    ASSERT_NE(rules.exactly(path), nullptr) << path;
    EXPECT_EQ(rules.exactly(path)->holds, Holds::kServices);
    EXPECT_EQ(rules.exactly(path)->anchor(), "");
  }
  const Rule* shadow = rules.exactly("/etc/shadow");
  ASSERT_NE(shadow, nullptr);
  EXPECT_EQ(shadow->deny, Deny::kAll);
  EXPECT_EQ(shadow->holds, Holds::kCredentials);
  EXPECT_TRUE(shadow->is_of_system());
}

TEST(Rules, of_the_system_are_none_where_an_account_lives_in_them) {
  const Rules rules = rules_for({.anchors = {"/var/lib/docker/u"}, .environment = {}});
  EXPECT_EQ(rules.exactly("/var/lib/docker"), nullptr);
  EXPECT_NE(rules.exactly("/var/lib/docker/u/.ssh"), nullptr);
  EXPECT_NE(rules.exactly("/var/lib/containers"), nullptr);
}

TEST(Rules, never_stand_at_a_home_or_above_one) {
  // One account's home is a folder that a rule of another one would hide.
  const Rules rules =
      rules_for({.anchors = {"/home/u", "/home/u/Private", "/home/u/.config/git/x"}, .environment = {}});
  EXPECT_EQ(rules.exactly("/home/u/Private"), nullptr);
  EXPECT_EQ(rules.exactly("/home/u/.config/git"), nullptr);
  EXPECT_NE(rules.exactly("/home/u/.ssh"), nullptr);
  EXPECT_NE(rules.exactly("/home/u/Private/.ssh"), nullptr);
}

TEST(Rules, hide_the_runtime_directories_even_where_an_account_lives_in_them) {
  // Daemons have homes such as /run/sshd: that must not open every socket of the system.
  const Rules rules = rules_for({.anchors = {"/home/u", "/run/sshd"}, .environment = {}});
  ASSERT_NE(rules.exactly("/run"), nullptr);
  EXPECT_EQ(rules.exactly("/run/sshd/.ssh"), nullptr);
  EXPECT_EQ(rules.covering("/run/sshd/.ssh")->path, "/run");
}

TEST(Rules, know_wallets_for_the_alias_scan) {
  EXPECT_THAT(at_home().alias_paths, Contains("/home/u/.bitcoin/wallet.dat"));
  EXPECT_EQ(at_home().alias_paths.size(), alias_paths().size());
}

struct Lookup {
  const char* path;
  const char* rule;
  Deny deny;
};

TEST(Covering, gives_the_hidden_rule_else_the_outermost_read_only_one) {
  const Rules rules = at_home();
  for (const Lookup& one :
       {Lookup{"/home/u/.ssh", "/home/u/.ssh", Deny::kAll},
        Lookup{"/home/u/.ssh/id_ed25519", "/home/u/.ssh", Deny::kAll},
        Lookup{"/home/u/.claude/.credentials.json", "/home/u/.claude/.credentials.json", Deny::kAll},
        Lookup{"/home/u/.claude/settings.json", "/home/u/.claude", Deny::kWrite},
        Lookup{"/home/u/.config/git/config", "/home/u/.config/git", Deny::kWrite},
        Lookup{"/home/u/.bashrc", "/home/u/.bashrc", Deny::kWrite}, Lookup{"/run/user/1000/bus", "/run", Deny::kAll}}) {
    const Rule* rule = rules.covering(one.path);
    ASSERT_NE(rule, nullptr) << one.path;
    EXPECT_EQ(rule->path, one.rule);
    EXPECT_EQ(rule->deny, one.deny);
  }
}

TEST(Covering, gives_nothing_where_no_rule_is_above) {
  const Rules rules = at_home();
  for (const char* path :
       {"/", "/home", "/home/u", "/home/u/.ssh-old", "/home/u/.sshd/x", "/home/u/.config", "/runx", "/home/v/.ssh"})
    EXPECT_EQ(rules.covering(path), nullptr) << path;
}

TEST(Exactly, gives_the_rule_of_this_name_alone) {
  const Rules rules = at_home();
  EXPECT_NE(rules.exactly("/home/u/.ssh"), nullptr);
  for (const char* path : {"/home/u/.ssh/id", "/home/u/.ss", "/home/u/.sshx", "/home/u", "/", ""})
    EXPECT_EQ(rules.exactly(path), nullptr) << path;
}

TEST(Below, gives_the_rules_at_and_below_a_directory_and_no_neighbour) {
  const Rules rules = at_home();
  EXPECT_EQ(rules.below("/").size(), rules.list.size());
  EXPECT_EQ(rules.below("/home/u").size(), home_rules().size());
  EXPECT_THAT(rules.below("/home/v"), IsEmpty());
  const auto claude = rules.below("/home/u/.claude");
  ASSERT_EQ(claude.size(), 3U);
  EXPECT_EQ(claude[0].path, "/home/u/.claude");
  for (const Rule& rule : claude) EXPECT_TRUE(base::path_within(rule.path, "/home/u/.claude"));
}

TEST(Lookups, agree_with_a_search_of_every_rule) {
  const Rules rules = rules_for({.anchors = {"/home/u", "/root"}, .environment = {{"CARGO_HOME", "/srv/cargo"}}});
  std::vector<std::string> paths{"/", "/srv", "/srv/cargo", "/srv/cargo/bin/x", "/home/u/.config/x"};
  for (const Rule& rule : rules.list) {
    const std::string path(rule.path);
    paths.push_back(path);
    paths.push_back(path + "/inside/deep");
    paths.push_back(path + "-beside");
  }
  for (const std::string& path : paths) {
    const Rule* outermost = nullptr;
    std::size_t below = 0;
    for (const Rule& rule : rules.list) {
      below += base::path_within(rule.path, path) ? 1U : 0U;
      const bool above = base::path_within(path, rule.path);
      if (above && (outermost == nullptr || (rule.deny == Deny::kAll && outermost->deny != Deny::kAll)))
        outermost = &rule;
    }
    EXPECT_EQ(rules.covering(path), outermost) << path;
    EXPECT_EQ(rules.below(path).size(), below) << path;
  }
}

TEST(Workspace, rules_stand_at_the_root_of_the_checkout) {
  Texts texts;
  const auto rules = workspace_rules_at("/work/app", texts);
  ASSERT_EQ(rules.size(), workspace_rules().size());
  EXPECT_TRUE(std::ranges::is_sorted(rules, base::path_before, &Rule::path));
  std::vector<std::string> paths;
  for (const Rule& rule : rules) paths.emplace_back(rule.path);
  EXPECT_THAT(paths, Contains("/work/app/.envrc"));
  EXPECT_THAT(paths, Contains("/work/app/.cargo/config.toml"));
  EXPECT_THAT(paths, Not(Contains("/work/app/.git")));
  EXPECT_EQ(workspace_rules_at("/", texts).front().path.find("//"), std::string::npos);
}

TEST(PathOrder, puts_a_directory_right_before_what_lies_below_it) {
  std::vector<std::string> paths{"/a-b", "/a/b", "/a", "/a.b", "/a/b/c", "/a!", "/", "/b"};
  std::ranges::sort(paths, base::path_before);
  EXPECT_EQ(paths, (std::vector<std::string>{"/", "/a", "/a/b", "/a/b/c", "/a!", "/a-b", "/a.b", "/b"}));
}

}  // namespace
}  // namespace cordon::policy::shield
