// What a tired reader of the README met: a mend that led nowhere, a summary that contradicted itself, a word said
// twice, a thing done without a word. Each held on the real program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "support/scene.h"

namespace cordon::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// How often; where a line was wrapped, and that it is marked as Cordon's, does not matter.
std::size_t times(const std::string& said, std::string_view what) {
  const std::string text = std::regex_replace(said, std::regex("\\s+(cordon: +)?"), " ");
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

std::string page(const char* name) {
  std::ifstream in(std::string(CORDON_SOURCE_DIR) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Mends : public testing::Test {
 protected:
  Mends() : scene_(ordinary_user()) { program("exit 0\n"); }
  void program(const std::string& script) const { scene_.tree().write("work/s.sh", "#!/bin/sh\n" + script, 0755); }
  [[nodiscard]] Finished ran(const std::string& script, const std::string& lines, std::vector<std::string> flags = {}) {
    program(script);
    return scene_.sandboxed("entrypoint: ./s.sh\n" + lines, flags);
  }
  [[nodiscard]] Finished says(std::vector<std::string> words) const { return scene_.cordon(std::move(words)).run(); }
  [[nodiscard]] std::string with(const std::string& lines) const {
    return scene_.manifest("entrypoint: ./s.sh\n" + lines);
  }
  Scene scene_;
};

// ---- mends lead somewhere

TEST_F(Mends, AScriptInItsManifestsPlaceSaysHowItsManifestBegins) {
  const Finished said = says({"run", "./s.sh"});
  EXPECT_EQ(said.code, 125);
  EXPECT_TRUE(said.says("give that: ./s.sh.manifest.yaml, of which the first line is entrypoint: ./s.sh")) << said;
  scene_.manifest("entrypoint: ./s.sh\n", "s.sh.manifest.yaml");
  EXPECT_TRUE(says({"validate", "s.sh.manifest.yaml"}).says("runnable:     yes"));
}

TEST_F(Mends, AManifestThatIsNotThereSaysWhatOneIs) {
  EXPECT_TRUE(says({"run", "nope.yaml"}).says("the shortest is the line entrypoint: ./PROGRAM"));
}

TEST_F(Mends, ArgumentsBehindAManifestAreWrittenIntoIt) {
  const Finished said = says({"run", with(""), "extra", "a b"});
  EXPECT_EQ(said.code, 125);
  EXPECT_TRUE(said.says("args: [\"extra\", \"a b\"]")) << said;
  EXPECT_FALSE(said.says("cordon run --")) << said;
  program("test \"$1$2\" = 'extraa b'\n");
  EXPECT_EQ(scene_.sandboxed("entrypoint: ./s.sh\nargs: [\"extra\", \"a b\"]\n").code, 0);
}

TEST_F(Mends, ABareCommandIsToldOfTheDashes) {
  EXPECT_TRUE(says({"run", "cat"}).says("did you mean: cordon run -- cat"));
  EXPECT_TRUE(says({"run", "npm", "install"}).says("did you mean: cordon run -- npm install"));
}

TEST_F(Mends, AFlagOfTheOtherDoorIsNamed) {
  EXPECT_TRUE(says({"run", "--allow-unapproved", "--", "true"}).says("--allow-unapproved is for a manifest"));
  EXPECT_TRUE(says({"run", "--workspace", "live", with("")}).says("--workspace is for a command after --"));
}

TEST_F(Mends, AReportThatHasNoPlaceSaysWhatToMake) {
  const Finished said = says({"run", "--report", "/nope/x.json", with("")});
  EXPECT_EQ(said.code, 125);
  EXPECT_TRUE(said.says("/nope/ does not exist: make it first")) << said;
  EXPECT_THAT(said.err, Not(HasSubstr("openat2")));
}

TEST_F(Mends, ADirectoryThatMayNotBeSearchedIsNamedItself) {
  scene_.tree().make_directory("work/shut", 0000);
  const Finished said = says({"validate", with("read: [./shut/x]\n")});
  EXPECT_TRUE(said.says("in " + scene_.in_work("shut") + " you may not look at x")) << said;
}

TEST_F(Mends, APathIsNotSaidToBeItself) {
  const Finished said = says({"validate", with("write: [" + scene_.home() + ", ../home]\n")});
  EXPECT_THAT(said.err, Not(HasSubstr("\"" + scene_.home() + "\" is \"" + scene_.home() + "\" here"))) << said;
  EXPECT_TRUE(said.says("write: \"../home\" is \"" + scene_.home() + "\" here")) << said;
}

// ---- validate and approve

TEST_F(Mends, WhereTheProgramRunsIsShownBeforeItDoes) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"validate", with("")}, {"approve", "--yes", with("")}})
    EXPECT_EQ(times(says(words).out, " runs in " + scene_.work() + " "), 1U) << words.front();
  EXPECT_EQ(ran("pwd\n", "").out, scene_.work() + "\n");
  const std::string elsewhere = scene_.manifest("entrypoint: /usr/bin/env\n");
  EXPECT_EQ(times(says({"validate", elsewhere}).out, " runs in /usr/bin "), 1U);
}

