// CORDON_REGENERATE=1 writes docs/config.schema.json and the table of docs/configuration.md anew.
#include "policy/config/schema.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "policy/config/keys.h"

namespace cordon::policy::config {
namespace {

namespace fs = std::filesystem;

fs::path repository() { return fs::path(__FILE__).parent_path().parent_path().parent_path().parent_path(); }

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool regenerates() { return std::getenv("CORDON_REGENERATE") != nullptr; }

TEST(ConfigSchema, InTheRepositoryIsTheTables) {
  const fs::path path = repository() / "docs/config.schema.json";
  if (regenerates()) std::ofstream(path, std::ios::binary) << json_schema();
  EXPECT_EQ(text_of(path), json_schema()) << "run this test with CORDON_REGENERATE=1";
}

TEST(ConfigSchema, KnowsEveryKey) {
  const auto schema = nlohmann::json::parse(json_schema());
  const auto& block = schema["properties"]["profiles"]["additionalProperties"];
  for (const BlockKey& key : block_keys()) EXPECT_TRUE(block["properties"].contains(std::string(key.name))) << key.name;
  EXPECT_EQ(block["properties"].size(), block_keys().size());
  EXPECT_EQ(schema["properties"].size(), 2U);
}

TEST(ConfigReference, InTheDocumentationIsTheTables) {
  constexpr std::string_view kBegin = "<!-- keys: generated -->\n", kEnd = "<!-- /keys -->\n";
  const fs::path path = repository() / "docs/configuration.md";
  std::string page = text_of(path);
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos && begin < end);
  if (regenerates()) {
    page.replace(begin + kBegin.size(), end - begin - kBegin.size(), key_reference());
    std::ofstream(path, std::ios::binary) << page;
  }
  EXPECT_TRUE(page.contains(std::string(kBegin) + key_reference() + std::string(kEnd)))
      << "run this test with CORDON_REGENERATE=1";
}

}  // namespace
}  // namespace cordon::policy::config
