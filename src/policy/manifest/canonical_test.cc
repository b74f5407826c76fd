#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "policy/manifest/manifest.h"
#include "policy/manifest/test_policies.h"
#include "policy/manifest/yaml_text.h"

namespace cordon::policy::manifest {
namespace {

using ::testing::IsEmpty;

Policy parsed(const std::string& text) {
  auto loaded = parse(text, "m.yaml");
  EXPECT_TRUE(loaded) << text << (loaded ? "" : loaded.error()[0].message);
  return loaded ? loaded->policy : Policy{};
}

constexpr const char* kAll = R"(provenance: {generated-by: me, approves: abc}
limits: {tmp: 1G, pids: 64, timeout: 10m, memory: 512M, cpu: 150%}
devices: [/dev/kvm]
allow: [nested-sandbox]
exec: [./tools/fmt, git]
agent: [ssh]
host_services: [5432]
publish: [8080, 443]
network:
  - {host: b.com, port: "*"}
  - {host: ".a.com", port: 443, reason: "to fetch: it"}
  - {host: "2001:db8::1", port: 22}
pin: [./x]
wx: [./build]
deny: [./b, ./a]
write: [./out]
read: [~/x, "~", ./data]
env: [TERM, LANG]
args: ["--b", "--a", ""]
interpreter_args: [-u]
interpreter: python3
entrypoint: ./x
)";

TEST(Canonical, has_one_layout) {
  EXPECT_EQ(canonical_yaml(parsed(kAll), ProvenanceBlock::kInclude), R"(entrypoint: ./x
interpreter: python3
interpreter_args:
  - "-u"
args:
  - "--b"
  - "--a"
  - ""
env:
  - LANG
  - TERM
read:
  - ./data
  - "~"
  - ~/x
write:
  - ./out
deny:
  - ./a
  - ./b
wx:
  - ./build
pin:
  - ./x
network:
  - host: ".a.com"
    port: "443"
    reason: "to fetch: it"
  - host: "2001:db8::1"
    port: "22"
  - host: b.com
    port: "*"
publish:
  - 443
  - 8080
host_services:
  - 5432
agent:
  - ssh
exec:
  - ./tools/fmt
  - git
allow:
  - nested-sandbox
devices:
  - /dev/kvm
limits:
  memory: "512M"
  cpu: "150%"
  pids: 64
  timeout: "10m"
  tmp: "1G"
provenance:
  generated-by: me
  approves: "abc"
)");
}

TEST(Canonical, of_any_policy_parses_to_the_same_policy) {
  testing::Generator generator(4711);
  for (int i = 0; i < 3000; ++i) {
    const Policy policy = generator.policy();
    const std::string text = canonical_yaml(policy);
    const auto loaded = parse(text, "m.yaml");
    ASSERT_TRUE(loaded) << text << loaded.error()[0].message;
    ASSERT_EQ(fingerprint(loaded->policy), fingerprint(policy)) << text;
    ASSERT_EQ(canonical_yaml(loaded->policy), text);
    ASSERT_EQ(loaded->policy.limits.timeout_ms, policy.limits.timeout_ms);
    ASSERT_THAT(semantic_diff(policy, loaded->policy), IsEmpty());
  }
}

TEST(YamlText, is_plain_only_where_every_parser_agrees) {
  for (const char* plain : {"a", "python3", "./x", "../x", "/usr/lib/x-1.0", "~/x", "cordon approve", "a=b"})
    EXPECT_EQ(yaml_scalar(plain), plain);
  for (const char* quoted :
       {"",   " a", "a ", "~",  "null", "Yes", "NO", "off", "1",  "1.0",  "-a",  "- a", "a: b", "a #b", "#", "*",
        "&a", "!a", "%a", "@a", "`a",   "{a",  "[a", "a,b", ".5", ".inf", "'a'", "?",   "|",    ">",    "="})
    EXPECT_EQ(yaml_scalar(quoted), "\"" + std::string(quoted) + "\"");
  EXPECT_EQ(yaml_scalar("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(yaml_scalar("a\n\x1b\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81\xff"), R"("a\x0a\x1b\x9b\u202e\U000e0041\ufffd")");
  EXPECT_EQ(yaml_scalar("\xc3\xa9"), "\"\xc3\xa9\"");
}

TEST(Json, has_the_references_field_names) {
  EXPECT_EQ(to_json(parsed(kAll)).dump(), nlohmann::ordered_json::parse(R"({
    "entrypoint": "./x", "interpreter": "python3", "interpreter_args": ["-u"], "args": ["--b", "--a", ""],
    "env": ["TERM", "LANG"], "read": ["~/x", "~", "./data"], "write": ["./out"], "deny": ["./b", "./a"],
    "wx": ["./build"], "pin": ["./x"], "network": ["b.com:*", ".a.com:443", "[2001:db8::1]:22"],
    "network_reasons": {".a.com:443": "to fetch: it"}, "publish": ["8080", "443"], "host_services": ["5432"],
    "agent": ["ssh"], "exec": "list", "exec_programs": ["./tools/fmt", "git"], "allow": ["nested-sandbox"],
    "devices": ["/dev/kvm"],
    "limits": {"memory": "512M", "cpu": "150%", "pids": 64, "timeout": "10m", "tmp": "1G"}})")
                                              .dump());
  EXPECT_EQ(to_json(parsed("entrypoint: ./x\n")).dump(), R"({"entrypoint":"./x","exec":"none"})");
}

TEST(Json, never_shows_a_supplied_value_nor_breaks_on_malformed_text) {
  Policy policy = parsed("entrypoint: ./x\nenv: [TOKEN]\n");
  policy.env[0].supplied = "hunter2";
  policy.args.push_back({"\xff", {}});
  const std::string text = to_json(policy).dump();
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
  EXPECT_EQ(canonical_yaml(policy).find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace cordon::policy::manifest
