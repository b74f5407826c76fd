#include "policy/config/config.h"

#include <gmock/gmock.h>

#include <array>

#include "base/text.h"

namespace cordon::policy::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::array<std::string_view, 3> kBuiltIn = {"generic", "node", "rust"};

base::Result<Config, base::Diagnostics> parsed(std::string_view text) { return parse(text, "config.yaml", kBuiltIn); }

std::vector<std::string> blocks(std::string_view text) {
  std::vector<std::string> out;
  const auto config = parsed(text);
  EXPECT_TRUE(config.has_value()) << text;
  for (const Text& one : config ? config->allow_address : std::vector<Text>()) out.push_back(one.value);
  return out;
}

std::vector<std::string> codes(std::string_view text) {
  std::vector<std::string> out;
  const auto config = parsed(text);
  EXPECT_FALSE(config.has_value()) << text.substr(0, 300);
  if (!config)
    for (const auto& one : config.error()) out.push_back(one.code);
  return out;
}

/// The same, of what stands in the block of node: "allowRead: [x]".
std::vector<std::string> block_codes(const std::string& line) {
  return codes("profiles:\n  node:\n    " + line + "\n");
}
Block block(const std::string& line) {
  const auto config = parsed("profiles:\n  node:\n    " + line + "\n");
  EXPECT_TRUE(config.has_value()) << line.substr(0, 300) << (config ? "" : config.error().front().message);
  return config ? config->profiles.front() : Block();
}

std::vector<std::string> values(const std::vector<Text>& list) {
  std::vector<std::string> out;
  for (const Text& one : list) out.push_back(one.value);
  return out;
}

TEST(Config, OpensBlocksAndSingleAddresses) {
  EXPECT_THAT(blocks("allow_address: [10.0.0.0/8, 'fd00::/8', 192.168.1.1]\n"),
              ElementsAre("10.0.0.0/8", "fd00::/8", "192.168.1.1/32"));
  EXPECT_EQ(parsed("# mirrors\nallow_address:\n  - 10.0.0.0/8\n")->allow_address[0].at.span.line, 3U);
}

TEST(Config, ThatIsEmptyOpensNothing) {
  for (const char* one : {"", "# nothing yet\n", "allow_address: []\n", "profiles:\n", "profiles: {}\n",
                          "profiles: {node: }\n", "profiles: {node: {}}\n"})
    EXPECT_THAT(blocks(one), IsEmpty()) << one;
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
  EXPECT_THAT(codes("profiles:\n  node:\n    allowRaed: [x]\n    allowRead: [../x]\n    enableProxy: yes\n"
                    "    env: {HTTP_PROXY: x, 1A: y}\n  rust: [1]\n"),
              ElementsAre("unknown-key", "path-climbs", "not-a-switch", "env-reserved", "bad-env-name", "not-a-map"));
}

TEST(Config, TheBuildSandboxsFileIsReadAsItIs) {
  const auto config = parsed(R"(# my settings
profiles:
  base:
    allowDomains: [Registry.Example., "*.cdn.example", "bücher.example"]
    denyRead: ["~/.secrets/", "$HOME/x", $PWD/y, ./z, ., /abs/]
  node:
    extends: base
    allowWrite: ["./dist/"]
    allowRead: [~/shared]
    denyDomains: [evil.example]
    denyExec: [/usr/bin/curl]
    allowExec: [/opt/tool]
    allowFetch: [files.example]
    allowAllNetwork: false
    enableProxy: true
    allowDegraded: false
    env: {CI: "1", PORT: 8080, EMPTY: ""}
)");
  ASSERT_TRUE(config.has_value()) << config.error().front().message;
  ASSERT_EQ(config->profiles.size(), 2U);
  const Block& base = config->profiles[0];
  const Block& node = config->profiles[1];
  EXPECT_THAT(values(base.allow_domains), ElementsAre("registry.example", "*.cdn.example", "xn--bcher-kva.example"));
  EXPECT_THAT(values(base.deny_read), ElementsAre("~/.secrets/", "$HOME/x", "$PWD/y", "./z", ".", "/abs/"));
  EXPECT_EQ(node.extends.value, "base");
  EXPECT_THAT(values(node.allow_write), ElementsAre("./dist/"));
  EXPECT_THAT(values(node.allow_read), ElementsAre("~/shared"));
  EXPECT_THAT(values(node.deny_domains), ElementsAre("evil.example"));
  EXPECT_THAT(values(node.deny_exec), ElementsAre("/usr/bin/curl"));
  EXPECT_THAT(values(node.allow_exec), ElementsAre("/opt/tool"));
  EXPECT_THAT(values(node.allow_fetch), ElementsAre("files.example"));
  EXPECT_FALSE(node.allow_all_network->value);
  EXPECT_TRUE(node.enable_proxy->value);
  EXPECT_FALSE(node.allow_degraded->value);
  ASSERT_EQ(node.env.size(), 3U);
  EXPECT_EQ(node.env[1].name + "=" + node.env[1].value, "PORT=8080");
  EXPECT_EQ(node.env[2].value, "");
  EXPECT_EQ(node.allow_write[0].at.span, (base::Span{"config.yaml", 8, 18, 9}));
  EXPECT_EQ(values(std::vector<Text>{config->chain("node")[0]->allow_domains[0]}).front(), "registry.example");
}

