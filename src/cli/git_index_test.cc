#include "cli/git_index.h"

#include <gtest/gtest.h>

#include <string>

namespace cordon::cli {
namespace {

std::string number(std::uint32_t value) {
  return {static_cast<char>(value >> 24U), static_cast<char>(value >> 16U & 0xffU),
          static_cast<char>(value >> 8U & 0xffU), static_cast<char>(value & 0xffU)};
}

/// An index of version 2 with these names (gitformat-index(5)); no checksum, which is not looked at.
std::string index(const std::vector<std::string>& names, std::uint32_t version = 2) {
  std::string out = "DIRC" + number(version) + number(static_cast<std::uint32_t>(names.size()));
  for (const std::string& name : names) {
    std::string entry(60, '\1');
    entry += std::string("\0\5", 2) + name;
    entry.append((entry.size() + 8) / 8 * 8 - entry.size(), '\0');
    out += entry;
  }
  return out;
}

TEST(GitIndex, KnowsEveryTrackedFileAndTheDirectoriesThatHoldOne) {
  const Tracked tracked = parse_git_index(index({"a.js", "dist/index.js", "src/target/deep/mod.rs"}));
  for (const char* path : {"a.js", "dist", "src", "src/target", "src/target/deep"})
    EXPECT_TRUE(tracked.holds(path)) << path;
  for (const char* path : {"node_modules", "target", "dist/x", ""}) EXPECT_FALSE(tracked.holds(path)) << path;
}

TEST(GitIndex, TakesEverythingForTrackedWhereItIsNotUnderstood) {
  const std::string good = index({"a/b"});
  for (const std::string& bytes :
       {std::string(), std::string("DIRC"), good.substr(0, 40), good.substr(0, good.size() - 4), index({"a/b"}, 5),
        good + "link" + number(0), std::string("JUNK") + good.substr(4)})
    EXPECT_TRUE(parse_git_index(bytes).holds("node_modules")) << bytes.size();
}

TEST(GitIndex, SurvivesEveryByteChanged) {
  const std::string good = index({"a/b", "c/d/e"});
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char value : {'\0', '\377', 'L'}) {
      std::string bytes = good;
      bytes[at] = value;
      static_cast<void>(parse_git_index(bytes).holds("a"));
    }
  }
}

}  // namespace
}  // namespace cordon::cli
