#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/manifest/manifest.h"
#include "policy/manifest/test_policies.h"

namespace cordon::policy::manifest {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Policy parsed(const std::string& text) {
  auto loaded = parse(text, "m.yaml");
  EXPECT_TRUE(loaded) << text << (loaded ? "" : loaded.error()[0].message);
  return loaded ? loaded->policy : Policy{};
}

std::vector<std::string> diff(const std::string& before, const std::string& after) {
  return semantic_diff(parsed("entrypoint: ./x\n" + before), parsed("entrypoint: ./x\n" + after));
}

TEST(Diff, of_equal_policies_is_empty) {
  EXPECT_THAT(diff("read: [a, b]\n", "# comment\nread:\n- b\n- a\n"), IsEmpty());
  EXPECT_THAT(diff("", "provenance: {approves: x}\n"), IsEmpty());
}

TEST(Diff, says_what_is_run_otherwise) {
  EXPECT_THAT(semantic_diff(parsed("entrypoint: ./x"), parsed("entrypoint: ./y")),
              ElementsAre("now runs ./y instead of ./x"));
  EXPECT_THAT(diff("", "interpreter: python3\n"), ElementsAre("now runs under the interpreter python3"));
  EXPECT_THAT(diff("interpreter: sh\n", "interpreter: python3\n"),
              ElementsAre("now runs under the interpreter python3 instead of sh"));
  EXPECT_THAT(diff("interpreter: sh\n", ""), ElementsAre("no longer runs under the interpreter sh, but by itself"));
  EXPECT_THAT(diff("args: [a]\n", "args: [\"b c\", d]\n"), ElementsAre("the arguments changed from a to \"b c\" d"));
  EXPECT_THAT(diff("args: [a, b]\n", "args: [b, a]\n"), ElementsAre("the arguments changed from a b to b a"));
  EXPECT_THAT(diff("interpreter: sh\ninterpreter_args: [-e]\n", "interpreter: sh\n"),
              ElementsAre("the interpreter's options changed from -e to none"));
  EXPECT_THAT(diff("", "exec: all\n"), ElementsAre("exec changed from none to all"));
  EXPECT_THAT(diff("exec: [git]\n", "exec: [git, make]\n"), ElementsAre("may now start make"));
  EXPECT_THAT(diff("exec: all\n", "exec: [git]\n"),
              ElementsAre("exec changed from all to a list", "may now start git"));
}

TEST(Diff, says_of_every_grant_what_changed) {
  EXPECT_THAT(diff("env: [A]\n", "env: [B]\n"),
              ElementsAre("now also sees the environment variable B", "no longer sees the environment variable A"));
  EXPECT_THAT(diff("read: [~/data]\n", "write: [./out]\n"),
              ElementsAre("no longer reads ~/data", "now also writes ./out"));
  EXPECT_THAT(diff("deny: [a]\n", "deny: [b]\n"), ElementsAre("now hides b", "no longer hides a"));
  EXPECT_THAT(diff("", "wx: [b]\n"), ElementsAre("may now write and execute in b"));
  EXPECT_THAT(diff("pin: [./x]\n", ""), ElementsAre("the approval no longer covers the content of ./x"));
  EXPECT_THAT(diff("", "publish: [80]\n"), ElementsAre("the host can now reach its port 80"));
  EXPECT_THAT(diff("", "host_services: [5432]\n"), ElementsAre("now reaches the host's own service on port 5432"));
  EXPECT_THAT(diff("agent: [ssh]\n", ""), ElementsAre("may no longer use the agent ssh"));
  EXPECT_THAT(diff("", "allow: [nested-sandbox]\n"), ElementsAre("is now allowed nested-sandbox"));
  EXPECT_THAT(diff("", "devices: [/dev/kvm]\n"), ElementsAre("now uses the device /dev/kvm"));
  EXPECT_THAT(diff("read: [a]\n", "read: [a, a]\n"), ElementsAre("read lists a 2 times instead of 1"));
}

TEST(Diff, says_of_every_limit_what_changed) {
  EXPECT_THAT(
      diff("limits: {memory: 1M, cpu: 50%}\n", "limits: {memory: 1G, pids: 3, timeout: 1m, tmp: 1M}\n"),
      ElementsAre("the memory limit changed from 1M to 1G", "no longer has a CPU limit (it was 50%)",
                  "now has a process limit of 3", "now has a time limit of 1m", "now has a /tmp size limit of 1M"));
}

TEST(Diff, words_destinations_by_what_they_reach) {
  EXPECT_THAT(diff("",
                   "network:\n- {host: github.com, port: 22}\n- {host: \"*\", port: 443}\n"
                   "- {host: .a.com, port: \"*\"}\n- {host: \"*.b.com\", port: 1-2}\n"
                   "- {host: \"2001:db8::1\", port: 443}\n- {host: 10.0.0.0/8, port: 1-2}\n"),
              ElementsAre("now reaches every host on port 443", "now reaches every host below b.com on ports 1-2",
                          "now reaches every host below a.com on every port", "now reaches 10.0.0.0/8 on ports 1-2",
                          "now reaches [2001:db8::1]:443", "now reaches github.com:22"));
  EXPECT_THAT(diff("network: [{host: a.com, port: 1}]\n", ""), ElementsAre("no longer reaches a.com:1"));
  EXPECT_THAT(diff("network: [{host: a.com, port: 1}]\n", "network: [{host: a.com, port: 1, reason: because}]\n"),
              ElementsAre("gives another reason for reaching a.com:1 (reason given: \"because\")"));
}

TEST(Diff, says_once_what_moved_between_read_and_write) {
  EXPECT_THAT(diff("read: [a]\n", "write: [a]\n"), ElementsAre("now also writes a, which it could only read before"));
  EXPECT_THAT(diff("write: [a]\n", "read: [a]\n"), ElementsAre("no longer writes a, but still reads it"));
}

TEST(Diff, tells_wider_from_narrower) {
  const auto effect = [](const std::string& before, const std::string& after) {
    return changes(parsed("entrypoint: ./x\n" + before), parsed("entrypoint: ./x\n" + after)).at(0).effect;
  };
  using Effect = Change::Effect;
  EXPECT_EQ(effect("", "read: [a]\n"), Effect::kWidens);
  EXPECT_EQ(effect("read: [a]\n", ""), Effect::kNarrows);
  EXPECT_EQ(effect("", "deny: [a]\n"), Effect::kNarrows);
  EXPECT_EQ(effect("deny: [a]\n", ""), Effect::kWidens);
  EXPECT_EQ(effect("", "network: [{host: a.com, port: 1}]\n"), Effect::kWidens);
  EXPECT_EQ(effect("exec: none\n", "exec: none-strict\n"), Effect::kNarrows);
  EXPECT_EQ(effect("exec: none\n", "exec: [git]\n"), Effect::kWidens);
  EXPECT_EQ(effect("exec: [git]\n", "exec: all\n"), Effect::kWidens);
  EXPECT_EQ(effect("limits: {memory: 1025K}\n", "limits: {memory: 1M}\n"), Effect::kNarrows);
  EXPECT_EQ(effect("limits: {memory: 1024K}\n", "limits: {memory: 1M}\n"), Effect::kDiffers);
  EXPECT_EQ(effect("limits: {cpu: 9.5%}\n", "limits: {cpu: 10%}\n"), Effect::kWidens);
  EXPECT_EQ(effect("limits: {pids: 9}\n", "limits: {pids: 10}\n"), Effect::kWidens);
  EXPECT_EQ(effect("limits: {timeout: 60m}\n", "limits: {timeout: 1h}\n"), Effect::kDiffers);
  EXPECT_EQ(effect("limits: {pids: 9}\n", ""), Effect::kWidens);
  EXPECT_EQ(effect("args: [a]\n", "args: [b]\n"), Effect::kDiffers);
}

TEST(Diff, is_empty_exactly_where_the_fingerprints_are_equal) {
  testing::Generator generator(99);
  for (int i = 0; i < 5000; ++i) {
    const Policy before = generator.policy();
    // Half of the pairs are near misses: the same policy with one thing taken away.
    Policy after = i % 2 == 0 ? generator.policy() : before;
    if (i % 4 == 1 && !after.read.empty()) after.read.pop_back();
    if (i % 4 == 3 && !after.network.empty()) after.network.pop_back();
    ASSERT_EQ(changes(before, after).empty(), fingerprint(before) == fingerprint(after))
        << canonical_yaml(before) << "\n"
        << canonical_yaml(after);
  }
}

TEST(Diff, shows_no_raw_byte_of_a_path) {
  const Policy before = parsed("entrypoint: ./x\n");
  Policy after = before;
  after.read.push_back({"a\x1b[2J\n", {}, {}});
  EXPECT_THAT(semantic_diff(before, after), ElementsAre("now also reads \"a\\x1b[2J\\n\""));
}

}  // namespace
}  // namespace cordon::policy::manifest
