// Exact texts: each file of tests/golden/manifest and, beside it in FILE.txt, what is said about it.
// CORDON_REGENERATE=1 writes those texts, the schema and the key reference anew; look at the diff before you commit it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "policy/manifest/keys.h"
#include "policy/manifest/manifest.h"
#include "policy/manifest/schema.h"

namespace cordon::policy::manifest {
namespace {

namespace fs = std::filesystem;

fs::path repository() { return fs::path(__FILE__).parent_path().parent_path().parent_path().parent_path(); }

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void expect_file(const fs::path& path, const std::string& expected) {
  if (std::getenv("CORDON_REGENERATE") != nullptr) std::ofstream(path, std::ios::binary) << expected;
  EXPECT_EQ(contents(path), expected) << path << " is out of date: run this test with CORDON_REGENERATE=1";
}

std::vector<fs::path> inputs() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(repository() / "tests/golden/manifest"))
    if (entry.path().extension() != ".txt") out.push_back(entry.path());
  return out;
}

std::string said_about(const std::string& text, const std::string& name) {
  const auto loaded = parse(text, name);
  std::string out;
  for (const base::Diagnostic& one : loaded ? loaded->notes : loaded.error())
    out += "[" + one.code + "] " + base::render(one, text);
  return loaded ? out + "accepted\n" : out;
}

TEST(Golden, what_is_said_about_each_manifest) {
  EXPECT_GT(inputs().size(), 40U);
  for (const fs::path& input : inputs())
    expect_file(input.string() + ".txt", said_about(contents(input), input.filename().string()));
}

TEST(Golden, no_message_is_without_place_file_or_code) {
  for (const fs::path& input : inputs()) {
    const auto loaded = parse(contents(input), "m.yaml");
    for (const base::Diagnostic& one : loaded ? loaded->notes : loaded.error()) {
      EXPECT_EQ(one.at.file, "m.yaml");
      EXPECT_GT(one.at.line, 0U) << input;
      EXPECT_GT(one.at.column, 0U) << input;
      EXPECT_FALSE(one.message.empty());
      EXPECT_FALSE(one.message.ends_with('.')) << one.message;
      EXPECT_FALSE(one.code.empty());
    }
  }
}

TEST(Schema, in_the_repository_is_the_tables) {
  expect_file(repository() / "docs/manifest.schema.json", json_schema());
}

TEST(Schema, is_json_and_knows_every_key) {
  const auto schema = nlohmann::json::parse(json_schema());
  for (const Key& key : keys()) EXPECT_TRUE(schema["properties"].contains(std::string(key.name))) << key.name;
  EXPECT_EQ(schema["properties"].size(), keys().size());
}

/// std::regex has bytes, not code points: the C1 controls are left out here.
std::regex compiled(Rule rule) {
  constexpr std::string_view kControls = "\\u0000-\\u001f\\u007f-\\u009f";
  std::string pattern(rule_pattern(rule));
  for (std::size_t at = 0; (at = pattern.find(kControls)) != std::string::npos;)
    pattern.replace(at, kControls.size(), "\\x01-\\x1f\\x7f");
  return std::regex(pattern);
}

TEST(Schema, patterns_accept_what_the_checks_accept) {
  const std::vector<std::pair<Rule, std::vector<std::string>>> accepted = {
      {Rule::kPath, {"a", "~", "~/a", "/", "a~b", "a b", "\xc3\xa9", "./~bob"}},
      {Rule::kProgram, {"python3", "./x"}},
      {Rule::kEnvName, {"A", "_1"}},
      {Rule::kHost, {"a.com", "*", ".a.com", "*.a.com", "192.0.2.1", "2001:db8::/32"}},
      {Rule::kPort, {"1", "65535", "8000-8010", "*"}},
      {Rule::kPlainPort, {"1", "65535"}},
      {Rule::kMemory, {"1", "512M"}},
      {Rule::kPercent, {"0.5%", "150%", "12.25%"}},
      {Rule::kCount, {"1", "128"}},
      {Rule::kDuration, {"1s", "10m", "2h"}},
      {Rule::kDevice, {"/dev/kvm"}},
      {Rule::kAgent, {"ssh"}},
      {Rule::kAllowance, {"nested-sandbox"}},
      {Rule::kArgument, {"", "a b"}},
  };
  for (const auto& [rule, values] : accepted)
    for (const std::string& value : values) {
      EXPECT_FALSE(check_value(rule, value)) << value;
      EXPECT_TRUE(std::regex_match(value, compiled(rule))) << value << " " << rule_pattern(rule);
    }
}

constexpr std::string_view kBegin = "<!-- generated from src/policy/manifest/keys.cc: begin -->\n";
constexpr std::string_view kEnd = "<!-- generated: end -->\n";

TEST(Manual, its_key_reference_is_the_tables) {
  const fs::path path = repository() / "docs/manifest.md";
  const std::string manual = contents(path);
  const std::size_t begin = manual.find(kBegin);
  const std::size_t end = manual.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  expect_file(path, manual.substr(0, begin + kBegin.size()) + "\n" + key_reference() + "\n" + manual.substr(end));
}

TEST(Manual, every_example_that_is_a_manifest_parses) {
  const std::string manual = contents(repository() / "docs/manifest.md");
  const std::regex block("```yaml\n([^`]*)```");
  std::size_t seen = 0;
  for (auto it = std::sregex_iterator(manual.begin(), manual.end(), block); it != std::sregex_iterator(); ++it) {
    const std::string text = (*it)[1];
    EXPECT_TRUE(parse(text, "manual.yaml")) << text << said_about(text, "manual.yaml");
    ++seen;
  }
  EXPECT_GT(seen, 5U);
}

TEST(Keys, every_example_of_the_table_parses) {
  for (const Key& key : keys()) {
    if (key.example.empty()) continue;
    std::string text = std::string(key.name) + ": " + std::string(key.example) + "\n";
    if (key.name != "entrypoint") text += "entrypoint: ./x\n";
    if (key.name == "interpreter_args") text += "interpreter: python3\n";
    EXPECT_TRUE(parse(text, "m.yaml")) << text << said_about(text, "m.yaml");
  }
}

TEST(Keys, no_name_is_used_twice) {
  std::set<std::string_view> names;
  for (const Key& key : keys()) EXPECT_TRUE(names.insert(key.name).second) << key.name;
}

}  // namespace
}  // namespace cordon::policy::manifest