TEST(Config, AnUnknownKeyIsAnsweredByTheOneThatWasMeant) {
  const auto wrong = parsed("profiles:\n  node:\n    allowDomain: [a.example]\n");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(wrong.error()[0].hint, HasSubstr("did you mean \"allowDomains\"?"));
  EXPECT_EQ(wrong.error()[0].at, (base::Span{"config.yaml", 3, 5, 11}));
  EXPECT_THAT(codes("profile: {}\n"), ElementsAre("unknown-key"));
  EXPECT_THAT(codes("profiles: {node: {env: {A: b}, env: {A: b}}}\n"), ElementsAre("duplicate-key"));
  EXPECT_THAT(codes("profiles: {node: {}, node: {}}\n"), ElementsAre("duplicate-key"));
  EXPECT_THAT(block_codes("env: {A: b, A: c}"), ElementsAre("duplicate-key"));
}

TEST(Config, ACaretStandsUnderWhatIsWrong) {
  const auto wrong = parsed("profiles:\n  node:\n    allowRead: [ok, a/../b]\n");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error()[0].at, (base::Span{"config.yaml", 3, 23, 2}));
}

std::string repeated(std::size_t times, std::string_view item) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += std::string(i == 0 ? "" : ", ") + std::string(item);
  return out;
}

TEST(ConfigLimits, OfProfilesListsAndVariables) {
  const auto profiles = [](std::size_t count) {
    std::string out = "profiles:\n";
    for (std::size_t i = 0; i < count; ++i) out += "  p" + std::to_string(i) + ": {}\n";
    return out;
  };
  EXPECT_TRUE(parsed(profiles(kMostProfiles)).has_value());
  EXPECT_THAT(codes(profiles(kMostProfiles + 1)), ElementsAre("too-many"));
  for (const char* key :
       {"allowWrite", "denyRead", "allowRead", "allowDomains", "denyDomains", "denyExec", "allowExec", "allowFetch"}) {
    block(std::string(key) + ": [" + repeated(kMostItems, "a.b") + "]");
    EXPECT_THAT(block_codes(std::string(key) + ": [" + repeated(kMostItems + 1, "a.b") + "]"), ElementsAre("too-many"));
  }
  EXPECT_THAT(codes("allow_address: [" + repeated(kMostItems + 1, "10.0.0.0/8") + "]\n"), ElementsAre("too-many"));
  const auto variables = [](std::size_t count) {
    std::string out = "env: {";
    for (std::size_t i = 0; i < count; ++i) out += "V" + std::to_string(i) + ": x, ";
    return out + "}";
  };
  EXPECT_EQ(block(variables(kMostVariables)).env.size(), kMostVariables);
  EXPECT_THAT(block_codes(variables(kMostVariables + 1)), ElementsAre("too-many"));
}

TEST(ConfigLimits, OfNames) {
  EXPECT_TRUE(parsed("profiles: {" + std::string(kLongestProfileName, 'n') + ": {}}\n").has_value());
  for (const std::string& name : {std::string(kLongestProfileName + 1, 'n'), std::string("\"\""),
                                  std::string("\"a\\nb\""), std::string("\"a\\0b\""), std::string("\"a\\u202Eb\"")})
    EXPECT_THAT(codes("profiles: {" + name + ": {}}\n"), ElementsAre("bad-profile-name")) << name;
}

