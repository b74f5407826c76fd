#include "cli/manifest_keys.h"

#include <gtest/gtest.h>

#include <array>

namespace cordon::cli {
namespace {

constexpr std::array<std::string_view, 2> kKeys = {"dependencies", "config.allow-plugins"};

bool only(const std::string& before, const std::string& after) { return only_these_keys_changed(before, after, kKeys); }

TEST(ManifestKeys, LetTheirOwnChangeAndNothingElse) {
  const std::string base = R"({"name":"p","scripts":{"a":"b"}})";
  EXPECT_TRUE(only(base, R"({"scripts":{"a":"b"},"name":"p","dependencies":{"x":"1"}})"));
  EXPECT_TRUE(only(base, R"({"name":"p","scripts":{"a":"b"},"config":{"allow-plugins":{"x":true}}})"));
  EXPECT_FALSE(only(base, R"({"name":"p","scripts":{"a":"evil"}})"));
  EXPECT_FALSE(only(base, R"({"name":"p","scripts":{"a":"b"},"config":{"other":1}})"));
  EXPECT_FALSE(only(base, R"({"name":"p","scripts":{"a":"b"},"postinstall":"evil"})"));
}

TEST(ManifestKeys, AKeyThatStandsTwiceIsOneTooMany) {
  EXPECT_FALSE(only("{}", R"({"dependencies":{},"dependencies":{}})"));
  EXPECT_FALSE(only(R"({"scripts":{"a":"b"}})", R"({"scripts":{"a":"evil"},"scripts":{"a":"b"}})"));
}

TEST(ManifestKeys, WhatIsNoObjectDoesNotChange) {
  for (const char* text : {"", "[]", "{", "null", "name = 'p'"}) EXPECT_FALSE(only("{}", text)) << text;
  EXPECT_FALSE(only("[]", "{}"));
}

}  // namespace
}  // namespace cordon::cli
