// What environment variables move: every one of them, and then the corners.
#include "policy/shield/moved.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace cordon::policy::shield {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kHome = "/home/u";

Rules with(const std::map<std::string, std::string>& environment, std::vector<std::string> anchors = {kHome}) {
  return rules_for({.anchors = std::move(anchors), .environment = environment});
}

/// What this variable moves, each with the path that must be protected when its value is `value`.
std::vector<std::pair<const Relocation*, std::string>> moved_to(std::string_view variable, const std::string& value) {
  std::vector<std::pair<const Relocation*, std::string>> out;
  for (const Relocation& moved : relocations())
    if (moved.variable == variable)
      out.emplace_back(&moved, moved.below.empty() ? value : value + "/" + std::string(moved.below));
  return out;
}

class EachVariable : public testing::Test {
 protected:
  template <class Check>
  static void each(Check check) {
    ASSERT_GE(relocation_variables().size(), 90U);
    for (const std::string_view name : relocation_variables()) {
      SCOPED_TRACE(std::string(name));
      check(std::string(name));
    }
  }
};

TEST_F(EachVariable, moves_its_shields) {
  each([](const std::string& name) {
    const Rules rules = with({{name, "/else/where"}});
    EXPECT_THAT(rules.unshieldable, IsEmpty());
    for (const auto& [moved, path] : moved_to(name, "/else/where")) {
      if (moved->moves == Moves::kBase) continue;
      const Rule* rule = rules.covering(path);  // a part may be covered by the whole, which the same variable hides
      if (rules.exactly(path) != nullptr) rule = rules.exactly(path);
      ASSERT_NE(rule, nullptr) << path;
      EXPECT_EQ(rule->source, name);
      EXPECT_EQ(rule->anchor_length, 0U);
      EXPECT_EQ(rule->deny, rule->path == path ? moved->deny : Deny::kAll);
      if (rule->path != path) continue;
      EXPECT_EQ(rule->kind, moved->kind) << path;
      EXPECT_EQ(rule->holds, moved->holds) << path;
      EXPECT_EQ(rule->what, moved->what) << path;
      EXPECT_EQ(rule->write_opt_in, moved->write_opt_in) << path;
    }
  });
}

TEST_F(EachVariable, leaves_the_default_places_protected) {
  each([](const std::string& name) {
    const Rules rules = with({{name, "/else/where"}});
    for (const HomeRule& rule : home_rules())
      EXPECT_NE(rules.exactly(kHome + "/" + std::string(rule.path)), nullptr) << rule.path;
  });
}

TEST_F(EachVariable, moves_nothing_where_it_names_the_default_of_any_home) {
  const std::vector<std::string> homes{kHome, "/root"};
  const Rules plain = with({}, homes);
  each([&](const std::string& name) {
    for (const auto& [moved, path] : moved_to(name, "")) {
      if (moved->from.empty()) continue;
      for (const std::string& home : homes)
        EXPECT_EQ(with({{name, home + "/" + std::string(moved->from)}}, homes).list, plain.list) << home;
    }
  });
}

TEST_F(EachVariable, that_is_not_absolute_is_named) {
  const Rules plain = with({});
  each([&](const std::string& name) {
    const Rules rules = with({{name, "some/where"}});
    EXPECT_EQ(rules.list, plain.list);
    EXPECT_THAT(rules.unshieldable, ElementsAre(Unshieldable{name, "some/where", "it is not absolute"}));
  });
}

TEST_F(EachVariable, that_is_empty_or_the_null_device_moves_nothing) {
  const Rules plain = with({});
  each([&](const std::string& name) {
    for (const char* value : {"", "/dev/null"}) {
      const Rules rules = with({{name, value}});
      EXPECT_EQ(rules.list, plain.list) << value;
      EXPECT_THAT(rules.unshieldable, IsEmpty()) << value;
    }
  });
}

TEST_F(EachVariable, never_shields_the_root_a_home_or_what_holds_one) {
  each([](const std::string& name) {
    for (const char* value : {"/", "/home", "/home/u", "/home/u/", "/home/./u", "/home/u/x/.."}) {
      const Rules rules = with({{name, value}});
      for (const char* forbidden : {"/", "/home", "/home/u"}) EXPECT_EQ(rules.exactly(forbidden), nullptr) << value;
      EXPECT_EQ(rules.covering("/home/u/project"), nullptr) << value;
      for (const auto& [moved, path] : moved_to(name, value)) {
        const bool whole = moved->moves != Moves::kBase && moved->below.empty();
        EXPECT_TRUE(!whole || rules.unshieldable.size() == 1) << value;
      }
    }
  });
}

TEST(MovedBase, restates_every_rule_below_it) {
  for (const Relocation& moved : relocations()) {
    if (moved.moves != Moves::kBase) continue;
    const Rules rules = with({{std::string(moved.variable), "/conf"}});
    int restated = 0;
    for (const HomeRule& rule : home_rules()) {
      if (!rule.path.starts_with(std::string(moved.from) + "/")) continue;
      const Rule* found = rules.exactly("/conf" + std::string(rule.path.substr(moved.from.size())));
      ASSERT_NE(found, nullptr) << rule.path;
      EXPECT_EQ(found->deny, rule.deny);
      EXPECT_EQ(found->what, rule.what);
      EXPECT_EQ(found->source, moved.variable);
      ++restated;
    }
    EXPECT_GE(restated, 5) << moved.variable;
  }
}