TEST_F(Mends, TheSummaryOfValidateAgreesWithTheRun) {
  for (const char* lines : {"write: [/nope2/x]\n", "exec: [git]\nlimits: {pids: 1}\n"}) {
    const Finished said = says({"validate", with(lines)});
    EXPECT_EQ(said.code, 0) << "told, and failed only where --strict asks";
    EXPECT_THAT(said.out, AllOf(HasSubstr("runnable:     no"), HasSubstr("grants:       no, "))) << said;
    EXPECT_EQ(says({"run", "--allow-unapproved", with(lines)}).code, 125);
  }
}

TEST_F(Mends, StrictSaysWhyItFails) {
  const std::string manifest = scene_.approved("entrypoint: ./s.sh\nread: [./absent]\n");
  const Finished said = says({"validate", "--strict", manifest});
  EXPECT_EQ(said.code, 125);
  EXPECT_THAT(said.out, AllOf(HasSubstr("grants:       yes, but 1 names nothing here"),
                              EndsWith("strict:       no: ./absent names nothing here\n")))
      << said;
  const auto json = nlohmann::json::parse(says({"validate", "--strict", "--json", manifest}).out);
  EXPECT_EQ(json["strict_problems"].size(), 1U);
  EXPECT_THAT(says({"validate", "--strict", scene_.approved("entrypoint: ./s.sh\n")}).out,
              EndsWith("strict:       yes\n"));
}

TEST_F(Mends, ApproveSaysEachThingOnce) {
  const std::string manifest = with("env: [NOT_SET_HERE]\nread: ['./*.py', ./absent]\nwrite: [./made]\n");
  const Finished said = says({"approve", "--yes", manifest});
  EXPECT_EQ(said.code, 0) << said;
  EXPECT_EQ(times(said.out, "NOT_SET_HERE"), 1U) << said;
  EXPECT_EQ(times(said.out, "/dash"), 1U) << said;
  EXPECT_TRUE(said.says("patterns are not expanded")) << "what the parser warned of is seen before the stamp" << said;
}

TEST_F(Mends, ApproveSaysOnceWhoElseCouldRewriteTheManifest) {
  scene_.tree().make_directory("work/open", 0777);
  scene_.manifest("entrypoint: /usr/bin/true\n", "open/m.yaml");
  const Finished said = says({"approve", "--yes", "open/m.yaml"});
  EXPECT_EQ(said.code, 125);
  EXPECT_EQ(times(said.out + said.err, "is writable by everybody"), 1U) << said;
}

TEST_F(Mends, WhereApproveWouldRefuseTheNextStepIsAnother) {
  scene_.tree().make_directory("work/open", 0777);
  scene_.manifest("entrypoint: /usr/bin/true\n", "open/m.yaml");
  const Finished said = says({"run", "open/m.yaml"});
  EXPECT_EQ(said.code, 125);
  EXPECT_TRUE(said.says("mend: chmod o-w " + scene_.in_work("open"))) << said;
  EXPECT_TRUE(said.says("then read it and stamp it: cordon approve open/m.yaml")) << said;
}

TEST_F(Mends, NoLineEndsInABlank) {
  scene_.tree().make_directory("work/a/directory/with/a/name/that/is/long/enough/to/be/wrapped/at/the/end");
  const std::string lines =
      "read: [./a/directory/with/a/name/that/is/long/enough/to/be/wrapped/at/the/end, ./absent]\n";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"validate", with(lines)},
                                                {"inspect", with(lines)},
                                                {"approve", "--yes", with(lines)}}) {
    const Finished said = says(words);
    std::istringstream in(said.out + said.err);
    for (std::string line; std::getline(in, line);) EXPECT_THAT(line, Not(EndsWith(" "))) << words.front();
  }
}

// ---- run

