#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "policy/manifest/manifest.h"
#include "policy/manifest/test_policies.h"

namespace cordon::policy::manifest {
namespace {

const std::string kStamp(64, 'a');
const Provenance kNew = {"cordon approve", "2026-01-02T03:04:05Z", kStamp, {}};
const std::string kBom = "\xef\xbb\xbf";

std::string rewritten(const std::string& text, const Provenance& provenance = kNew) {
  const auto out = with_provenance(text, provenance);
  EXPECT_TRUE(out) << text << (out ? "" : out.error()[0].message);
  return out.value_or("");
}

TEST(Provenance, is_appended_where_there_is_none) {
  const std::string block =
      "provenance:\n  generated-by: cordon approve\n  generated-at: \"2026-01-02T03:04:05Z\"\n  approves: \"" + kStamp +
      "\"\n";
  EXPECT_EQ(rewritten("entrypoint: ./x\n"), "entrypoint: ./x\n" + block);
  EXPECT_EQ(rewritten("entrypoint: ./x"), "entrypoint: ./x\n" + block);
  EXPECT_EQ(rewritten("# a\nentrypoint: ./x # b\n\n# end\n"), "# a\nentrypoint: ./x # b\n\n# end\n" + block);
  EXPECT_EQ(rewritten("---\nentrypoint: ./x\n...\n# after\n"), "---\nentrypoint: ./x\n" + block + "...\n# after\n");
  EXPECT_EQ(rewritten("entrypoint: |-\n  ./x\n"), "entrypoint: |-\n  ./x\n" + block);
}

TEST(Provenance, is_appended_with_the_indentation_and_the_line_ends_of_the_text) {
  EXPECT_EQ(
      rewritten("  entrypoint: ./x\n  read: [a]\n", {"me", "", "", {"a:1"}}),
      "  entrypoint: ./x\n  read: [a]\n  provenance:\n    generated-by: me\n    blocked-hosts:\n      - \"a:1\"\n");
  EXPECT_EQ(rewritten("entrypoint: ./x\r\nread: [a]\r\n", {"me", "", "s", {}}),
            "entrypoint: ./x\r\nread: [a]\r\nprovenance:\r\n  generated-by: me\r\n  approves: \"s\"\r\n");
  EXPECT_EQ(rewritten(kBom + "entrypoint: ./x\n", {"me", "", "", {}}),
            kBom + "entrypoint: ./x\nprovenance:\n  generated-by: me\n");
}

TEST(Provenance, is_appended_inside_a_flow_map) {
  EXPECT_EQ(rewritten("{entrypoint: ./x}", {"me", "", "", {}}), "{entrypoint: ./x, provenance: {generated-by: me}}");
  EXPECT_EQ(rewritten("{entrypoint: ./x, read: [a], # c\n}\n", {"me", "", "", {"a:1"}}),
            "{entrypoint: ./x, read: [a], provenance: {generated-by: me, blocked-hosts: [\"a:1\"]}, # c\n}\n");
}

TEST(Provenance, keeps_comments_and_layout_inside_a_block_whose_values_are_renewed) {
  EXPECT_EQ(
      rewritten("entrypoint: ./x\nprovenance:   # by the tool\n    generated-by:  old   # who\n"
                "    approves: 'abc'  # the stamp\n    # when\n    generated-at: yesterday\nread: [a]\n"),
      "entrypoint: ./x\nprovenance:   # by the tool\n    generated-by:  cordon approve   # who\n    approves: \"" +
          kStamp + "\"  # the stamp\n    # when\n    generated-at: \"2026-01-02T03:04:05Z\"\nread: [a]\n");
}

TEST(Provenance, adds_what_is_missing_after_the_last_entry) {
  EXPECT_EQ(rewritten("provenance:\n  generated-by: cordon profile\n  blocked-hosts:\n  - b.com:443\n\n# c\n"
                      "entrypoint: ./x\n",
                      {"cordon approve", "", kStamp, {"b.com:443"}}),
            "provenance:\n  generated-by: cordon approve\n  blocked-hosts:\n  - b.com:443\n  approves: \"" + kStamp +
                "\"\n\n# c\nentrypoint: ./x\n");
  EXPECT_EQ(rewritten("provenance: {generated-by: a}\nentrypoint: ./x\n", {"a", "", "s", {}}),
            "provenance: {generated-by: a, approves: \"s\"}\nentrypoint: ./x\n");
  EXPECT_EQ(rewritten("entrypoint: ./x\nprovenance:\n  generated-by: a", {"a", "", "s", {}}),
            "entrypoint: ./x\nprovenance:\n  generated-by: a\n  approves: \"s\"");
  EXPECT_EQ(rewritten("entrypoint: ./x\r\nprovenance:\r\n  generated-by: a\r\nread: [a]\r\n", {"a", "", "s", {}}),
            "entrypoint: ./x\r\nprovenance:\r\n  generated-by: a\r\n  approves: \"s\"\r\nread: [a]\r\n");
}

TEST(Provenance, replaces_the_block_where_its_values_alone_would_not_do) {
  const Provenance wanted = {"me", "", "", {"c.com:1"}};
  const std::string block = "provenance:\n  generated-by: me\n  blocked-hosts:\n    - \"c.com:1\"";
  for (const char* old : {"provenance:", "provenance: ~", "provenance: {}", "provenance: {approves: x}",
                          "provenance:\n  blocked-hosts: [a, b]", "provenance:\n  approves: a\n  blocked-hosts:\n  - x",
                          "\"provenance\":\n  approves: a"})
    EXPECT_EQ(rewritten("read: [a] # 1\n" + std::string(old) + " # 2\n# 3\nentrypoint: ./x\n", wanted),
              "read: [a] # 1\n" + block + " # 2\n# 3\nentrypoint: ./x\n")
        << old;
  EXPECT_EQ(rewritten("{provenance: {approves: x}, entrypoint: ./x}", wanted),
            "{provenance: {generated-by: me, blocked-hosts: [\"c.com:1\"]}, entrypoint: ./x}");
}

TEST(Provenance, that_is_there_already_changes_no_byte) {
  for (const char* text : {"entrypoint: ./x\n", "{entrypoint: ./x}", "provenance: {approves: 'b'}\nentrypoint: ./x"}) {
    const std::string once = rewritten(text);
    EXPECT_EQ(rewritten(once), once);
  }
}

TEST(Provenance, that_cannot_be_put_in_without_touching_more_is_refused) {
  const auto out = with_provenance("? entrypoint\n: ./x\n? provenance\n: {approves: a}\n", {"me", "", "", {"x:1"}});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error()[0].code, "provenance-not-writable");
  EXPECT_FALSE(with_provenance("entrypoint: ./x\n", {"a\nwrite: [/]", "", "", {}}));
}

TEST(Provenance, of_a_text_that_is_no_manifest_is_its_errors) {
  const auto out = with_provenance("entrypont: ./x\n", kNew);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error()[0].code, "unknown-key");
}

