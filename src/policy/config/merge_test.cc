#include "policy/config/merge.h"

#include <gmock/gmock.h>

#include <array>

#include "policy/config/network.h"

namespace cordon::policy::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::array<std::string_view, 3> kBuiltIn = {"generic", "node", "rust"};

base::AbsPath path(std::string_view text) { return *base::AbsPath::parse(text); }
const Places kPlaces = {path("/home/u"), path("/w/p/sub")};

Config read(std::string_view text, std::string_view file = "f.yaml") {
  auto config = parse(text, file, kBuiltIn);
  EXPECT_TRUE(config.has_value()) << text << (config ? "" : config.error().front().message);
  return config ? std::move(*config) : Config();
}

Layer user(const Config& config) {
  return {.config = &config, .may = Layer::May::kAll, .trusted = {}, .directory = {}};
}
Layer project(const Config& config, std::set<std::string> trusted = {}) {
  return {.config = &config, .may = Layer::May::kTrusted, .trusted = std::move(trusted), .directory = path("/w/p")};
}

Merged merged(std::vector<Layer> layers, std::vector<std::string> profiles = {"node"}) {
  return merge(layers, profiles, kBuiltIn, kPlaces);
}

std::vector<std::string> paths(const std::vector<Path>& list) {
  std::vector<std::string> out;
  for (const Path& one : list) out.push_back(one.path);
  return out;
}

std::vector<std::string> rules(const Merged& merged, std::vector<NetworkRule> before = {}) {
  static_cast<void>(apply_steps(merged.network, before));
  std::vector<std::string> out;
  for (const NetworkRule& rule : before) out.push_back(rule.host + ":" + rule.port);
  return out;
}

std::vector<std::string> ignored(const Merged& merged) {
  std::vector<std::string> out;
  for (const Ask& ask : merged.ignored) out.push_back(ask.key + " " + ask.value);
  return out;
}

TEST(Paths, AreExpandedLexically) {
  const auto at = [](std::string_view text) { return expand(text, kPlaces).value_or(base::AbsPath()).str(); };
  EXPECT_EQ(at("~"), "/home/u");
  EXPECT_EQ(at("~/x/"), "/home/u/x");
  EXPECT_EQ(at("$HOME"), "/home/u");
  EXPECT_EQ(at("$HOME/x"), "/home/u/x");
  EXPECT_EQ(at("$PWD/x"), "/w/p/sub/x");
  EXPECT_EQ(at("./dist/"), "/w/p/sub/dist");
  EXPECT_EQ(at("./dist"), "/w/p/sub/dist");
  EXPECT_EQ(at("."), "/w/p/sub");
  EXPECT_EQ(at("x"), "/w/p/sub/x");
  EXPECT_EQ(at("/abs//x/"), "/abs/x");
  EXPECT_FALSE(expand("../x", kPlaces));
  EXPECT_FALSE(expand("$HOMEX/x", kPlaces));
  for (const char* one : {"x", "./x", ".", "$PWD", "$PWD/x"}) EXPECT_TRUE(is_relative(one)) << one;
  for (const char* one : {"~", "~/x", "$HOME/x", "/x"}) EXPECT_FALSE(is_relative(one)) << one;
}

TEST(Merge, ListsAppendAndEveryEntryKeepsItsPlace) {
  const Config one = read("profiles: {node: {allowRead: [/a], env: {A: one, B: one}}}\n", "one.yaml");
  const Config two = read("profiles: {node: {allowRead: [/b], env: {A: two}}}\n", "two.yaml");
  const Merged out = merged({user(one), user(two)});
  EXPECT_THAT(paths(out.read), ElementsAre("/a", "/b"));
  EXPECT_EQ(out.read[1].at.span.file, "two.yaml");
  ASSERT_EQ(out.env.size(), 2U);
  EXPECT_EQ(out.env[1].value, "two");
  EXPECT_EQ(out.env[1].at.span.file, "two.yaml");
}

TEST(Merge, OnlyTheBlocksOfTheProfilesCount) {
  const Config one =
      read("allow_address: [10.0.0.0/8]\nprofiles: {node: {allowRead: [/n]}, rust: {allowRead: [/r]}}\n");
  EXPECT_THAT(paths(merged({user(one)}, {"rust"}).read), ElementsAre("/r"));
  EXPECT_THAT(paths(merged({user(one)}, {"node", "rust"}).read), ElementsAre("/n", "/r"));
  EXPECT_EQ(merged({user(one)}, {}).allow_address.size(), 1U);
}

TEST(Merge, ALaterDenyTakesEarlierAllowsAway) {
  const Config one = read("profiles: {node: {allowRead: [/a/x, /ab], allowWrite: [/a/y], allowExec: [/a]}}\n");
  const Config two = read("profiles: {node: {denyRead: [/a]}}\n");
  const Merged out = merged({user(one), user(two)});
  EXPECT_THAT(paths(out.read), ElementsAre("/ab"));
  EXPECT_THAT(paths(out.write), IsEmpty());
  EXPECT_THAT(paths(out.execute), IsEmpty());
  EXPECT_THAT(paths(out.deny_read), ElementsAre("/a"));
  EXPECT_THAT(paths(merged({user(two), user(one)}).read), ElementsAre("/a/x", "/ab")) << "the order decides";
}

