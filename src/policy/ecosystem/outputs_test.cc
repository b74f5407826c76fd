#include "policy/ecosystem/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace cordon::policy::ecosystem {
namespace {

constexpr std::array<std::string_view, 1> kTemplateIn{"*.in"}, kConfigureAc{"configure.ac"};

std::vector<DeclaredOutput> outputs_of(std::vector<std::string_view> names) {
  std::vector<DeclaredOutput> out;
  for (const auto name : names)
    for (const Output& output : find_profile(name)->outputs) out.push_back({&output, std::string(name)});
  return out;
}

std::string found(std::string_view path, EntryKind kind = EntryKind::kOther,
                  std::vector<std::string_view> names = {"node", "rust", "python"}) {
  const auto declared = outputs_of(std::move(names));
  const auto match = declared_output(declared, path, kind);
  return match ? std::string(match->root) + " of " + std::string(match->output->name) : "none";
}

TEST(Outputs, are_found_by_name_anywhere_in_the_workspace) {
  EXPECT_EQ(found("node_modules/a/index.js"), "node_modules of node_modules");
  EXPECT_EQ(found("packages/web/node_modules/a"), "packages/web/node_modules of node_modules");
  EXPECT_EQ(found("crates/a/target/debug/a"), "crates/a/target of target");
  EXPECT_EQ(found("a.egg-info/PKG-INFO"), "a.egg-info of *.egg-info");
  EXPECT_EQ(found("web/.yarn/cache/x.zip"), "web/.yarn/cache of .yarn/cache");
}

TEST(Outputs, of_several_names_are_begun_by_directories) {
  const auto of_dotnet = outputs_of({"dotnet"});
  EXPECT_THAT(rests_below(of_dotnet, "bin"), testing::ElementsAre("Debug", "Release"));
  EXPECT_THAT(rests_below(of_dotnet, "app/bin"), testing::ElementsAre("Debug", "Release"));
  for (const char* other : {"app", "bin/Debug", "bin2", "obj", ".git/bin"})
    EXPECT_THAT(rests_below(of_dotnet, other), testing::IsEmpty()) << other;
  EXPECT_THAT(rests_below(outputs_of({"rust"}), "bin"), testing::IsEmpty());
}

TEST(Outputs, the_outermost_one_counts) {
  EXPECT_EQ(found("node_modules/a/node_modules/b"), "node_modules of node_modules");
  EXPECT_EQ(found("node_modules/a/package.json"), "node_modules of node_modules");
}

TEST(Outputs, sources_are_none) {
  EXPECT_EQ(found("src/main.rs"), "none");
  EXPECT_EQ(found("package.json.bak"), "none");
  EXPECT_EQ(found("node_modules2/a"), "none");
  EXPECT_EQ(found(".yarn/releases/yarn.cjs"), "none");
  EXPECT_EQ(found("Makefile"), "none");
}

TEST(Outputs, a_directory_and_a_file_are_not_the_same) {
  EXPECT_EQ(found("target"), "none");
  EXPECT_EQ(found("target", EntryKind::kDirectory), "target of target");
  EXPECT_EQ(found("Cargo.lock"), "Cargo.lock of Cargo.lock");
  EXPECT_EQ(found("Cargo.lock", EntryKind::kDirectory), "none");
  EXPECT_EQ(found("Cargo.lock/x"), "none");
}

TEST(Outputs, of_another_ecosystem_are_none) { EXPECT_EQ(found("target/a", EntryKind::kOther, {"node"}), "none"); }

TEST(Outputs, what_lies_in_git_is_never_one) {
  EXPECT_EQ(found("node_modules/.git/hooks/pre-commit"), "none");
  EXPECT_EQ(found(".git/target/x"), "none");
}

TEST(Outputs, what_counts_only_where_ignored_is_not_declared) {
  EXPECT_EQ(found("build/x.js", EntryKind::kOther, {"node"}), "none");
  EXPECT_TRUE(is_named_by_a_profile("web/build"));
  EXPECT_FALSE(is_named_by_a_profile("src"));
}

struct Ignored {
  const char* what;
  std::string_view root;
  Stood stood;
  ShieldNames holds;
  bool expected;
};
class IgnoredDirectory : public testing::TestWithParam<Ignored> {};
TEST_P(IgnoredDirectory, goes_back_only_where_it_can_do_no_harm) {
  const Ignored& one = GetParam();
  EXPECT_EQ(is_ignored_output(one.root, one.stood, one.holds), one.expected) << one.what;
}
INSTANTIATE_TEST_SUITE_P(
    Outputs, IgnoredDirectory,
    testing::Values(Ignored{"stood before", "generated", Stood::kBefore, ShieldNames::kNone, true},
                    Ignored{"new, of no profile", "generated", Stood::kNew, ShieldNames::kNone, false},
                    Ignored{"new, of a profile", "web/build", Stood::kNew, ShieldNames::kNone, true},
                    Ignored{"holds a shield's name", "generated", Stood::kBefore, ShieldNames::kSome, false},
                    Ignored{"begins with a dot", ".vscode", Stood::kBefore, ShieldNames::kNone, false},
                    Ignored{"husky's hooks", ".husky/_", Stood::kBefore, ShieldNames::kNone, false},
                    Ignored{"compiled beside sources", "src/__pycache__", Stood::kBefore, ShieldNames::kNone, false}));

TEST(Outputs, templates_are_found_by_what_the_star_stands_for) {
  const Output rules[] = {{"*", OutputKind::kFile, OutputClass::kGenerated, kTemplateIn},
                          {"configure", OutputKind::kFile, OutputClass::kGenerated, kConfigureAc}};
  std::vector<DeclaredOutput> declared;
  for (const Output& one : rules) declared.push_back({&one, "test"});
  EXPECT_EQ(templates_of(declared, "a/Makefile"), std::vector<std::string>{"a/Makefile.in"});
  EXPECT_EQ(templates_of(declared, "configure"), (std::vector<std::string>{"configure.in", "configure.ac"}));
}

std::string elf() {
  std::string head(
      "\x7f"
      "ELF\2\1\1",
      7);
  head.resize(64, '\0');
  head[16] = 3;
  head[18] = 62;
  head[52] = 64;
  return head;
}

TEST(Outputs, machine_code_is_told_by_its_whole_header) {
  EXPECT_TRUE(is_machine_code(elf()));
  EXPECT_FALSE(is_machine_code(elf().substr(0, 63)));
  for (const std::size_t at : {4U, 5U, 6U, 16U, 52U}) {
    std::string broken = elf();
    broken[at] = 9;
    EXPECT_FALSE(is_machine_code(broken)) << at;
  }
  for (const char* other : {"", "ELF",
                            "\x7f"
                            "ELF",
                            "#!/bin/sh", "!<arch>\n"})
    EXPECT_FALSE(is_machine_code(other)) << other;
}

TEST(Outputs, a_program_has_no_name_that_a_tool_reads) {
  for (const char* name : {"prog", "a.out", "p.test", "tool-2", "x.exe"}) EXPECT_TRUE(may_name_a_program(name)) << name;
  for (const char* name :
       {"GNUmakefile", "makefile", "conftest.py", "x.sh.in", "a.js", "json.so", "Justfile", "CMakeCache.txt"})
    EXPECT_FALSE(may_name_a_program(name)) << name;
}

TEST(Outputs, a_temporary_name_is_one_at_the_end_of_a_path) {
  const std::vector<NamedText> names = {{"__pycache__", "t"}, {"*.timestamp-*", "t"}, {"*.pyc", "t"}};
  EXPECT_TRUE(is_temporary(names, "a/__pycache__"));
  EXPECT_TRUE(is_temporary(names, "a.pyc"));
  EXPECT_FALSE(is_temporary(names, "vite.config.timestamp-12")) << "a person's file may fit a pattern";
  EXPECT_FALSE(is_temporary(names, "a/__pycache__/x"));
  EXPECT_FALSE(is_temporary(names, "a/__pycache__x"));
  EXPECT_FALSE(is_temporary(names, ".git/__pycache__"));
}

}  // namespace
}  // namespace cordon::policy::ecosystem
