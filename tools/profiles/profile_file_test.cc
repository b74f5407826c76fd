#include "profile_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "profile_page.h"
#include "profile_tables.h"

namespace cordon::profiles {
namespace {
using testing::HasSubstr;

std::filesystem::path repository() { return CORDON_SOURCE_DIR; }

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<File> profile_files() {
  std::vector<File> files;
  for (const auto& entry : std::filesystem::directory_iterator(repository() / "profiles"))
    files.push_back({entry.path().filename(), contents(entry.path())});
  std::ranges::sort(files, {}, &File::name);
  return files;
}

std::string said(const base::Diagnostics& mistakes) {
  std::string out;
  for (const auto& one : mistakes)
    out += one.at.file + ":" + std::to_string(one.at.line) + ": [" + one.code + "] " + one.message + "\n";
  return out;
}

const File kGeneric{"generic.yaml", "name: generic\nwhat: anything\n"};

std::string said_about(const std::string& lines, const std::vector<File>& others = {kGeneric}) {
  std::vector<File> files{{"p.yaml", "name: p\nwhat: a profile\n" + lines}};
  files.insert(files.end(), others.begin(), others.end());
  const auto read = read_profiles(files);
  return read ? "accepted" : said(read.error());
}

struct Mistake {
  const char* name;
  std::string lines;
  std::string said;
};

class Refused : public testing::TestWithParam<Mistake> {};

TEST_P(Refused, is_said_with_its_place) { EXPECT_THAT(said_about(GetParam().lines), HasSubstr(GetParam().said)); }

INSTANTIATE_TEST_SUITE_P(
    Profiles, Refused,
    testing::Values(
        Mistake{"unknown_key", "outptus: {}\n", "p.yaml:3: [unknown-key]"},
        Mistake{"unsorted", "markers: [b, a]\n", "p.yaml:3: [unsorted]"},
        Mistake{"relative_path", "read: [etc/x]\n", "p.yaml:3: [path] this path is absolute"},
        Mistake{"climbing_path", "read: [~/../x]\n", "p.yaml:3: [path]"},
        Mistake{"other_users_home", "read: [~root/x]\n", "p.yaml:3: [path]"},
        Mistake{"cache_without_class", "caches: [{path: ~/.c}]\n", "p.yaml:3: [key-missing] \"class\""},
        Mistake{"unknown_class", "caches: [{path: ~/.c, class: shared}]\n", "p.yaml:3: [unknown-word]"},
        Mistake{"place_of_nothing", "caches: [{class: store}]\n", "p.yaml:3: [place]"},
        Mistake{"bad_variable", "read: [{path: /a, moved_by: {A-B: .}}]\n", "p.yaml:3: [variable]"},
        Mistake{"climbing_mover", "read: [{path: /a, moved_by: {A: ../b}}]\n", "p.yaml:3: [path]"},
        Mistake{"every_host", "domains: ['*']\n", "p.yaml:3: [host]"},
        Mistake{"suffix_host", "domains: ['*.example.org']\n", "p.yaml:3: [host]"},
        Mistake{"address", "domains: [10.0.0.1]\n", "p.yaml:3: [host]"},
        Mistake{"url", "domains: ['https://example.org/']\n", "p.yaml:3: [host]"},
        Mistake{"unknown_intent", "commands: [{names: [a], bare: install it}]\n", "p.yaml:3: [unknown-word]"},
        Mistake{"decider_without_dash", "commands: [{names: [a], decides: {watch: dev}}]\n", "p.yaml:3: [option]"},
        Mistake{"absolute_output", "outputs: {directories: [/target]}\n", "p.yaml:3: [path]"},
        Mistake{"climbing_output", "outputs: {directories: [../target]}\n", "p.yaml:3: [path]"},
        Mistake{"registry_without_role", "registries: [{hosts: [a.example]}]\n", "p.yaml:3: [role]"},
        Mistake{"unknown_format", "registries: [{role: r, files: [{format: ini, path: /a}]}]\n",
                "p.yaml:3: [unknown-word]"},
        Mistake{"command_twice", "commands: [{names: [a]}, {names: [a]}]\n", "[twice] the command \"a\""}),
    [](const auto& one) { return one.param.name; });

TEST(Profiles, a_good_one_is_accepted) {
  EXPECT_EQ(
      said_about("commands: [{names: [a], words: [{names: [b], intent: build}], decides: {-w: dev}}]\n"
                 "caches: [{path: ~/.a, class: content, moved_by: {A: ., B: c}}, {class: store, moved_by: {C: .}}]\n"
                 "domains: ['a.example:8443']\n"),
      "accepted");
}

TEST(Profiles, a_file_is_called_as_its_profile) {
  EXPECT_THAT(said_about("", {kGeneric, {"q.yaml", "name: r\nwhat: another\n"}}), HasSubstr("q.yaml:1: [name]"));
}

TEST(Profiles, a_marker_of_two_profiles_is_refused) {
  EXPECT_THAT(said_about("markers: [m]\n", {kGeneric, {"q.yaml", "name: q\nwhat: another\nmarkers: [m]\n"}}),
              HasSubstr("the marker \"m\" stands in profile p too"));
}

TEST(Profiles, without_generic_nothing_is_accepted) { EXPECT_THAT(said_about("", {}), HasSubstr("[generic]")); }

TEST(Profiles, of_the_repository_are_accepted) {
  const auto read = read_profiles(profile_files());
  EXPECT_TRUE(read) << said(read.error());
}

TEST(Tables, escape_what_would_end_a_text) {
  const std::vector<File> files{kGeneric, {"p.yaml", "name: p\nwhat: a\nmarkers: ['a\"\\b']\n"}};
  const auto read = read_profiles(files);
  ASSERT_TRUE(read) << said(read.error());
  EXPECT_THAT(tables_source(read->profiles), HasSubstr(R"("a\"\\b",)"));
}

TEST(Page, in_the_repository_is_made_from_the_profiles) {
  const auto read = read_profiles(profile_files());
  ASSERT_TRUE(read);
  const auto path = repository() / "docs/profiles.md";
  if (std::getenv("CORDON_REGENERATE") != nullptr) std::ofstream(path, std::ios::binary) << page(read->profiles);
  EXPECT_EQ(contents(path), page(read->profiles)) << path << " is out of date: run this test with CORDON_REGENERATE=1";
}

}  // namespace
}  // namespace cordon::profiles