TEST(Merge, ALaterAllowExecTakesAnOverlappingDenyExecAway) {
  const Config one = read("profiles: {node: {denyExec: [/opt/t/bin, /usr/bin/curl]}}\n");
  const Config two = read("profiles: {node: {allowExec: [/opt/t]}}\n");
  EXPECT_THAT(paths(merged({user(one), user(two)}).deny_exec), ElementsAre("/usr/bin/curl"));
  const Config both = read("profiles: {node: {allowExec: [/opt/t], denyExec: [/opt/t/bin]}}\n");
  EXPECT_THAT(paths(merged({user(both)}).deny_exec), ElementsAre("/opt/t/bin")) << "in one block the deny holds";
}

TEST(Merge, WhatIsExtendedComesFirstAndABuiltInIsNamed) {
  const Config one = read(
      "profiles: {mine: {extends: shared, allowDomains: [a.x]}, shared: {extends: node, denyDomains: [a.x], "
      "allowRead: [/s]}}\n");
  const Merged out = merged({user(one)}, {"mine"});
  EXPECT_THAT(rules(out), ElementsAre("a.x:443"));
  EXPECT_THAT(paths(out.read), ElementsAre("/s"));
  ASSERT_EQ(out.bases.size(), 1U);
  EXPECT_EQ(out.bases[0].value, "node");
  const Config node = read("profiles: {node: {extends: rust}, rust: {allowRead: [/r]}}\n");
  EXPECT_THAT(merged({user(node)}).bases, IsEmpty()) << "the block, not the whole profile";
  EXPECT_THAT(paths(merged({user(node)}).read), ElementsAre("/r"));
}

struct AlgebraCase {
  const char* name;
  std::vector<const char*> blocks;  ///< of node, the weakest first
  std::vector<std::string> before;  ///< hosts of the profile
  std::vector<std::string> expected;
};
void PrintTo(const AlgebraCase& one, std::ostream* out) { *out << one.name; }

class Algebra : public testing::TestWithParam<AlgebraCase> {};

TEST_P(Algebra, Holds) {
  std::vector<Config> configs;
  for (const char* block : GetParam().blocks)
    configs.push_back(read("profiles: {node: {" + std::string(block) + "}}\n"));
  std::vector<Layer> layers;
  for (const Config& config : configs) layers.push_back(user(config));
  std::vector<NetworkRule> before;
  for (const std::string& host : GetParam().before) before.push_back({host, "443", {}, {}});
  EXPECT_EQ(rules(merged(layers), before), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Of, Algebra,
    testing::Values(
        AlgebraCase{"nothing", {""}, {"p.x"}, {"p.x:443"}},
        AlgebraCase{"appends",
                    {"allowDomains: [a.x, 'b.x:8443']", "allowFetch: [c.x]"},
                    {"p.x"},
                    {"p.x:443", "a.x:443", "b.x:8443", "c.x:443"}},
        AlgebraCase{"wildcard covers its own name", {"allowDomains: ['*.a.x']"}, {}, {"*.a.x:443", "a.x:443"}},
        AlgebraCase{"deny of the profile's", {"denyDomains: [p.x]"}, {"p.x", "q.x"}, {"q.x:443"}},
        AlgebraCase{"deny on every port", {"allowDomains: ['a.x:8443', a.x]", "denyDomains: [a.x]"}, {}, {}},
        AlgebraCase{"deny of one name takes the wildcard",
                    {"allowDomains: ['*.example.com']", "denyDomains: [bad.example.com]"},
                    {},
                    {"example.com:443"}},
        AlgebraCase{"deny of the wildcard takes a name",
                    {"allowDomains: [api.example.com]", "denyDomains: ['*.example.com']"},
                    {},
                    {}},
        AlgebraCase{"deny of the wildcard takes its own name", {"denyDomains: ['*.p.x']"}, {"p.x"}, {}},
        AlgebraCase{"two wildcards", {"allowDomains: ['*.a.x']", "denyDomains: ['*.b.a.x']"}, {}, {"a.x:443"}},
        AlgebraCase{"no suffix by chance", {"denyDomains: [le.com]"}, {"example.com"}, {"example.com:443"}},
        AlgebraCase{"a name is not below another", {"denyDomains: [a.p.x]"}, {"p.x"}, {"p.x:443"}},
        AlgebraCase{"a suffix rule of the profile", {"denyDomains: [a.p.x]"}, {".p.x"}, {}},
        AlgebraCase{"later allow", {"denyDomains: [a.x]", "allowDomains: [a.x]"}, {}, {"a.x:443"}},
        AlgebraCase{"same block: deny holds", {"denyDomains: [a.x], allowDomains: [a.x]"}, {}, {}},
        AlgebraCase{"no proxy", {"enableProxy: false"}, {"p.x"}, {"p.x:443", "*:443"}},
        AlgebraCase{"proxy again", {"enableProxy: false", "enableProxy: true"}, {"p.x"}, {"p.x:443"}},
        AlgebraCase{"all", {"allowAllNetwork: true"}, {"p.x"}, {"p.x:443", "*:*"}},
        AlgebraCase{"all, taken back", {"allowAllNetwork: true", "allowAllNetwork: false"}, {"p.x"}, {"p.x:443"}},
        AlgebraCase{"the switches are two",
                    {"allowAllNetwork: true, enableProxy: false", "allowAllNetwork: false"},
                    {},
                    {"*:443"}},
        AlgebraCase{"a deny and every host", {"enableProxy: false", "denyDomains: [a.x]"}, {"p.x"}, {"p.x:443"}},
        AlgebraCase{"no host at all", {"denyDomains: [p.x]"}, {"p.x"}, {}}));

TEST(Network, SaysWhatADenyTookOfEveryHost) {
  const Config one = read("profiles: {node: {enableProxy: false}}\n", "one.yaml");
  const Config two = read("profiles: {node: {denyDomains: [a.x]}}\n", "two.yaml");
  const Merged out = merged({user(one), user(two)});
  std::vector<NetworkRule> none;
  const auto taken = apply_steps(out.network, none);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].rule.span.file, "one.yaml");
  EXPECT_EQ(taken[0].by.span.file, "two.yaml");
}