TEST(Provenance, cannot_smuggle_a_key_in) {
  const std::string plain = fingerprint(parse("entrypoint: ./x\n", "m.yaml")->policy);
  for (const char* hostile : {"x\"\nwrite: [\"/\"]\n#", "x', write: [a], y: '", "x}\nread: [/]", "# x", "- x", "*x",
                              "a: b", "\\", "\"", "'"}) {
    const auto out = with_provenance("entrypoint: ./x\n", {hostile, hostile, hostile, {hostile}});
    if (!out) continue;
    const auto loaded = parse(*out, "m.yaml");
    ASSERT_TRUE(loaded);
    EXPECT_EQ(fingerprint(loaded->policy), plain);
    EXPECT_EQ(loaded->policy.provenance->approves, hostile);
  }
}

// ---- property: over many layouts, everything outside the block stays byte for byte ----------------------------------

/// A manifest put together from whole entries in any order and style, with comments between them.
class Layout {
 public:
  explicit Layout(std::uint32_t seed) : pick_(seed), shuffle_(seed) {}

  std::string text() {
    end_ = pick_.chance() ? "\n" : "\r\n";
    std::vector<std::string> entries = {"entrypoint: ./x",       "read:" + end_ + "  - ./a  # why" + end_ + "  - ~/b",
                                        "write: [./out,  ./o2]", "network:" + end_ + "- {host: a.com, port: \"443\"}",
                                        "limits: {pids: 3}",     "args: ['a # b', \"c: d\"]"};
    if (pick_.chance()) entries.push_back(provenance());
    std::ranges::shuffle(entries, shuffle_);
    std::string out = pick_.rarely() ? "---" + end_ : "";
    for (const std::string& entry : entries) out += comment() + entry + (pick_.chance() ? "" : "   # end") + end_;
    out += comment();
    if (pick_.rarely()) out += "..." + end_;
    if (pick_.rarely()) out.resize(out.size() - end_.size());
    return out;
  }

 private:
  std::string comment() {
    if (pick_.chance()) return "";
    return pick_.chance() ? end_ : "# provenance: {approves: nothing}" + end_;
  }
  std::string provenance() {
    switch (pick_.below(6)) {
      case 0:
        return "provenance:";
      case 1:
        return "provenance: {generated-by: x, approves: \"y\"}";
      case 2:
        return "provenance:" + end_ + "    generated-by: x   # who" + end_ + "    # stamp" + end_ +
               "    approves: \"y\"";
      case 3:
        return "provenance:" + end_ + " blocked-hosts:" + end_ + " - a:1" + end_ + " - b:2";
      case 4:
        return "'provenance': {" + end_ + "  approves: 'y' }";
      default:
        return "provenance: # tool" + end_ + "  generated-at: \"t\"";
    }
  }

  testing::Generator pick_;
  std::mt19937 shuffle_;
  std::string end_;
};

/// The text less the lines of its provenance block.
std::string without_block(const std::string& text) {
  std::string out;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    end = end == std::string::npos ? text.size() : end + 1;
    const std::string line = text.substr(at, end - at);
    at = end;
    if (line.starts_with("provenance") || line.starts_with("'provenance"))
      inside = true;
    else if (!line.starts_with(' '))
      inside = false;
    if (!inside) out += line;
  }
  return out;
}

TEST(Provenance, of_any_layout_is_renewed_without_touching_another_line) {
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    const std::string before = Layout(seed).text();
    ASSERT_TRUE(parse(before, "m.yaml")) << before;
    Provenance wanted = {"cordon approve", "now", std::to_string(seed), {}};
    if (seed % 3 == 0) wanted.blocked_hosts.push_back("h:1");
    const auto after = with_provenance(before, wanted);
    ASSERT_TRUE(after) << before;
    // Only a last line without its end may gain one, where a block is appended to it.
    const std::string kept = without_block(before);
    const std::string actual = without_block(*after);
    ASSERT_TRUE(actual == kept || actual == kept + "\n" || actual == kept + "\r\n") << before << "\n=>\n" << *after;
    if (actual != kept) {
      ASSERT_FALSE(before.ends_with('\n')) << before << "\n=>\n" << *after;
    }
    const auto loaded = parse(*after, "m.yaml");
    ASSERT_TRUE(loaded);
    ASSERT_EQ(loaded->policy.provenance, wanted);
    ASSERT_EQ(with_provenance(*after, wanted).value_or(""), *after);
  }
}

}  // namespace
}  // namespace cordon::policy::manifest
