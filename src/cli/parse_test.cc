#include "cli/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const CommandRow& command(std::string_view name) { return *find_command(name); }

Arguments parsed(std::string_view name, const std::vector<std::string>& words) {
  auto out = parse(command(name), words);
  EXPECT_TRUE(out.has_value()) << (out ? "" : report::reason(out.error()));
  return out ? std::move(*out) : Arguments{};
}

plan::RefusedItem mistake(std::string_view name, const std::vector<std::string>& words) {
  auto out = parse(command(name), words);
  EXPECT_FALSE(out.has_value());
  if (out) return {};
  EXPECT_EQ(out.error().exit_code, 125);
  EXPECT_THAT(out.error().usage, testing::StartsWith("usage: cordon "));
  return out.error().items.front();
}

TEST(Parse, FlagsMayStandBeforeAndBehindTheManifest) {
  const Arguments arguments = parsed("run", {"--strict", "m.yaml", "--json"});
  EXPECT_EQ(arguments.operand(), "m.yaml");
  EXPECT_TRUE(arguments.has("--strict"));
  EXPECT_TRUE(arguments.has("--json"));
  EXPECT_FALSE(arguments.has("--dry-run"));
}

TEST(Parse, AValueStandsBehindTheFlagOrBehindAnEqualsSign) {
  const Arguments arguments = parsed("run", {"m.yaml", "--env", "A=1", "--env=B=2 3", "--env", "C="});
  EXPECT_THAT(arguments.values("--env"), ElementsAre("A=1", "B=2 3", "C="));
}

TEST(Parse, AFlagsValueIsOneWordAndTheNextIsTheManifest) {
  const Arguments arguments = parsed("run", {"--env", "A=1", "--report", "r.json", "m.yaml"});
  EXPECT_EQ(arguments.operand(), "m.yaml");
  EXPECT_EQ(arguments.value("--report"), "r.json");
}

TEST(Parse, WordsBehindTheDashesAreNoFlags) {
  const Arguments arguments = parsed("run", {"--json", "--", "npm", "install", "--strict"});
  EXPECT_TRUE(arguments.dashes);
  EXPECT_THAT(arguments.after, ElementsAre("npm", "install", "--strict"));
  EXPECT_FALSE(arguments.has("--strict"));
}

TEST(Parse, AManifestWhoseNameStartsWithADashIsReachable) {
  EXPECT_EQ(parsed("validate", {"--", "-m.yaml"}).operand(), "-m.yaml");
}

TEST(Parse, AnUnknownFlagGetsTheOneThatWasMeant) {
  const plan::RefusedItem item = mistake("run", {"--alow-degraded", "m.yaml"});
  EXPECT_EQ(item.code, "unknown-flag");
  EXPECT_EQ(item.message, "run has no flag \"--alow-degraded\"");
  EXPECT_EQ(item.mend, "did you mean --allow-degraded?");
}

TEST(Parse, AnUnknownFlagLikeNoOtherPointsToTheHelp) {
  EXPECT_THAT(mistake("run", {"--zzzzzzzz=1", "m.yaml"}).mend, HasSubstr("cordon run --help"));
}

TEST(Parse, AHostileWordIsQuoted) {
  EXPECT_EQ(mistake("validate", {"--\x1b[2J"}).message, "validate has no flag \"--\\x1b[2J\"");
}

TEST(Parse, AMissingManifestIsNamed) {
  EXPECT_EQ(mistake("run", {}).message, "run needs a MANIFEST");
  EXPECT_EQ(mistake("validate", {"--json"}).code, "missing-operand");
}

TEST(Parse, ACommandWithoutItsDashesIsAskedAbout) {
  EXPECT_EQ(mistake("run", {"npm", "install", "left pad"}).mend,
            "did you mean: cordon run -- npm install \"left pad\"");
}

TEST(Parse, AFlagWithoutItsValueSaysWhatBelongsThere) {
  EXPECT_EQ(mistake("run", {"m.yaml", "--env"}).message, "--env needs a NAME=VALUE");
}

TEST(Parse, AFlagThatMayStandOnceMayStandOnce) {
  EXPECT_EQ(mistake("run", {"m.yaml", "--report", "a", "--report", "b"}).code, "flag-given-twice");
}

TEST(Parse, ASwitchTakesNoValueButTrueAndFalse) {
  EXPECT_TRUE(parsed("run", {"m.yaml", "--json=true"}).has("--json"));
  EXPECT_FALSE(parsed("run", {"m.yaml", "--json=false"}).has("--json"));
  mistake("run", {"m.yaml", "--strict=perhaps"});
}

TEST(Parse, JsonIsSeenBeforeAnythingIsParsed) {
  EXPECT_TRUE(wants_json({"--bogus", "--json"}));
  EXPECT_FALSE(wants_json({"--json", "--json=false"}));
  EXPECT_FALSE(wants_json({"--", "--json"}));
}

TEST(Parse, EveryFlagOfEveryCommandIsInItsUsageLineAndIsAccepted) {
  for (const CommandRow& row : commands()) {
    for (const OptionRow& option : row.options) {
      EXPECT_THAT(usage_line(row, 10'000), HasSubstr(option.name));
      std::vector<std::string> words{std::string(option.name)};
      if (!option.value.empty()) words.push_back("x");
      if (!row.operand.empty()) words.push_back("operand");
      EXPECT_TRUE(parsed(row.name, words).has(option.name)) << row.name << " " << option.name;
    }
  }
}

TEST(Parse, UsageLinesAreWrapped) {
  const std::string line = usage_line(command("run"), 78);
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = line.find('\n', at);
    EXPECT_LE(end - at, 78U);
    at = end + 1;
  }
}

TEST(Parse, ShortFlagsAreTheBuildSandboxs) {
  const Arguments arguments =
      parsed("run", {"-p", "node", "-n", "a.x", "-n", "b.x", "-N", "c.x",    "-w", "w",   "-r", "r",
                     "-e", "e",    "-E", "E",   "-f", "f.x", "-c", "c.yaml", "--", "npm", "-p"});
  EXPECT_EQ(arguments.value("--profile"), "node");
  EXPECT_THAT(arguments.values("--allow-domain"), ElementsAre("a.x", "b.x"));
  EXPECT_THAT(arguments.values("--deny-domain"), ElementsAre("c.x"));
  EXPECT_THAT(arguments.values("--allow-write"), ElementsAre("w"));
  EXPECT_THAT(arguments.values("--deny-read"), ElementsAre("r"));
  EXPECT_THAT(arguments.values("--allow-exec"), ElementsAre("e"));
  EXPECT_THAT(arguments.values("--deny-exec"), ElementsAre("E"));
  EXPECT_THAT(arguments.values("--allow-fetch"), ElementsAre("f.x"));
  EXPECT_EQ(arguments.value("--config"), "c.yaml");
  EXPECT_THAT(arguments.after, ElementsAre("npm", "-p"));
  EXPECT_EQ(mistake("run", {"-p", "node", "--profile", "rust", "--", "x"}).code, "flag-given-twice");
  EXPECT_THAT(mistake("run", {"-p"}).message, HasSubstr("--profile needs a NAME"));
}

}  // namespace
}  // namespace cordon::cli
