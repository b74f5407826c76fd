#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "policy/manifest/digest.h"
#include "policy/manifest/manifest.h"
#include "policy/manifest/test_policies.h"

namespace cordon::policy::manifest {
namespace {

Policy parsed(std::string_view text) {
  auto loaded = parse(text, "m.yaml");
  EXPECT_TRUE(loaded.has_value()) << text;
  return loaded ? loaded->policy : Policy{};
}

constexpr std::string_view kGolden = R"(entrypoint: ./x
interpreter: python3
args: ["--b", "--a"]
env: [PATH, HOME, LANG]
read: [/two, /one]
write: [/out/b, /out/a]
network:
  - {host: b.com, port: "80"}
  - {host: a.com, port: "443"}
  - {host: a.com, port: "80"}
exec: all
limits: {memory: 1M, cpu: 50%, pids: 128}
)";
constexpr std::string_view kGoldenPrint = "aa2f73e71ab6923705ca40cd8c9096becc6dcdc3cccc2a834f2e62d777a624ad";

/// The encoding of the reference, written down a second time: bytes first, digest after.
std::string reference_print(const std::vector<std::vector<std::string>>& lines) {
  std::string bytes;
  for (const auto& fields : lines) {
    for (std::size_t i = 0; i < fields.size(); ++i) bytes += (i > 0 ? std::string(1, '\0') : "") + fields[i];
    bytes += '\n';
  }
  return sha256_hex(bytes);
}

TEST(Digest, is_sha_256) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 piecewise;
  piecewise.update("a").update("");
  const Sha256 copy = piecewise;
  EXPECT_EQ(piecewise.update("bc").hex(), sha256_hex("abc"));
  EXPECT_EQ(copy.hex(), sha256_hex("a"));
}

TEST(Fingerprint, of_the_golden_vector_is_the_older_systems) { EXPECT_EQ(fingerprint(parsed(kGolden)), kGoldenPrint); }

TEST(Fingerprint, of_the_least_manifest_is_the_older_systems) {
  EXPECT_EQ(fingerprint(parsed("entrypoint: ./x\n")),
            reference_print({{"entrypoint", "./x"}, {"interpreter", ""}, {"exec", "none"}, {"limits", "", "", "0"}}));
}

TEST(Fingerprint, keeps_duplicates_and_the_order_of_arguments_and_sorts_the_rest) {
  EXPECT_EQ(fingerprint(parsed("entrypoint: x\ninterpreter: sh\ninterpreter_args: [-e, -a]\nargs: [b, a]\n"
                               "read: [b, a, b]\nwrite: [z, ./z]\nenv: [B, A]\nexec: none-strict\n")),
            reference_print({{"entrypoint", "x"},
                             {"interpreter", "sh"},
                             {"interpreter_arg", "-e"},
                             {"interpreter_arg", "-a"},
                             {"arg", "b"},
                             {"arg", "a"},
                             {"env", "A"},
                             {"env", "B"},
                             {"read", "a"},
                             {"read", "b"},
                             {"read", "b"},
                             {"write", "./z"},
                             {"write", "z"},
                             {"exec", "none-strict"},
                             {"limits", "", "", "0"}}));
}

TEST(Fingerprint, does_not_see_layout_comments_provenance_posture_supplied_values_or_paths) {
  const Policy plain = parsed(kGolden);
  const Policy other = parsed(
      "# comment\nlimits:\n  pids: 128   # many\n  cpu: '50%'\n  memory: \"1M\"\nexec: \"all\"\nnetwork:\n- port: 443\n"
      "  host: a.com\n- {port: 80, host: a.com}\n- {host: b.com, port: 80}\nwrite:\n- /out/a\n- /out/b\n"
      "read: [/one, /two]\nenv: [HOME, LANG, PATH]\nargs:\n  - --b\n  - --a\ninterpreter: python3\nentrypoint: ./x\n"
      "provenance: {generated-by: x, approves: y, blocked-hosts: [\"z:1\"]}\n");
  EXPECT_EQ(fingerprint(plain), fingerprint(other));
  Policy touched = plain;
  touched.posture.strict = true;
  touched.env[0].supplied = "secret";
  touched.read[0].path = "/elsewhere";
  touched.manifest.path = "/m.yaml";
  EXPECT_EQ(fingerprint(touched), kGoldenPrint);
  const auto resolved = resolve(plain, {"/dir", "/home/u", "/dir/m.yaml"});
  ASSERT_TRUE(resolved);
  EXPECT_EQ(fingerprint(*resolved), kGoldenPrint);
}

TEST(Fingerprint, changes_with_every_new_key) {
  const std::map<std::string, std::function<void(Policy&)>> touches = {
      {"pin", [](Policy& p) { p.pin.push_back({"./x", {}, {}}); }},
      {"deny", [](Policy& p) { p.deny.push_back({"./x", {}, {}}); }},
      {"wx", [](Policy& p) { p.wx.push_back({"./x", {}, {}}); }},
      {"publish", [](Policy& p) { p.publish.push_back({"80", {}}); }},
      {"host_services", [](Policy& p) { p.host_services.push_back({"80", {}}); }},
      {"agent", [](Policy& p) { p.agent.push_back({"ssh", {}}); }},
      {"allow", [](Policy& p) { p.allow.push_back({"nested-sandbox", {}}); }},
      {"devices", [](Policy& p) { p.devices.push_back({"/dev/kvm", {}}); }},
      {"timeout", [](Policy& p) { p.limits.timeout = "1s"; }},
      {"tmp", [](Policy& p) { p.limits.tmp = "1M"; }},
      {"reason", [](Policy& p) { p.network[0].reason = "why"; }},
      {"exec list", [](Policy& p) { p.exec = {ExecMode::kList, {{"git", {}, {}}}, {}}; }},
  };
  std::map<std::string, std::string> seen;
  for (const auto& [name, touch] : touches) {
    Policy policy = parsed(kGolden);
    EXPECT_FALSE(uses_new_keys(policy));
    touch(policy);
    EXPECT_TRUE(uses_new_keys(policy)) << name;
    EXPECT_TRUE(seen.emplace(fingerprint(policy), name).second) << name << " prints like " << seen[fingerprint(policy)];
  }
  EXPECT_FALSE(seen.contains(std::string(kGoldenPrint)));
}