TEST(MovedBase, restates_wallets_for_the_alias_scan) {
  EXPECT_THAT(with({{"XDG_CONFIG_HOME", "/conf"}}).alias_paths, testing::Contains("/conf/Bitcoin/wallet.dat"));
}

TEST(MovedBase, that_is_the_home_protects_there_too) {
  const Rules rules = with({{"XDG_CONFIG_HOME", "/home/u"}});
  ASSERT_NE(rules.exactly("/home/u/gh"), nullptr);
  EXPECT_EQ(rules.exactly("/home/u/gh")->source, "XDG_CONFIG_HOME");
  EXPECT_THAT(rules.unshieldable, IsEmpty());
}

TEST(MovedBase, whose_rule_would_stand_at_a_home_names_it_once) {
  const Rules rules = with({{"XDG_CONFIG_HOME", "/home"}}, {"/home/gh", "/home/gcloud"});
  EXPECT_EQ(rules.exactly("/home/gh"), nullptr);
  EXPECT_EQ(rules.exactly("/home/gcloud"), nullptr);
  EXPECT_NE(rules.exactly("/home/rclone"), nullptr);
  EXPECT_EQ(rules.unshieldable.size(), 1U);
}

TEST(MovedList, takes_every_absolute_part) {
  const Rules rules = with({{"KUBECONFIG", "/a/one::/b/two:three:/home/u/.kube/config:/home/u"}});
  EXPECT_NE(rules.exactly("/a/one"), nullptr);
  EXPECT_NE(rules.exactly("/b/two"), nullptr);
  EXPECT_EQ(rules.exactly("/home/u/.kube")->source, "");
  ASSERT_EQ(rules.unshieldable.size(), 2U);
  EXPECT_EQ(rules.unshieldable[0].value, "three");
  EXPECT_EQ(rules.unshieldable[1].value, "/home/u");
  const Rules go = with({{"GOPATH", "/g1:/g2"}});
  EXPECT_NE(go.exactly("/g1/bin"), nullptr);
  EXPECT_NE(go.exactly("/g2/bin"), nullptr);
}

TEST(MovedValue, is_cleaned) {
  EXPECT_NE(with({{"GNUPGHOME", "//keys/./a/../gpg/"}}).exactly("/keys/gpg"), nullptr);
  EXPECT_EQ(with({{"GNUPGHOME", "/home/u/x/../.gnupg/"}}).list, with({}).list);
}

TEST(MovedValue, that_means_nowhere_moves_nothing) {
  for (const auto& [name, value] : std::map<std::string, std::string>{{"LESSHISTFILE", "-"}, {"GOENV", "off"}}) {
    EXPECT_EQ(with({{name, value}}).list, with({}).list);
    EXPECT_THAT(with({{name, value}}).unshieldable, IsEmpty());
  }
}

TEST(MovedRule, inside_a_hidden_one_is_dropped) {
  EXPECT_EQ(with({{"HISTFILE", "/home/u/.ssh/history"}}).list, with({}).list);
  EXPECT_EQ(with({{"XDG_RUNTIME_DIR", "/run/user/1000"}}).list, with({}).list);
  EXPECT_NE(with({{"XDG_RUNTIME_DIR", "/srv/run"}}).exactly("/srv/run"), nullptr);
}

TEST(MovedRule, that_hides_more_swallows_what_lies_in_it) {
  const Rules rules = with({{"GNUPGHOME", "/srv/all"}, {"CARGO_HOME", "/srv/all/cargo"}});
  EXPECT_EQ(rules.below("/srv/all").size(), 1U);
}

TEST(MovedRule, in_a_read_only_one_holds) {
  const Rules rules = with({{"HISTFILE", "/home/u/.vim/history"}});
  ASSERT_NE(rules.exactly("/home/u/.vim/history"), nullptr);
  EXPECT_EQ(rules.exactly("/home/u/.vim/history")->deny, Deny::kAll);
  EXPECT_NE(rules.exactly("/home/u/.vim"), nullptr);
}

TEST(MovedRule, at_the_path_of_another_leaves_the_stronger_one) {
  // Hidden wins over read-only, what nothing lifts over what a name lifts, the default over the moved one.
  EXPECT_EQ(with({{"HISTFILE", "/home/u/.bashrc"}}).exactly("/home/u/.bashrc")->deny, Deny::kAll);
  EXPECT_EQ(with({{"ENV", "/home/u/.bash_history"}}).exactly("/home/u/.bash_history")->deny, Deny::kAll);
  EXPECT_EQ(with({{"DIRENV_CONFIG", "/home/u/.local/bin"}}).exactly("/home/u/.local/bin")->write_opt_in,
            WriteOptIn::kNever);
  EXPECT_EQ(with({{"GOBIN", "/home/u/.local/bin"}}).exactly("/home/u/.local/bin")->source, "");
}

TEST(MovedRule, keeps_the_alias_scan_of_the_rule_that_it_replaces) {
  const Rules rules = with({{"XDG_RUNTIME_DIR", "/srv/x"}, {"GNUPGHOME", "/srv/x"}});
  ASSERT_NE(rules.exactly("/srv/x"), nullptr);
  EXPECT_EQ(rules.exactly("/srv/x")->alias_anchor, AliasAnchor::kYes);
}

TEST(MovedVariables, that_nobody_knows_are_not_read) {
  EXPECT_EQ(with({{"PATH", "/srv/bin"}, {"EDITOR", "vi"}}).list, with({}).list);
}

}  // namespace
}  // namespace cordon::policy::shield
