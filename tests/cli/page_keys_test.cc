// What the pages present as a manifest is one: keys, their examples and whole manifests are read from the pages and
// tried on the real program.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>

#include "support/scene.h"

namespace cordon::test {
namespace {

std::string page(const char* name) {
  std::ifstream in(std::string(CORDON_SOURCE_DIR) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Key {
  std::string name, example;
};

/// The rows of the page's tables: keys of a manifest with their examples, and those of `limits` with one of ours.
std::vector<Key> keys_of_the_page() {
  const std::map<std::string, std::string> limits{
      {"memory", "1G"}, {"cpu", "50%"}, {"pids", "64"}, {"timeout", "10m"}, {"tmp", "512M"}};
  const std::regex key_row(R"(\| `([\w-]+)`(?: \(required\))? \|.*\| `([^`]*)` \|)");
  const std::regex limit_row(R"(\| `(\w+)` \|.*)");
  std::vector<Key> keys;
  bool in_limits = false;
  std::istringstream lines(page("docs/manifest.md"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("**")) in_limits = line == "**`limits`**";
    std::smatch cells;
    if (in_limits && std::regex_match(line, cells, limit_row))
      keys.push_back({"limits", "{" + cells[1].str() + ": " + limits.at(cells[1]) + "}"});
    else if (std::regex_match(line, cells, key_row))
      keys.push_back({cells[1], cells[2]});
  }
  return keys;
}

class PageKeys : public testing::Test {
 protected:
  PageKeys() : scene_(ordinary_user()) {
    for (const char* each : {"work/s.sh", "work/fetch.py"}) scene_.tree().write(each, "#!/bin/sh\nexit 0\n", 0755);
  }
  /// `validate` reads it, whatever it says of what this host grants.
  [[nodiscard]] Finished read(const std::string& yaml) const {
    return scene_.cordon({"validate", scene_.manifest(yaml)}).run();
  }
  Scene scene_;
};

TEST_F(PageKeys, EachKeyOfThePageIsReadWithItsExample) {
  int tried = 0;
  for (const Key& key : keys_of_the_page()) {
    if (key.name == "entrypoint" || key.name == "interpreter_args" || key.name == "exec") continue;
    const bool whole = key.name == "limits" && key.example.find(',') != std::string::npos;  // its members are tried
    if (whole) continue;
    ++tried;
    const Finished said = read("entrypoint: ./s.sh\n" + key.name + ": " + key.example + "\n");
    EXPECT_EQ(said.code, 0) << key.name << ": " << key.example << said;
  }
  EXPECT_GE(tried, 17);
  EXPECT_EQ(read("entrypoint: ./s.sh\nexec: [sh]\n").code, 0);
  EXPECT_NE(read("entrypoint: ./s.sh\nagents: [ssh]\n").code, 0) << "the control";
  EXPECT_NE(read("entrypoint: ./s.sh\nagent: [gpg]\n").code, 0) << "the control";
}

/// Examples that are presented as manifests, not marked lines of prose.
TEST_F(PageKeys, EachManifestOfThePagesIsRead) {
  const std::regex block("```yaml\n([^`]*)```");
  int tried = 0;
  for (const char* name : {"docs/manifest.md", "docs/network.md", "README.md"}) {
    const std::string text = page(name);
    for (std::sregex_iterator at(text.begin(), text.end(), block), end; at != end; ++at) {
      const std::string yaml = (*at)[1].str();
      // Of a configuration, of the middle of a manifest, or about files that are not there.
      if (!yaml.contains("entrypoint:") || yaml.contains("pin:")) continue;
      const Finished said = read(yaml);
      EXPECT_EQ(said.code, 0) << name << "\n" << yaml << said;
      ++tried;
    }
  }
  EXPECT_GE(tried, 3);
}

}  // namespace
}  // namespace cordon::test