TEST(Fingerprint, of_the_versioned_encoding_stays_what_it_is) {
  // Stamps that people hold depend on it: a change here must come with a new first line of the encoding.
  const Policy policy = parsed("entrypoint: ./x\npin: [./x]\nexec: [git]\nlimits: {timeout: 1m}\n");
  const std::vector<PinnedContent> pinned = {{"./x", sha256_hex("content")}};
  EXPECT_EQ(fingerprint(policy, pinned), "bee815231402fba2e47357d227152851068c55103251a539731e49ebaf9d043d");
}

TEST(Fingerprint, covers_the_content_of_pins) {
  const Policy policy = parsed("entrypoint: ./x\npin: [./x, ./y]\n");
  const std::string one = sha256_hex("1");
  const std::string two = sha256_hex("2");
  const std::vector<std::vector<PinnedContent>> contents = {{},
                                                            {{"./x", one}},
                                                            {{"./y", one}},
                                                            {{"./x", one}, {"./y", two}},
                                                            {{"./x", two}, {"./y", one}},
                                                            {{"./x", one}, {"./y", one}}};
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < contents.size(); ++i)
    EXPECT_TRUE(seen.emplace(fingerprint(policy, contents[i]), i).second) << i;
  const std::vector<PinnedContent> turned = {{"./y", two}, {"./x", one}, {"./unrelated", one}};
  EXPECT_EQ(fingerprint(policy, turned), fingerprint(policy, contents[3]));
}

TEST(Fingerprint, of_values_that_hold_a_separator_does_not_collide) {
  // No manifest can hold them; a policy from elsewhere could.
  Policy joined;
  joined.entrypoint.written = "./x";
  Policy split = joined;
  joined.args = {{std::string("a\narg\0b", 7), {}}};
  split.args = {{"a", {}}, {"b", {}}};
  EXPECT_NE(fingerprint(joined), fingerprint(split));
}

TEST(Fingerprint, is_equal_for_equal_policies_and_for_no_others) {
  testing::Generator generator(20260101);
  std::map<std::string, std::string> meaning_of, print_of;
  for (int i = 0; i < 20'000; ++i) {
    const Policy policy = generator.policy();
    const std::string print = fingerprint(policy);
    const std::string meaning = canonical_yaml(policy);
    ASSERT_EQ(meaning_of.emplace(print, meaning).first->second, meaning) << "two policies, one fingerprint";
    ASSERT_EQ(print_of.emplace(meaning, print).first->second, print) << "one policy, two fingerprints:\n" << meaning;
  }
  EXPECT_GT(print_of.size(), 10'000U);
}

TEST(Fingerprint, does_not_see_the_order_of_sets) {
  testing::Generator generator(7);
  for (int i = 0; i < 500; ++i) {
    const Policy policy = generator.policy();
    Policy turned = policy;
    std::ranges::reverse(turned.read);
    std::ranges::reverse(turned.write);
    std::ranges::reverse(turned.env);
    std::ranges::reverse(turned.network);
    std::ranges::reverse(turned.deny);
    std::ranges::reverse(turned.pin);
    std::ranges::reverse(turned.publish);
    std::ranges::reverse(turned.exec.programs);
    ASSERT_EQ(fingerprint(policy), fingerprint(turned));
    if (policy.args.size() == 2 && policy.args[0].value != policy.args[1].value) {
      std::ranges::reverse(turned.args);
      ASSERT_NE(fingerprint(policy), fingerprint(turned));
    }
  }
}

TEST(Stamp, is_unapproved_current_or_stale) {
  Policy policy = parsed(kGolden);
  EXPECT_EQ(stamp_state(policy, kGoldenPrint), StampState::kUnapproved);
  policy.provenance = Provenance{};
  EXPECT_EQ(stamp_state(policy, kGoldenPrint), StampState::kUnapproved);
  policy.provenance->approves = kGoldenPrint;
  EXPECT_EQ(stamp_state(policy, fingerprint(policy)), StampState::kCurrent);
  policy.read.push_back({"/three", {}, {}});
  EXPECT_EQ(stamp_state(policy, fingerprint(policy)), StampState::kStale);
  EXPECT_EQ(stamp_state_name(StampState::kStale), "stale");
  EXPECT_EQ(stamp_state_name(StampState::kCurrent), "current");
  EXPECT_EQ(stamp_state_name(StampState::kUnapproved), "unapproved");
}

TEST(Stamp, of_the_older_system_is_stale_as_soon_as_a_new_key_is_used) {
  const Policy policy =
      parsed(std::string(kGolden) + "deny: [./private]\nprovenance: {approves: " + std::string(kGoldenPrint) + "}\n");
  EXPECT_EQ(stamp_state(policy, fingerprint(policy)), StampState::kStale);
}

}  // namespace
}  // namespace cordon::policy::manifest
