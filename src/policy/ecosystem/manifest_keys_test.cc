#include "policy/ecosystem/manifest_keys.h"

#include <gtest/gtest.h>

#include <array>

namespace cordon::policy::ecosystem {
namespace {

constexpr std::array<std::string_view, 2> kKeys = {"dependencies", "config.allow-plugins"};

bool only(const std::string& before, const std::string& after) {
  return only_these_keys_changed("a/package.json", before, after, kKeys);
}

TEST(ManifestKeys, LetTheirOwnChangeAndNothingElse) {
  const std::string base = R"({"name":"p","scripts":{"a":"b"}})";
  EXPECT_TRUE(only(base, R"({"name":"p","dependencies":{"x":"1"},"scripts":{"a":"b"}})"));
  EXPECT_FALSE(only(R"({"exports":{"import":"a","default":"b"}})", R"({"exports":{"default":"b","import":"a"}})"))
      << "the first that fits counts";
  EXPECT_FALSE(only(base, std::string(R"({"name":"p","scripts":{"a":"b"}})") + '\0' + "evil"));
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

TEST(ManifestKeys, OfTomlAreTables) {
  constexpr std::array<std::string_view, 2> keys = {"dependencies", "workspace.dependencies"};
  const auto cargo = [&](const std::string& before, const std::string& after) {
    return only_these_keys_changed("x/Cargo.toml", before, after, keys);
  };
  const std::string base = "[package]\nname = \"p\" # mine\n\n[dependencies]\na = \"1\"\n";
  EXPECT_TRUE(cargo(base, base + "serde = { version = \"1\", features = [\"derive\"] }\n"));
  EXPECT_TRUE(cargo(base, "dependencies.b = '2'\n[package]\nname = 'p'\n"));
  EXPECT_TRUE(cargo(base, base + "[dependencies.c]\nversion = \"1\"\n[workspace.dependencies]\nd = \"1\"\n"));
  EXPECT_FALSE(cargo(base, base + "[package.metadata]\nx = 1\n"));
  EXPECT_FALSE(cargo(base, base + "[build-dependencies]\ncc = \"1\"\n"));
  EXPECT_FALSE(cargo(base, "[package]\nname = \"p\"\nbuild = \"evil.rs\"\n[dependencies]\n"));
  // A table inside a text is none.
  EXPECT_FALSE(cargo(base, "[dependencies]\n[package]\nname = \"\"\"p\n[dependencies]\n\"\"\"\n"));
  for (const char* broken : {"[package\n", "[dependencies]\na = 1\na = 2\n", "= 1\n", "[package]\nname = p\n"})
    EXPECT_FALSE(cargo(base, broken)) << broken;
  EXPECT_FALSE(cargo("[package\n", base));
}

TEST(ManifestKeys, OfGoAreDirectives) {
  constexpr std::array<std::string_view, 2> keys = {"require", "go"};
  const auto go = [&](const std::string& before, const std::string& after) {
    return only_these_keys_changed("go.mod", before, after, keys);
  };
  const std::string base = "module m.example/p\n\ngo 1.19\n";
  EXPECT_TRUE(go(base, "module m.example/p\n\ngo 1.21\nrequire a.example/x v1.0.0\n"));
  EXPECT_TRUE(go(base, base + "require (\n\ta.example/x v1.0.0 // indirect\n)\n"));
  EXPECT_FALSE(go(base, base + "replace a.example/x => ../evil\n"));
  EXPECT_FALSE(go(base, base + "replace (\n a.example/x => ../evil\n)\n"));
  EXPECT_FALSE(go(base, "module other.example\ngo 1.19\n"));
  EXPECT_FALSE(go(base, base + "require (\n"));
  EXPECT_FALSE(go(base, base + "//go:debug x=1\n"));
  EXPECT_FALSE(go(base, base + "require (\n) // end\nreplace a.example/x => ../evil\nretract (\n)\n"));
  EXPECT_FALSE(go(base, base + "require (\n) a\n)\n"));
}

}  // namespace
}  // namespace cordon::policy::ecosystem
