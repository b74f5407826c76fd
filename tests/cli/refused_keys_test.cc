// What the pages present as working works, and what they mark as not yet there is refused by name: the two are read
// from docs/manifest.md and tried on the real program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>

#include "support/scene.h"

namespace cordon::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kRefused = "cannot be enforced by this version";

std::string page(const char* name) {
  std::ifstream in(std::string(CORDON_SOURCE_DIR) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Key {
  std::string name, example;
  bool not_yet = false;
};

/// The rows of the page's tables: keys of a manifest with their examples, and those of `limits` with one of ours.
std::vector<Key> keys_of_the_page() {
  const std::map<std::string, std::string> limits{
      {"memory", "1G"}, {"cpu", "50%"}, {"pids", "64"}, {"timeout", "10m"}, {"tmp", "512M"}};
  const std::regex key_row(R"(\| `([\w-]+)`(?: \(required\))?( \*\(not yet\)\*)? \|.*\| `([^`]*)` \|)");
  const std::regex limit_row(R"(\| `(\w+)`( \*\(not yet\)\*)? \|.*)");
  std::vector<Key> keys;
  bool in_limits = false;
  std::istringstream lines(page("docs/manifest.md"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("**")) in_limits = line == "**`limits`**";
    std::smatch cells;
    if (in_limits && std::regex_match(line, cells, limit_row))
      keys.push_back({"limits", "{" + cells[1].str() + ": " + limits.at(cells[1]) + "}", cells[2].matched});
    else if (std::regex_match(line, cells, key_row))
      keys.push_back({cells[1], cells[3], cells[2].matched});
  }
  return keys;
}

class RefusedKeys : public testing::Test {
 protected:
  RefusedKeys() : scene_(ordinary_user()) { scene_.tree().write("work/s.sh", "#!/bin/sh\nexit 0\n", 0755); }
  [[nodiscard]] bool is_refused(const std::string& line) const {
    return scene_.cordon({"validate", scene_.manifest("entrypoint: ./s.sh\n" + line + "\n")}).run().says(kRefused);
  }
  Scene scene_;
};

TEST_F(RefusedKeys, ThePageMarksEachKeyThatThisVersionRefusesAndNoOther) {
  int tried = 0, refused = 0;
  for (const Key& key : keys_of_the_page()) {
    if (key.name == "entrypoint" || key.name == "interpreter_args" || key.name == "exec") continue;
    const bool whole = key.name == "limits" && key.example.find(',') != std::string::npos;  // its members are tried
    if (whole) continue;
    ++tried;
    refused += key.not_yet ? 1 : 0;
    EXPECT_EQ(is_refused(key.name + ": " + key.example), key.not_yet) << key.name << ": " << key.example;
  }
  EXPECT_GE(tried, 17);
  EXPECT_FALSE(is_refused("exec: [sh]"));
}

TEST_F(RefusedKeys, WhatIsMarkedIsNamedWhereAReaderStarts) {
  const std::string readme = page("README.md"), changes = page("CHANGELOG.md");
  for (const Key& key : keys_of_the_page()) {
    if (!key.not_yet || key.name == "limits") continue;
    EXPECT_THAT(readme.substr(0, readme.find("## When not")), HasSubstr("`" + key.name + "`"));
    EXPECT_THAT(changes, HasSubstr("`" + key.name + "`"));
  }
}

TEST_F(RefusedKeys, TheMendNamesWhatDoesTheSameToday) {
  const auto said = [&](const std::string& line) {
    return scene_.cordon({"validate", scene_.manifest("entrypoint: ./s.sh\n" + line + "\n")}).run().out;
  };
  EXPECT_THAT(said("agent: [ssh]"), AllOf(HasSubstr("m.yaml:2:9: error:"), HasSubstr("remove the line")));
}

/// Examples that are presented as manifests, not marked lines of prose.
TEST_F(RefusedKeys, NoExampleOfThePagesAsksForWhatIsRefused) {
  const std::regex block("```yaml\n([^`]*)```");
  int tried = 0;
  for (const char* name : {"docs/manifest.md", "docs/network.md", "README.md"}) {
    const std::string text = page(name);
    for (std::sregex_iterator at(text.begin(), text.end(), block), end; at != end; ++at) {
      const Finished said = scene_.cordon({"validate", scene_.manifest((*at)[1].str())}).run();
      EXPECT_FALSE(said.says(kRefused)) << name << said;
      ++tried;
    }
  }
  EXPECT_GE(tried, 6);
}

}  // namespace
}  // namespace cordon::test
