#include "corpus_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "corpus_test_files.h"
#include "page.h"
#include "tables.h"

namespace cordon::shields {
namespace {

using testing::HasSubstr;

base::Result<Corpus, base::Diagnostics> read(std::initializer_list<std::string> texts) {
  std::vector<File> files;
  for (const std::string& text : texts) files.push_back({std::string(1, static_cast<char>('a' + files.size())), text});
  return read_corpus(files);
}

std::string said_about(std::initializer_list<std::string> texts) {
  const auto corpus = read(texts);
  return corpus ? "accepted" : said(corpus.error());
}

/// A group of hidden directories that hold credentials, with these lines under `paths:`.
std::string hidden(const std::string& paths) {
  return "home:\n  - class: hidden\n    kind: directory\n    holds: credentials\n    paths:\n" + paths;
}

std::string read_only(const std::string& paths) {
  return "home:\n  - class: read-only\n    kind: directory\n    paths:\n" + paths;
}

TEST(Corpus, of_the_repository_is_accepted) {
  const auto files = corpus_files();
  ASSERT_GE(files.size(), 10U);
  const auto corpus = read_corpus(files);
  EXPECT_TRUE(corpus) << said(corpus.error());
}

TEST(Corpus, that_is_in_order_is_accepted) {
  const auto corpus = read({hidden("      .a: A\n      .b: B\n"), read_only("      .a-b: C\n")});
  ASSERT_TRUE(corpus) << said(corpus.error());
  ASSERT_EQ(corpus->home.size(), 3U);
  EXPECT_EQ(corpus->home[0].path, ".a");
  EXPECT_EQ(corpus->home[1].path, ".a-b");
  EXPECT_EQ(corpus->home[1].deny, shield::Deny::kWrite);
}

struct Mistake {
  const char* name;
  std::string text;
  std::string said;
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

class CorpusMistake : public testing::TestWithParam<Mistake> {};

TEST_P(CorpusMistake, is_refused_with_file_and_line) {
  EXPECT_THAT(said_about({GetParam().text}), HasSubstr(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(
    Paths, CorpusMistake,
    testing::Values(Mistake{"absolute", hidden("      /etc: A\n"), "a:6: [path] this path is relative"},
                    Mistake{"tilde", hidden("      ~/.a: A\n"), "a:6: [path] this path is relative"},
                    Mistake{"climbing", hidden("      .a/../b: A\n"), "a:6: [path] this path has no empty part"},
                    Mistake{"climbing_first", hidden("      ../b: A\n"), "a:6: [path] this path has no empty part"},
                    Mistake{"dot", hidden("      ./b: A\n"), "a:6: [path] this path has no empty part"},
                    Mistake{"double_slash", hidden("      .a//b: A\n"), "a:6: [path] this path has no empty part"},
                    Mistake{"trailing_slash", hidden("      .a/: A\n"), "a:6: [path] this path has no empty part"},
                    Mistake{"invisible", hidden("      \".a\\u200b\": A\n"), "a:6: [path] this path holds a character"},
                    Mistake{"empty_what", hidden("      .a: \"\"\n"), "a:6: [what]"},
                    Mistake{"no_what", hidden("      .a:\n"), "a:6: [what]"},
                    Mistake{"full_stop", hidden("      .a: A.\n"), "a:6: [what]"},
                    Mistake{"unsorted", hidden("      .b: A\n      .a: B\n"),
                            "a:7: [unsorted] \".a\" stands before \".b\""},
                    Mistake{"twice", hidden("      .a: A\n      .a: B\n"), "a:7: [twice]"},
                    Mistake{"no_paths", hidden(""), "[not-a-map]"},
                    Mistake{"nested_hidden", hidden("      .a: A\n      .a/b: B\n"), "a:7: [never-holds]"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Keys, CorpusMistake,
    testing::Values(
        Mistake{"unknown_top", "homes: []\n", "a:1: [unknown-key] nothing is called \"homes\""},
        Mistake{"unknown_in_group", hidden("      .a: A\n") + "    colour: red\n", "a:7: [unknown-key]"},
        Mistake{"class_twice", hidden("      .a: A\n") + "    class: hidden\n", "a:7: [key-twice]"},
        Mistake{"unknown_class", "home:\n  - {class: secret, kind: file, holds: history, paths: {.a: A}}\n",
                "a:2: [unknown-word] one of these stands here: hidden, read-only"},
        Mistake{"no_kind", "home:\n  - {class: hidden, holds: history, paths: {.a: A}}\n", "[key-missing] \"kind\""},
        Mistake{"no_holds", "home:\n  - {class: hidden, kind: file, paths: {.a: A}}\n", "a:2: [holds]"},
        Mistake{"holds_read_only", "home:\n  - {class: read-only, kind: file, holds: history, paths: {.a: A}}\n",
                "a:2: [holds]"},
        Mistake{"hidden_opt_in",
                "home:\n  - {class: hidden, kind: file, holds: history, write_opt_in: by exact name, paths: {.a: A}}\n",
                "a:2: [opt-in]"},
        Mistake{"other_opt_in", "home:\n  - {class: read-only, kind: file, write_opt_in: yes, paths: {.a: A}}\n",
                "a:2: [unknown-word]"},
        Mistake{"other_names_of_files",
                "home:\n  - {class: read-only, kind: file, other_names: looked for, paths: {.a: A}}\n",
                "a:2: [other-names]"},
        Mistake{"workspace_holds", "workspace:\n  - {class: hidden, kind: file, holds: history, paths: {.a: A}}\n",
                "a:2: [holds]"},
        Mistake{"alias", "home: *x\n", "a:1: [alias]"}, Mistake{"no_map", "- a\n", "a:1: [not-a-map]"},
        Mistake{"system_relative",
                "system:\n  - class: hidden\n    kind: file\n    holds: credentials\n    paths: {etc/a: A}\n",
                "a:5: [path] this path is absolute"},
        Mistake{"system_no_holds", "system:\n  - {class: hidden, kind: file, paths: {/etc/a: A}}\n", "a:2: [holds]"},
        Mistake{"runtime_relative", "runtime:\n  - run\n", "a:2: [path] this path is absolute"},
        Mistake{"auto_absolute", "auto_executed:\n  - /x\n", "a:2: [path]"}),
    [](const auto& one) { return one.param.name; });

std::string moved(const std::string& fields) { return "relocation:\n  - {" + fields + "}\n"; }

INSTANTIATE_TEST_SUITE_P(
    Relocations, CorpusMistake,
    testing::Values(
        Mistake{"no_rule", moved("variable: A, moves: directory, from: .a"),
                "a:2: [no-rule] no home rule is called \".a\""},
        Mistake{"bad_name", moved("variable: A-B, moves: base, from: .a"), "a:2: [variable]"},
        Mistake{"bad_moves", moved("variable: A, moves: house, from: .a"), "a:2: [unknown-word]"},
        Mistake{"base_below", moved("variable: A, moves: base, from: .a, below: b"), "a:2: [base]"},
        Mistake{"hidden_no_holds", moved("variable: A, moves: file, class: hidden, kind: file, what: W"),
                "a:2: [holds]"},
        Mistake{"as_and_what", moved("variable: A, moves: file, as: .a, class: read-only, kind: file, what: W"),
                "a:2: [as]"},
        Mistake{"class_without_what", moved("variable: A, moves: base, from: .a, class: hidden"), "a:2: [unknown-key]"},
        Mistake{"unsorted",
                "relocation:\n  - {variable: B, moves: base, from: .a}\n  - {variable: A, moves: base, from: .a}\n",
                "a:3: [unsorted]"},
        Mistake{"twice",
                "relocation:\n  - {variable: A, moves: base, from: .a}\n  - {variable: A, moves: base, from: .b}\n",
                "a:3: [twice]"}),
    [](const auto& one) { return one.param.name; });

TEST(Corpus, a_path_of_two_files_is_refused_whatever_its_class) {
  EXPECT_THAT(said_about({hidden("      .a: A\n"), read_only("      .a: B\n")}),
              HasSubstr("b:5: [twice] \".a\" stands at a:6 too"));
}

TEST(Corpus, a_read_only_rule_below_a_hidden_one_is_refused_as_never_holding) {
  EXPECT_THAT(said_about({hidden("      .a: A\n"), read_only("      .a/b: B\n")}), HasSubstr("b:5: [never-holds]"));
}

TEST(Corpus, a_rule_below_a_read_only_one_holds) {
  EXPECT_EQ(said_about({read_only("      .a: A\n      .a/b: B\n"), hidden("      .a/c: C\n")}), "accepted");
}

TEST(Corpus, a_moved_thing_is_protected_as_the_rule_it_follows) {
  const auto corpus = read({hidden("      .a: A\n"), moved("variable: V, moves: file, from: .a/key, as: .a")});
  ASSERT_TRUE(corpus) << said(corpus.error());
  const Entry& rule = corpus->relocations.at(0).protection;
  EXPECT_EQ(rule.deny, shield::Deny::kAll);
  EXPECT_EQ(rule.holds, shield::Holds::kCredentials);
  EXPECT_EQ(rule.kind, shield::Kind::kFile);
  EXPECT_EQ(rule.what, "A");
}

TEST(Tables, escape_what_would_end_a_text) {
  const auto corpus = read({hidden("      '.a\"\\b': A\n")});
  ASSERT_TRUE(corpus) << said(corpus.error());
  EXPECT_THAT(tables_source(*corpus), HasSubstr(R"({".a\"\\b", Deny::kAll, )"));
}

TEST(Page, in_the_repository_is_made_from_the_corpus) {
  const auto corpus = read_corpus(corpus_files());
  ASSERT_TRUE(corpus);
  const auto path = repository() / "docs/shields.md";
  if (std::getenv("CORDON_REGENERATE") != nullptr) std::ofstream(path, std::ios::binary) << page(*corpus);
  EXPECT_EQ(contents(path), page(*corpus)) << path << " is out of date: run this test with CORDON_REGENERATE=1";
}

}  // namespace
}  // namespace cordon::shields