TEST(ConfigLimits, OfPaths) {
  const std::string long_path = "/" + std::string(250, 'a');
  std::string longest;
  for (int i = 0; i < 16; ++i) longest += long_path;
  longest += std::string(4095 - longest.size(), '/');
  block("allowRead: [" + longest + "]");
  EXPECT_THAT(block_codes("allowRead: [" + longest + "/]"), ElementsAre("path-too-long"));
  EXPECT_THAT(block_codes("allowRead: [\"\"]"), ElementsAre("empty-value"));
  EXPECT_THAT(block_codes("allowRead: [~]"), ElementsAre("null-tilde"));
  EXPECT_THAT(block_codes("allowRead: ~"), ElementsAre("null-tilde"));
  EXPECT_THAT(block_codes("allowRead: x"), ElementsAre("not-a-list"));
  EXPECT_THAT(block_codes("allowRead: {a: b}"), ElementsAre("not-a-list"));
  EXPECT_THAT(block_codes("allowRead: [[x]]"), ElementsAre("not-one-value"));
  for (const char* one : {"..", "../x", "x/..", "~/../x", "/a/../b"})
    EXPECT_THAT(block_codes("denyRead: ['" + std::string(one) + "']"), ElementsAre("path-climbs")) << one;
  EXPECT_THAT(values(block("denyRead: [..x, x.., 'a..b']").deny_read), ElementsAre("..x", "x..", "a..b"));
  EXPECT_THAT(block_codes("denyRead: ['~root/x']"), ElementsAre("other-home"));
  for (const char* one : {"$HOMEX", "$FOO/x", "${HOME}/x", "$"})
    EXPECT_THAT(block_codes("denyRead: ['" + std::string(one) + "']"), ElementsAre("unknown-variable")) << one;
  for (const char* one : {"a\\0b", "a\\nb", "a\\x1bb", "a\\u202eb"})
    EXPECT_THAT(block_codes("allowExec: [\"" + std::string(one) + "\"]"), ElementsAre("unsafe-character")) << one;
}

TEST(ConfigLimits, OfHosts) {
  const std::string label(63, 'a');
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  EXPECT_THAT(values(block("allowDomains: [" + longest + "]").allow_domains), ElementsAre(longest));
  for (const std::string& one : {longest + "b",
                                 std::string(64, 'a') + ".x",
                                 std::string("-a.x"),
                                 std::string("a-.x"),
                                 std::string("a..x"),
                                 std::string("a_b.x"),
                                 std::string("'*'"),
                                 std::string("'a.*'"),
                                 std::string("'*a.x'"),
                                 std::string("'*.*.x'"),
                                 std::string(".x.y"),
                                 std::string("a/b"),
                                 std::string("http://a.x"),
                                 std::string("1.2.3.4"),
                                 std::string("'::1'"),
                                 std::string("'[::1]:443'"),
                                 std::string("10.0.0.0/8"),
                                 std::string("0x7f.1"),
                                 std::string("2130706433"),
                                 std::string("\"a\\0b\""),
                                 std::string("\"a b\"")}) {
    for (const char* key : {"allowDomains", "allowFetch", "denyDomains"})
      EXPECT_EQ(block_codes(std::string(key) + ": [" + one + "]").size(), 1U) << key << " " << one;
  }
  EXPECT_THAT(values(block("allowDomains: ['A.X:8443', a.x.]").allow_domains), ElementsAre("a.x:8443", "a.x"));
  for (const char* one : {"a.x:", "a.x:0", "a.x:65536", "a.x:80-90", "a.x:*", "a.x:1:2", ":443"})
    EXPECT_EQ(block_codes("allowDomains: ['" + std::string(one) + "']").size(), 1U) << one;
  EXPECT_EQ(block_codes("denyDomains: ['a.x:443']").size(), 1U) << "a deny is of the whole host";
}

