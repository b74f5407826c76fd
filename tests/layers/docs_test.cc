// The pages stay true: what they name exists, and what must be named is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace {
namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

const fs::path kRoot = CORDON_SOURCE_DIR;

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Every "Suite.Test" that stands in the test sources.
std::set<std::string> tests_that_exist() {
  std::set<std::string> names;
  const std::regex test(R"(TEST(?:_P|_F)?\(\s*(\w+),\s*(\w+)\))");
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "tests")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = slurp(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), test), end; at != end; ++at) {
      names.insert((*at)[1].str() + "." + (*at)[2].str());
    }
  }
  return names;
}

std::set<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) found.insert((*at)[1].str());
  return found;
}

TEST(Docs, EveryTestThatTheThreatModelNamesExists) {
  const auto named = matches(slurp(kRoot / "docs/threat-model.md"), std::regex(R"(`([A-Z]\w+\.[A-Z]\w+)`)"));
  ASSERT_GE(named.size(), 40U);
  const auto existing = tests_that_exist();
  for (const auto& name : named) EXPECT_THAT(existing, Contains(name));
}

TEST(Docs, EverySuiteOfPromisesStandsInTheThreatModel) {
  const std::string page = slurp(kRoot / "docs/threat-model.md");
  const std::regex suite(R"((?:CORDON_PROMISE|CORDON_ROOT_PROMISE)\((\w+)\))");
  // What a user sees rather than what holds an adversary: the pages of the commands tell of these.
  const std::set<std::string> elsewhere{"ExitCode", "Message", "ManifestOfOthers"};
  int suites = 0;
  for (const auto& entry : fs::directory_iterator(kRoot / "tests/promises")) {
    for (const auto& name : matches(slurp(entry.path()), suite)) {
      ++suites;
      if (!elsewhere.contains(name)) {
        EXPECT_THAT(page, HasSubstr("`" + name + "."));
      }
    }
  }
  EXPECT_GE(suites, 10);
}

TEST(Docs, EveryRelativeLinkLeadsSomewhere) {
  int followed = 0;
  const std::regex link(R"(\]\(([^)#:]+)\))");
  std::vector<fs::path> pages{kRoot / "README.md", kRoot / "CONTRIBUTING.md", kRoot / "SECURITY.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  for (const auto& page : pages) {
    for (const auto& target : matches(slurp(page), link)) {
      EXPECT_TRUE(fs::exists(page.parent_path() / target)) << page << " links to " << target;
      ++followed;
    }
  }
  EXPECT_GE(followed, 10);
}

TEST(Docs, EveryRoomStandsInTheArchitecture) {
  const std::string page = slurp(kRoot / "docs/architecture.md");
  std::istringstream in(slurp(CORDON_ROOM_LIST));
  int rooms = 0;
  for (std::string line; std::getline(in, line); ++rooms) {
    EXPECT_THAT(page, HasSubstr("`" + line.substr(0, line.find(':')) + "`"));
  }
  EXPECT_GE(rooms, 10);
}

TEST(Docs, EveryDecisionIsListed) {
  const std::string index = slurp(kRoot / "docs/adr/README.md");
  for (const auto& entry : fs::directory_iterator(kRoot / "docs/adr")) {
    const std::string name = entry.path().filename().string();
    if (name != "README.md") {
      EXPECT_THAT(index, HasSubstr("(" + name + ")"));
    }
  }
}

/// Every flag and command of the table that the program reads.
std::set<std::string> words_of_the_command_line() {
  return matches(slurp(kRoot / "src/cli/options.cc"),
                 std::regex(R"((?:OptionRow|CommandRow)(?: \w+)?\{\s*"([a-z-]+)\")"));
}

TEST(Words, NoMendAndNoPageNamesACommandOrAFlagThatIsNotThere) {
  auto known = words_of_the_command_line();
  known.insert({"--help", "--version"});
  ASSERT_THAT(known, Contains("approve"));
  ASSERT_THAT(known, Contains("--accept-alias"));
  // In code a command stands in a text for people, its name first; "Cordon" in prose is written large.
  const std::regex command(
      R"re("[^"\n]*\bcordon (?!and |blocked |cordon |manifest |runs |this |with )([a-z]+)[^"\n]*")re");
  const std::regex flag(R"re("[^"\n]*\bcordon [a-z]+ (--[a-z][a-z-]*)[^"\n]*")re");
  const std::regex shown(R"((?:^|\n|`)(?:\$ | {4})?cordon ([a-z]+))");
  int seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "src")) {
    const std::string name = entry.path().string();
    if (!name.ends_with(".cc") || name.ends_with("_test.cc") || name.ends_with("completion.cc")) continue;
    const std::string text = slurp(entry.path());
    for (const std::regex* pattern : {&command, &flag})
      for (const std::string& word : matches(text, *pattern)) {
        EXPECT_THAT(known, Contains(word)) << name;
        ++seen;
      }
  }
  for (const char* page : {"README.md", "docs/manifest.md", "docs/network.md", "docs/threat-model.md"})
    for (const std::string& word : matches(slurp(kRoot / page), shown)) EXPECT_THAT(known, Contains(word)) << page;
  EXPECT_GE(seen, 8);
}

}  // namespace