TEST_F(Mends, AFailureIsNotExplainedByShieldsOfWhatIsNotThere) {
  scene_.tree().make_directory("work/out");
  EXPECT_EQ(ran("exit 3\n", "write: [./out]\n").err, "");
}

TEST_F(Mends, AFailureNamesWhatWasHidden) {
  const std::string key = scene_.tree().write("home/.ssh/id", "k\n");
  const Finished run = ran("read -r a <" + key + "\n", "read: ['~']\n");
  EXPECT_NE(run.code, 0);
  EXPECT_TRUE(run.says("hidden below what is granted: " + scene_.home() + "/.ssh")) << run;
}

TEST_F(Mends, AGrantThatIsNotExpandedIsSaidHoweverTheRunEnds) {
  for (const char* grant : {"./*.py", "$HOME/x"}) {
    const Finished run = ran("exit 0\n", list("read", {grant}));
    EXPECT_EQ(run.code, 0) << run;
    EXPECT_TRUE(run.says("not expanded")) << run;
    EXPECT_EQ(times(run.err, "not expanded"), 1U);
  }
  const Finished written = says({"run", "--allow-unapproved", with(list("write", {"./out/*.py"}))});
  EXPECT_EQ(written.code, 125) << "a directory of that name is meant by nobody" << written;
  EXPECT_FALSE(scene_.tree().exists("work/out"));
  scene_.tree().write("work/a*b", "here\n");
  EXPECT_EQ(ran("exit 0\n", list("read", {"./a*b"})).err, "") << "a file of that very name";
}

TEST_F(Mends, AStrictRunSaysWhatGrantsNothing) {
  EXPECT_TRUE(ran("exit 0\n", "read: [./absent]\n", {"--strict"}).says("note: read: ./absent"));
  EXPECT_EQ(ran("exit 0\n", "read: [./absent]\n").err, "");
}

TEST_F(Mends, ADirectoryMadeUnderTheNameOfAFileIsSaidByTheRunThatMakesIt) {
  const Finished first = ran("exit 0\n", "write: [./out.txt]\n");
  EXPECT_TRUE(first.says("a directory is made, though it looks like the name of a file")) << first;
  EXPECT_EQ(ran("exit 0\n", "write: [./out.txt]\n").err, "") << "it stands now";
}

TEST_F(Mends, AStoreThatWasLiftedIsNamedByEveryRun) {
  scene_.tree().write("home/.ssh/id", "k\n");
  const Finished run = ran("exit 0\n", "read: [~/.ssh]\n");
  EXPECT_EQ(run.code, 0);
  EXPECT_TRUE(run.says("lifted: read: ~/.ssh")) << run;
}

// ---- the pages

TEST_F(Mends, TheReadmeNamesTheCommandsThatReportAsJsonAndNoOther) {
  const std::string readme = page("README.md");
  const std::size_t end = readme.find(" also report as JSON");
  ASSERT_NE(end, std::string::npos);
  const std::string sentence = readme.substr(readme.rfind("\n\n", end), end - readme.rfind("\n\n", end));
  for (const std::string command :
       {"run", "validate", "approve", "inspect", "doctor", "profiles", "version", "completion"})
    EXPECT_EQ(says({"help", command}).says("--json"), sentence.find("`" + command + "`") != std::string::npos)
        << command;
}

TEST_F(Mends, TheMistakeThatTheManualShowsIsSaidInTheseWords) {
  const std::string manual = page("docs/manifest.md");
  const std::size_t begin = manual.find("    fetch.py.manifest.yaml:2:1: error:");
  ASSERT_NE(begin, std::string::npos);
  std::string shown = manual.substr(begin, manual.find("\n\n", begin) - begin);
  shown = std::regex_replace(shown, std::regex("…"), "");
  scene_.manifest("entrypoint: ./s.sh\nraed: [./data]\n", "fetch.py.manifest.yaml");
  const Finished said = says({"validate", "fetch.py.manifest.yaml"});
  const auto words = [](const std::string& text) { return std::regex_replace(text, std::regex("\\s+"), " "); };
  EXPECT_THAT(" " + words(said.err), HasSubstr(words(shown))) << said;
}

TEST_F(Mends, TheDryRunSaysWhatItNeeds) {
  EXPECT_TRUE(says({"run", "--dry-run", with("")}).says("cordon approve"));
  EXPECT_EQ(says({"inspect", with("")}).code, 0);
  EXPECT_TRUE(says({"help", "run"}).says("of an approved manifest"));
}

}  // namespace
}  // namespace cordon::test