TEST(ConfigLimits, OfVariables) {
  EXPECT_EQ(block("env: {A: " + std::string(kLongestVariable, 'v') + "}").env[0].value.size(), kLongestVariable);
  EXPECT_THAT(block_codes("env: {A: " + std::string(kLongestVariable + 1, 'v') + "}"), ElementsAre("value-too-long"));
  EXPECT_THAT(block_codes("env: {A: \"a\\0b\"}"), ElementsAre("unsafe-character"));
  EXPECT_EQ(block("env: {A: \"a\\nb\"}").env[0].value, "a\nb");
  for (const char* one : {"1A", "A-B", "''", "'A=B'", "'$A'", "Ä"})
    EXPECT_THAT(block_codes("env: {" + std::string(one) + ": x}"), ElementsAre("bad-env-name")) << one;
  for (const char* one :
       {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "TMPDIR", "TMP", "TEMP",
        "XDG_RUNTIME_DIR", "CARGO_TARGET_DIR", "GRADLE_USER_HOME", "JAVA_TOOL_OPTIONS", "SBE_PROXY_TOKEN", "CORDON_X"})
    EXPECT_THAT(block_codes("env: {" + std::string(one) + ": x}"), ElementsAre("env-reserved")) << one;
  EXPECT_THAT(block_codes("env: {A: }"), ElementsAre("not-one-value"));
  EXPECT_THAT(block_codes("env: {A: [x]}"), ElementsAre("not-one-value"));
  EXPECT_THAT(block_codes("env: [A]"), ElementsAre("not-a-map"));
}

TEST(Config, ASwitchIsTrueOrFalse) {
  for (const char* key : {"allowAllNetwork", "enableProxy", "allowDegraded"}) {
    for (const char* one : {"yes", "'true'", "True", "1", "", "[true]"})
      EXPECT_THAT(block_codes(std::string(key) + ": " + one), ElementsAre("not-a-switch")) << key << one;
  }
  const auto wrong = parsed("profiles: {node: {allowDegraded: true}}\n");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error()[0].code, "flag-only");
  EXPECT_THAT(wrong.error()[0].hint, HasSubstr("--allow-degraded"));
}

TEST(Config, ExtendsABlockOrABuiltInProfileAndNeverItself) {
  const auto config = parsed("profiles: {a: {extends: b}, b: {extends: node}, node: {}, c: {extends: rust}}\n");
  ASSERT_TRUE(config.has_value());
  std::vector<std::string> chain;
  for (const Block* one : config->chain("a")) chain.push_back(one->name);
  EXPECT_THAT(chain, ElementsAre("node", "b", "a"));
  EXPECT_THAT(config->chain("rust"), IsEmpty());
  EXPECT_THAT(codes("profiles: {a: {extends: nodee}}\n"), ElementsAre("unknown-base"));
  EXPECT_THAT(codes("profiles: {a: {extends: a}}\n"), ElementsAre("extends-circle"));
  EXPECT_THAT(codes("profiles: {node: {extends: node}}\n"), ElementsAre("extends-circle"));
  EXPECT_THAT(codes("profiles: {a: {extends: b}, b: {extends: c}, c: {extends: a}, d: {extends: a}}\n"),
              ElementsAre("extends-circle"));
  const auto circle = parsed("profiles:\n  a: {extends: b}\n  b: {extends: a}\n");
  EXPECT_EQ(circle.error()[0].at, (base::Span{"config.yaml", 2, 16, 1}));
}

TEST(Config, HostileBytesAreRefusedAndShownSafely) {
  constexpr std::string_view kNul("profiles: {node: {allowRead: [a\0b]}}\n", 37);
  const std::string nul(kNul);
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "[";
  for (const std::string& one :
       {nul, std::string("\xff\xfe"), std::string("profiles: {node: {allowRead: [\xc3]}}\n"),
        std::string("profiles: &a {node: *a}\n"), std::string("profiles: !!map {}\n"), std::string("a: 1\n---\nb: 2\n"),
        "profiles: " + deep, std::string("profiles: {<<: {node: {}}}\nx: {<<: 1}\n"),
        std::string("profiles: {\"\\e[2J\": {}}\n")}) {
    const auto wrong = parsed(one);
    ASSERT_FALSE(wrong.has_value()) << base::quote(one);
    for (const base::Diagnostic& each : wrong.error()) {
      std::string shown = base::render(each, one);
      std::erase(shown, '\n');
      EXPECT_FALSE(base::find_unsafe_rune(shown)) << base::quote(shown);
    }
  }
}

}  // namespace
}  // namespace cordon::policy::config