constexpr const char* kGreedy =
    "allow_address: [10.0.0.0/8]\n"
    "profiles:\n"
    "  node: {extends: rust, allowWrite: [/a], allowRead: [/b], allowExec: [/c], allowDomains: [d.x], allowFetch: "
    "[e.x],\n"
    "         allowAllNetwork: true, enableProxy: false, env: {F: g},\n"
    "         denyRead: [./h], denyExec: [/i], denyDomains: [p.x]}\n"
    "  own: {allowRead: [/j]}\n";

TEST(Merge, AProjectOnlyNarrowsAndWhatItAsksBeyondIsListed) {
  const Config greedy = read(kGreedy);
  const Merged out = merged({project(greedy)});
  EXPECT_THAT(ignored(out), ElementsAre("allow_address 10.0.0.0/8", "extends rust", "allowWrite /a", "allowRead /b",
                                        "allowExec /c", "allowDomains d.x", "allowFetch e.x", "allowAllNetwork true",
                                        "enableProxy false", "env F=g"));
  EXPECT_TRUE(out.read.empty() && out.write.empty() && out.execute.empty() && out.env.empty() && out.bases.empty() &&
              out.allow_address.empty());
  EXPECT_THAT(paths(out.deny_read), ElementsAre("/w/p/sub/h", "/w/p/h")) << "here, and where the file stands";
  EXPECT_THAT(paths(out.deny_exec), ElementsAre("/i"));
  EXPECT_THAT(rules(out, {{"p.x", "443", {}, {}}}), IsEmpty());
}

TEST(Merge, AProjectMaySwitchOffUnasked) {
  const Config wide = read("profiles: {node: {enableProxy: false, allowAllNetwork: true}}\n");
  const Config narrow = read("profiles: {node: {enableProxy: true, allowAllNetwork: false, allowDegraded: false}}\n");
  const Merged out = merged({user(wide), project(narrow)});
  EXPECT_THAT(rules(out), IsEmpty());
  EXPECT_THAT(out.ignored, IsEmpty());
}

TEST(Merge, OfATrustedFileExactlyWhatWasTrustedCounts) {
  const Config greedy = read(kGreedy);
  std::set<std::string> all;
  for (const Ask& ask : asks_of(greedy, kBuiltIn)) all.insert(canonical(ask));
  EXPECT_EQ(all.size(), 12U) << "own's too: that it can be chosen, and what it reads";
  EXPECT_THAT(merged({project(greedy, all)}).ignored, IsEmpty());
  EXPECT_THAT(paths(merged({project(greedy, all)}).read), ElementsAre("/b"));
  all.erase("\"node\" allowRead \"/b\"");
  EXPECT_THAT(ignored(merged({project(greedy, all)})), ElementsAre("allowRead /b"));
  EXPECT_THAT(ignored(merged({project(greedy, {"\"rust\" allowRead \"/b\""})})), testing::Contains("allowRead /b"))
      << "of another profile";
}

TEST(Asks, AreToldApartByTheirText) {
  const Ask one{"a", "env", "X=1\n\"", {}};
  EXPECT_EQ(canonical(one), R"("a" env "X=1\n\"")");
  EXPECT_EQ(in_words({"node", "allowDomains", "a.x", {}}), "may reach \"a.x\"");
  EXPECT_EQ(in_words({"node", "enableProxy", "false", {}}), "may reach any host on port 443");
  EXPECT_LT(in_words({"node", "env", std::string(8'000, 'v'), {}}).size(), 300U);
  EXPECT_GT(in_words({"node", "env", std::string(8'000, 'v'), {}}, Length::kWhole).size(), 8'000U)
      << "nobody trusts what was not shown";
  const AskChanges changes = compare({"a", "b"}, {"b", "c"});
  EXPECT_THAT(changes.more, ElementsAre("c"));
  EXPECT_THAT(changes.fewer, ElementsAre("a"));
}

}  // namespace
}  // namespace cordon::policy::config
