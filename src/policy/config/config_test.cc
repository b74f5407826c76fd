#include "policy/config/config.h"

#include <gmock/gmock.h>

namespace cordon::policy::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> blocks(std::string_view text) {
  std::vector<std::string> out;
  const auto config = parse(text, "config.yaml");
  EXPECT_TRUE(config.has_value()) << text;
  for (const Text& one : config ? config->allow_address : std::vector<Text>()) out.push_back(one.value);
  return out;
}

std::vector<std::string> codes(std::string_view text) {
  std::vector<std::string> out;
  const auto config = parse(text, "config.yaml");
  EXPECT_FALSE(config.has_value()) << text;
  if (!config)
    for (const auto& one : config.error()) out.push_back(one.code);
  return out;
}

TEST(Config, OpensBlocksAndSingleAddresses) {
  EXPECT_THAT(blocks("allow_address: [10.0.0.0/8, 'fd00::/8', 192.168.1.1]\n"),
              ElementsAre("10.0.0.0/8", "fd00::/8", "192.168.1.1/32"));
  EXPECT_EQ(parse("# mirrors\nallow_address:\n  - 10.0.0.0/8\n", "config.yaml")->allow_address[0].at.span.line, 3U);
}

TEST(Config, ThatIsEmptyOpensNothing) {
  EXPECT_THAT(blocks(""), IsEmpty());
  EXPECT_THAT(blocks("# nothing yet\n"), IsEmpty());
  EXPECT_THAT(blocks("allow_address: []\n"), IsEmpty());
}

TEST(Config, NeverOpensWhatIsNeverReached) {
  for (const char* one :
       {"127.0.0.0/8", "169.254.169.254", "'::1'", "224.0.0.0/4", "10.0.0.1/8", "10.0.0", "a.example"})
    EXPECT_THAT(codes(std::string("allow_address: [") + one + "]\n"), ElementsAre("bad-address-block")) << one;
}

TEST(Config, ReportsEveryProblemAtOnce) {
  EXPECT_EQ(codes("allow_address: [nowhere, [], ~]\nalow_address: []\nallow_address: []\n").size(), 5U);
  EXPECT_FALSE(codes("allow_address: 10.0.0.0/8\n").empty());
  EXPECT_FALSE(codes("- 10.0.0.0/8\n").empty());
  EXPECT_FALSE(codes("allow_address: &a [10.0.0.0/8]\n").empty());
}

}  // namespace
}  // namespace cordon::policy::config
