#include "policy/manifest/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/manifest/manifest.h"
#include "policy/manifest/test_policies.h"

namespace cordon::policy::manifest {
namespace {

Policy policy_of(std::string_view text) {
  const auto loaded = parse(text, "m.yaml");
  EXPECT_TRUE(loaded.has_value()) << text;
  return loaded ? loaded->policy : Policy();
}

Rewritten rewritten(std::string_view text, const Policy& wanted) {
  auto out = with_permissions(text, wanted);
  EXPECT_TRUE(out.has_value());
  return out ? *out : Rewritten();
}

constexpr std::string_view kCommented = R"(# what fetch.py may do
entrypoint: ./fetch.py
read:
  # the list of places
  - ./places.csv   # reviewed by Ana
  - ./old.csv

network:
  - host: a.example   # the API
    port: '443'
exec: none  # on purpose
# the end
)";

TEST(WithPermissions, AddsEntriesBehindTheirFellowsAndKeepsEveryComment) {
  Policy wanted = policy_of(kCommented);
  wanted.read.push_back({"./new.csv", {}, {}});
  wanted.network.push_back({"b.example", "8443", {}, {}});
  wanted.write.push_back({"./out", {}, {}});
  wanted.env.push_back({"HOME", {}, {}});
  wanted.exec.mode = ExecMode::kAll;
  const Rewritten out = rewritten(kCommented, wanted);
  EXPECT_TRUE(out.layout_kept);
  EXPECT_EQ(out.text, R"(# what fetch.py may do
entrypoint: ./fetch.py
read:
  # the list of places
  - ./places.csv   # reviewed by Ana
  - ./old.csv
  - ./new.csv

network:
  - host: a.example   # the API
    port: '443'
  - host: b.example
    port: "8443"
exec: all  # on purpose
env:
  - HOME
write:
  - ./out
# the end
)");
}

TEST(WithPermissions, TakesOutWhatIsNoLongerWanted) {
  Policy wanted = policy_of(kCommented);
  wanted.read.pop_back();
  wanted.network.clear();
  const Rewritten out = rewritten(kCommented, wanted);
  EXPECT_TRUE(out.layout_kept);
  EXPECT_EQ(out.text, R"(# what fetch.py may do
entrypoint: ./fetch.py
read:
  # the list of places
  - ./places.csv   # reviewed by Ana

exec: none  # on purpose
# the end
)");
}

TEST(WithPermissions, ReplacesAllEntriesOfAListAndFlowLists) {
  Policy wanted = policy_of("entrypoint: ./a\nread:\n- ./x\nwrite: [./w]  # mine\n");
  wanted.read = {{"./y", {}, {}}};
  wanted.write.push_back({"./v", {}, {}});
  const Rewritten out = rewritten("entrypoint: ./a\nread:\n- ./x\nwrite: [./w]  # mine\n", wanted);
  EXPECT_TRUE(out.layout_kept);
  EXPECT_EQ(out.text, "entrypoint: ./a\nread:\n- ./y\nwrite: [./w, ./v]  # mine\n");
}

TEST(WithPermissions, PutsNewKeysBeforeTheProvenance) {
  Policy wanted = policy_of("entrypoint: ./a\nprovenance:\n  approves: \"ab\"\n");
  wanted.interpreter.value = "python3";
  const Rewritten out = rewritten("entrypoint: ./a\nprovenance:\n  approves: \"ab\"\n", wanted);
  EXPECT_EQ(out.text, "entrypoint: ./a\ninterpreter: python3\nprovenance:\n  approves: \"ab\"\n");
}

TEST(WithPermissions, WorksWithoutALastNewlineAndWithCarriageReturns) {
  Policy wanted = policy_of("entrypoint: ./a\nread:\n  - ./x");
  wanted.read.push_back({"./y", {}, {}});
  EXPECT_EQ(rewritten("entrypoint: ./a\nread:\n  - ./x", wanted).text, "entrypoint: ./a\nread:\n  - ./x\n  - ./y\n");
  EXPECT_EQ(rewritten("entrypoint: ./a\r\nread:\r\n  - ./x\r\n", wanted).text,
            "entrypoint: ./a\r\nread:\r\n  - ./x\r\n  - ./y\r\n");
}

TEST(WithPermissions, KeepsAFlowListOnItsLineWithTheCommentThere) {
  const std::string text = "entrypoint: ./a\nread: [./x, \"./y\"] # mine\nwrite: [] # none\nexec: none\n";
  Policy wanted = policy_of(text);
  wanted.read.push_back({"./z", {}, {}});
  wanted.write.push_back({"./out", {}, {}});
  const Rewritten out = rewritten(text, wanted);
  EXPECT_TRUE(out.layout_kept);
  EXPECT_EQ(out.text, "entrypoint: ./a\nread: [./x, \"./y\", ./z] # mine\nwrite: [./out] # none\nexec: none\n");
}

TEST(WithPermissions, KeepsEachCommentOfAFlowListOfSeveralLines) {
  const std::string text = "entrypoint: ./a\nread: [\n  ./x, # one\n  ./y # two\n]\nexec: none\n";
  Policy wanted = policy_of(text);
  wanted.read.push_back({"./z", {}, {}});
  const Rewritten more = rewritten(text, wanted);
  EXPECT_TRUE(more.layout_kept);
  EXPECT_EQ(more.text, "entrypoint: ./a\nread: [\n  ./x, # one\n  ./y, # two\n  ./z,\n]\nexec: none\n");
  wanted = policy_of(more.text);
  wanted.read.erase(wanted.read.begin());
  const Rewritten less = rewritten(more.text, wanted);
  EXPECT_TRUE(less.layout_kept);
  EXPECT_THAT(less.text, ::testing::HasSubstr("  ./y, # two\n"));
}

TEST(WithPermissions, AListOfProgramsBecomesAll) {
  Policy wanted = policy_of("entrypoint: ./a\nexec:\n  - /bin/ls\nread: [./x]\n");
  wanted.exec.mode = ExecMode::kAll;
  wanted.exec.programs.clear();
  const Rewritten out = rewritten("entrypoint: ./a\nexec:\n  - /bin/ls\nread: [./x]\n", wanted);
  EXPECT_TRUE(out.layout_kept);
  EXPECT_EQ(out.text, "entrypoint: ./a\nexec: all\nread: [./x]\n");
}

TEST(WithPermissions, WritesATextAnewThatLeavesNoPlacePlain) {
  Policy wanted = policy_of("{entrypoint: ./a, read: [./x]}\n");
  wanted.read.push_back({"./y", {}, {}});
  const Rewritten out = rewritten("{entrypoint: ./a, read: [./x]}\n", wanted);
  EXPECT_FALSE(out.layout_kept);
  EXPECT_EQ(canonical_yaml(policy_of(out.text)), canonical_yaml(wanted));
}

TEST(WithPermissions, MeansExactlyWhatIsWantedWhateverTheTwoPoliciesAre) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    ::cordon::policy::manifest::testing::Generator generator(seed);
    const Policy before = generator.policy();
    Policy wanted = before;
    const Policy other = generator.policy();
    wanted.read = other.read;
    wanted.write = other.write;
    wanted.env = other.env;
    wanted.network = other.network;
    wanted.exec = other.exec;
    const std::string text = "# kept\n" + canonical_yaml(before);
    const Rewritten out = rewritten(text, wanted);
    ASSERT_EQ(canonical_yaml(policy_of(out.text)), canonical_yaml(wanted)) << text << "\n->\n" << out.text;
  }
}

}  // namespace
}  // namespace cordon::policy::manifest
