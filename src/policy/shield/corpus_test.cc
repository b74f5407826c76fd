#include "policy/shield/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/path_order.h"

namespace cordon::policy::shield {
namespace {

using testing::Contains;

const HomeRule* home_rule(std::string_view path) {
  const auto rules = home_rules();
  const auto found = std::ranges::find(rules, path, &HomeRule::path);
  return found != rules.end() ? &*found : nullptr;
}

std::ptrdiff_t count(Deny deny, Kind kind) {
  return std::ranges::count_if(home_rules(),
                               [&](const HomeRule& rule) { return rule.deny == deny && rule.kind == kind; });
}

TEST(Corpus, is_not_smaller_than_that_of_the_system_it_replaces) {
  EXPECT_GE(home_rules().size(), 535U);
  EXPECT_GE(count(Deny::kAll, Kind::kDirectory), 224);
  EXPECT_GE(count(Deny::kAll, Kind::kFile), 124);
  EXPECT_GE(count(Deny::kWrite, Kind::kDirectory), 119);
  EXPECT_GE(count(Deny::kWrite, Kind::kFile), 68);
  EXPECT_GE(alias_paths().size(), 7U);
  EXPECT_GE(relocation_variables().size(), 90U);
  EXPECT_GE(workspace_rules().size(), 15U);
  EXPECT_GE(auto_executed().size(), 20U);
}

TEST(Corpus, is_sorted_so_that_a_directory_and_what_lies_below_it_are_one_range) {
  EXPECT_TRUE(std::ranges::is_sorted(home_rules(), base::path_before, &HomeRule::path));
  EXPECT_TRUE(std::ranges::is_sorted(system_rules(), base::path_before, &HomeRule::path));
  EXPECT_TRUE(std::ranges::is_sorted(alias_paths(), base::path_before, &HomeRule::path));
  EXPECT_TRUE(std::ranges::is_sorted(workspace_rules(), base::path_before, &WorkspaceRule::path));
  EXPECT_TRUE(std::ranges::is_sorted(relocation_variables()));
}

TEST(Corpus, says_of_every_rule_whose_it_is) {
  for (const HomeRule& rule : home_rules()) EXPECT_FALSE(rule.what.empty()) << rule.path;
  for (const WorkspaceRule& rule : workspace_rules()) EXPECT_FALSE(rule.what.empty()) << rule.path;
  for (const Relocation& moved : relocations())
    EXPECT_TRUE(moved.moves == Moves::kBase || !moved.what.empty()) << moved.variable;
}

TEST(Corpus, names_every_variable_once) {
  std::set<std::string_view> names;
  for (const Relocation& moved : relocations()) names.insert(moved.variable);
  EXPECT_TRUE(std::ranges::equal(names, relocation_variables()));
}

TEST(Corpus, lets_nothing_hidden_be_written) {
  for (const HomeRule& rule : home_rules())
    EXPECT_TRUE(rule.deny != Deny::kAll || rule.write_opt_in == WriteOptIn::kNever) << rule.path;
  for (const Relocation& moved : relocations())
    EXPECT_TRUE(moved.deny != Deny::kAll || moved.write_opt_in == WriteOptIn::kNever) << moved.variable;
}

TEST(Corpus, lets_no_start_up_file_no_setting_and_no_state_of_ours_be_written) {
  for (const std::string_view path : {".bashrc",        ".profile",
                                      ".zshrc",         ".zshenv",
                                      ".config/fish",   ".config/environment.d",
                                      ".gitconfig",     ".config/git",
                                      ".githooks",      ".vimrc",
                                      ".claude",        ".codex",
                                      ".cursor",        ".gemini",
                                      ".config/Code",   ".local/share/applications",
                                      ".config/cordon", ".local/share/cordon",
                                      ".cache/cordon",  ".local/state/bento",
                                      ".config/bento",  ".config/sbe"}) {
    const HomeRule* rule = home_rule(path);
    ASSERT_NE(rule, nullptr) << path;
    EXPECT_EQ(rule->deny, Deny::kWrite) << path;
    EXPECT_EQ(rule->write_opt_in, WriteOptIn::kNever) << path;
  }
}

TEST(Corpus, shows_nothing_of_what_runs_left_with_us) {
  const HomeRule* rule = home_rule(".local/state/cordon");
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->deny, Deny::kAll);
  EXPECT_EQ(rule->write_opt_in, WriteOptIn::kNever);
}

TEST(Corpus, lets_ordinary_work_write_programs_by_exact_name) {
  for (const std::string_view path :
       {".vscode", ".local/bin", "go/bin", ".cargo/bin", ".npm-packages", "bin", ".rustup"}) {
    const HomeRule* rule = home_rule(path);
    ASSERT_NE(rule, nullptr) << path;
    EXPECT_EQ(rule->write_opt_in, WriteOptIn::kByExactName) << path;
  }
}

TEST(Corpus, protects_in_a_checkout_what_the_host_obeys) {
  std::set<std::string_view> lifted;
  std::set<std::string_view> paths;
  for (const WorkspaceRule& rule : workspace_rules()) {
    EXPECT_EQ(rule.deny, Deny::kWrite) << rule.path;
    paths.insert(rule.path);
    if (rule.write_opt_in == WriteOptIn::kByExactName) lifted.insert(rule.path);
  }
  for (const std::string_view path :
       {".vscode", ".idea", ".cargo/config.toml", ".cargo/config", ".cordon.yaml", ".sbe.yaml", ".sbe.yml", ".envrc",
        ".devcontainer", ".mcp.json", ".claude", ".cursor", ".codex", ".gemini"})
    EXPECT_THAT(paths, Contains(path));
  EXPECT_EQ(lifted, (std::set<std::string_view>{".idea", ".vscode"}));
}

TEST(Corpus, looks_for_other_names_of_keys_but_not_of_bulk_stores) {
  EXPECT_EQ(home_rule(".ssh")->alias_anchor, AliasAnchor::kYes);
  EXPECT_EQ(home_rule(".netrc")->alias_anchor, AliasAnchor::kYes);
  EXPECT_EQ(home_rule(".mozilla")->alias_anchor, AliasAnchor::kNo);
  EXPECT_EQ(home_rule(".bashrc")->alias_anchor, AliasAnchor::kNo);
  for (const char* start_up :
       {".config/autostart", ".config/systemd", ".config/environment.d", ".bashrc.d", ".githooks"})
    EXPECT_EQ(home_rule(start_up)->alias_anchor, AliasAnchor::kYes) << start_up;
  EXPECT_EQ(home_rule(".config/JetBrains")->alias_anchor, AliasAnchor::kNo);
  EXPECT_EQ(alias_paths().front().alias_anchor, AliasAnchor::kYes);
}

TEST(Corpus, gives_every_reason_a_name) {
  std::set<std::string_view> names;
  for (const HomeRule& rule : home_rules())
    if (rule.deny == Deny::kAll) names.insert(holds_name(rule.holds));
  EXPECT_EQ(names, (std::set<std::string_view>{"credentials", "history", "persistence", "private-data", "services"}));
  EXPECT_EQ(holds_name(Holds::kNothing), "");
}

}  // namespace
}  // namespace cordon::policy::shield
