// What a promotion lets through, as an overlay would have left it. Each refusal stands beside something of the same run
// that does arrive.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "enforce/promote/desk_test.h"

namespace cordon::enforce::promote {
namespace {

using testing::as;
using testing::As;
using testing::Desk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using testing::words;

class Promotion : public testing::Everybody {};
INSTANTIATE_TEST_SUITE_P(Everybody, Promotion, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

TEST_P(Promotion, MovesAnOutputThatWasNotThereAndKeepsTheRest) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/src/main.js", "old");
    desk.begin();
    desk.made("up/node_modules");
    desk.file("up/node_modules/a/index.js", "new");
    desk.file("up/src/main.js", "changed by the run");
    desk.file("up/notes.txt");
    const Outcome outcome = desk.promote();
    EXPECT_THAT(words(outcome.promoted), ElementsAre("node_modules: promoted"));
    EXPECT_THAT(words(outcome.kept), ElementsAre("notes.txt: not-an-output", "src/main.js: not-an-output"));
    EXPECT_EQ(desk.read("ws/node_modules/a/index.js"), "new");
    EXPECT_EQ(desk.read("ws/src/main.js"), "old");
    EXPECT_EQ(desk.read("up/src/main.js"), "changed by the run");
    EXPECT_FALSE(desk.exists("up/node_modules"));
    EXPECT_THAT(desk.listing("ws"), Not(HasSubstr("attributes")));
    EXPECT_EQ(desk.listing("scratch"), "");
    EXPECT_EQ(outcome.files, 1U);
    EXPECT_EQ(outcome.directories, 2U);
    EXPECT_EQ(outcome.bytes, 3U);
  });
}

TEST_P(Promotion, FindsOutputsBelowDirectoriesThatAreNone) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/packages/a/package.json");
    desk.begin();
    desk.made("up/packages/a/node_modules");
    desk.file("up/packages/a/node_modules/x");
    desk.made("up/packages/new");
    desk.file("up/packages/new/node_modules/x");
    const Outcome outcome = desk.promote();
    EXPECT_THAT(words(outcome.promoted), ElementsAre("packages/a/node_modules: promoted"));
    EXPECT_THAT(words(outcome.kept), ElementsAre("packages/new: not-an-output"));
    EXPECT_FALSE(desk.exists("up/packages/a"));  // which only led there
  });
}

void make_what_leads(const Desk& desk) {
  desk.made("up/leads");
  desk.file("up/leads/target/x", "x", 0600);
  desk.file("up/leads/leads/target/y");
  desk.file("up/leads/source");
  desk.file("up/leads/package-lock.json");
  desk.file("up/other/leads/target/x");
  desk.file("up/away/leads/x");
  desk.made("up/ws/leads");
}

void expect_only_outputs_led_to(const Desk& desk, const Outcome& outcome) {
  EXPECT_THAT(words(outcome.promoted), UnorderedElementsAre("leads/target: promoted", "leads/leads/target: promoted"));
  EXPECT_THAT(words(outcome.kept),
              UnorderedElementsAre("leads/source: not-an-output", "leads/package-lock.json: not-an-output",
                                   "other: not-an-output", "away/leads: not-an-output", "away/leads/x: not-an-output",
                                   "ws: not-an-output"));
  EXPECT_EQ(desk.listing("ws"),
            "away 40755\naway/stays 100644 'x'\nleads 40755\nleads/leads 40755\nleads/leads/target 40755\n"
            "leads/leads/target/y 100644 'x'\nleads/target 40755\nleads/target/x 100600 'x'\n");
  EXPECT_TRUE(desk.exists("up/leads/source"));
  EXPECT_FALSE(desk.exists("up/leads/leads")) << "it only led there";
}

TEST_P(Promotion, MakesANewDirectoryForTheOutputsInItAlone) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/away/stays");
    desk.begin();
    make_what_leads(desk);
    expect_only_outputs_led_to(desk, desk.promote());
  });
}

TEST_P(Promotion, MergesWhatTheRunAddedChangedAndDeleted) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/target/stays", "1");
    desk.file("ws/target/changes", "1");
    desk.file("ws/target/goes", "1");
    desk.file("ws/target/old/deep", "1");
    desk.link("ws/target/latest", "stays");
    desk.begin();
    desk.file("up/target/changes", "2");
    desk.file("up/target/sub/added", "2");
    desk.whiteout("up/target/goes");
    desk.whiteout("up/target/old");
    desk.link("up/target/latest", "changes");
    const Outcome outcome = desk.promote();
    EXPECT_TRUE(outcome.is_all());
    EXPECT_EQ(outcome.deletions, 2U);
    EXPECT_EQ(desk.listing("ws"),
              "target 40755\ntarget/changes 100644 '2'\ntarget/latest 120777 -> changes\ntarget/stays 100644 '1'\n"
              "target/sub 40755\ntarget/sub/added 100644 '2'\n");
    EXPECT_EQ(desk.listing("up"), "");
  });
}

TEST_P(Promotion, ReplacesAnOutputThatWasMadeAnew) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/target/old/file");
    desk.begin();
    desk.made("up/target");
    desk.file("up/target/new");
    EXPECT_THAT(words(desk.promote().promoted), ElementsAre("target: promoted"));
    EXPECT_EQ(desk.listing("ws"), "target 40755\ntarget/new 100644 'x'\n");
    EXPECT_EQ(desk.listing("scratch"), "");
  });
}

TEST_P(Promotion, RemovesAnOutputThatTheRunRemoved) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/target/x");
    desk.file("ws/src/x");
    desk.begin();
    desk.whiteout("up/target");
    desk.whiteout("up/src");
    const Outcome outcome = desk.promote();
    EXPECT_THAT(words(outcome.promoted), ElementsAre("target: deleted"));
    EXPECT_THAT(words(outcome.kept), ElementsAre("src: deletion-outside-outputs"));
    EXPECT_TRUE(desk.exists("ws/src/x"));
    EXPECT_FALSE(desk.exists("ws/target"));
  });
}

TEST_P(Promotion, TakesWhiteoutsThatAreMarkedFilesForWhatTheyAre) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/target/goes");
    desk.file("ws/target/empty", "not empty");
    desk.begin();
    desk.file("up/target/goes", "");
    desk.file("up/target/empty", "");
    desk.mark("up/target", "user.overlay.opaque", "x");
    desk.mark("up/target/goes", "user.overlay.whiteout", "y");
    EXPECT_TRUE(desk.promote().is_all());
    EXPECT_FALSE(desk.exists("ws/target/goes"));
    EXPECT_EQ(desk.read("ws/target/empty"), "");
    EXPECT_THAT(desk.listing("ws"), Not(HasSubstr("attributes")));
  });
}

TEST_P(Promotion, LetsNothingThroughBeyondPermissionBits) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    desk.made("up/target");
    desk.file("up/target/setuid", "x", 06777);
    desk.directory("up/target/sticky", 03777);
    desk.file("up/target/marked");
    desk.mark("up/target/marked", "user.evil", "1");
    desk.mark("up/target/marked", "user.overlay.overlay.redirect", "/etc");
    const Outcome outcome = desk.promote();
    EXPECT_TRUE(outcome.is_all());
    EXPECT_THAT(words(outcome.stripped),
                ElementsAre("target/marked: stripped", "target/setuid: stripped", "target/sticky: stripped"));
    EXPECT_EQ(desk.mode("ws/target/setuid"), 0755U);
    EXPECT_EQ(desk.mode("ws/target/sticky"), 0755U);
    EXPECT_THAT(desk.listing("ws"), Not(HasSubstr("attributes")));
  });
}

TEST_P(Promotion, RefusesWhatIsNoFileDirectoryOrLink) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    desk.made("up/target");
    desk.file("up/target/good");
    ASSERT_EQ(::mkfifo(desk.at("up/target/fifo").c_str(), 0644), 0);
    ASSERT_EQ(::mknod(desk.at("up/target/socket").c_str(), S_IFSOCK | 0644, 0), 0);
    const Outcome outcome = desk.promote();
    EXPECT_THAT(words(outcome.refused), ElementsAre("target/fifo: special-file", "target/socket: special-file"));
    EXPECT_EQ(desk.listing("ws"), "target 40755\ntarget/good 100644 'x'\n");
    EXPECT_TRUE(desk.exists("up/target/fifo"));
  });
}

TEST_P(Promotion, RefusesDirectoriesAndFilesWhoseContentIsElsewhere) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/target/x");
    desk.begin();
    desk.directory("up/target/moved");
    desk.mark("up/target/moved", "user.overlay.redirect", "/etc");
    desk.file("up/target/thin");
    desk.mark("up/target/thin", "user.overlay.metacopy", "");
    desk.file("up/target/good");
    EXPECT_THAT(words(desk.promote().refused),
                ElementsAre("target/moved: unknown-overlay", "target/thin: unknown-overlay"));
    EXPECT_EQ(desk.listing("ws"), "target 40755\ntarget/good 100644 'x'\ntarget/x 100644 'x'\n");
  });
}

TEST_P(Promotion, RefusesRepositoriesAtAnyDepthHoweverTheyAreSpelled) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    desk.made("up/node_modules");
    desk.file("up/node_modules/a/.git/hooks/post-checkout");
    desk.file("up/node_modules/b/.GIT", "gitdir: /x");
    desk.file("up/node_modules/c/.g\u200cit/config");
    desk.file("up/node_modules/d/git~1/config");
    for (const char* name : {"HEAD", "objects/x", "refs/x", "config", "hooks/x"})
      desk.file("up/node_modules/bare/" + std::string(name));
    desk.file("up/node_modules/linked/Head");
    desk.file("up/node_modules/linked/commondir");
    desk.file("up/node_modules/good/HEAD");
    desk.file("up/.git/config");
    const Outcome outcome = desk.promote();
    EXPECT_THAT(words(outcome.refused),
                ElementsAre(".git: git-repository", "node_modules/a/.git: git-repository",
                            "node_modules/b/.GIT: git-repository", "node_modules/bare: git-repository",
                            "node_modules/c/.g\u200cit: git-repository", "node_modules/d/git~1: git-repository",
                            "node_modules/linked: git-repository"));
    EXPECT_TRUE(desk.exists("ws/node_modules/good/HEAD"));
    EXPECT_FALSE(desk.exists("ws/node_modules/bare"));
    EXPECT_FALSE(desk.exists("ws/.git"));
    EXPECT_FALSE(desk.exists("ws/node_modules/a/.git"));
  });
}

TEST_P(Promotion, RefusesARepositoryThatIsHalfThere) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/target/objects/x");
    desk.file("ws/target/refs/x");
    desk.begin();
    desk.file("up/target/HEAD", "ref: refs/heads/main");
    desk.file("up/target/config", "[core]\n\tfsmonitor = evil");
    EXPECT_THAT(words(desk.promote().refused), ElementsAre("target: git-repository"));
    EXPECT_FALSE(desk.exists("ws/target/HEAD"));
    EXPECT_FALSE(desk.exists("ws/target/config"));
  });
}

TEST_P(Promotion, RefusesShieldedNamesAndWhatFoldsToOne) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    desk.made("up/target");
    desk.file("up/target/.ENVRC");
    desk.file("up/target/.gitconﬁg");
    desk.file("up/target/.vscode/tasKs.json");
    desk.file("up/target/.vscode/settings.json");
    desk.file("up/target/tasks.json");
    EXPECT_THAT(words(desk.promote().refused), ElementsAre("target/.ENVRC: shielded", "target/.gitconﬁg: shielded",
                                                           "target/.vscode/tasKs.json: shielded"));
    EXPECT_TRUE(desk.exists("ws/target/tasks.json"));
    EXPECT_TRUE(desk.exists("ws/target/.vscode/settings.json"));
  });
}

TEST_P(Promotion, RefusesLinksThatLeaveTheWorkspace) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/src/a.js");
    desk.begin();
    desk.made("up/node_modules/.bin");
    desk.made("up/node_modules");
    desk.link("up/node_modules/.bin/good", "../a/cli.js");
    desk.link("up/node_modules/good-tool", "/usr/bin/env");
    desk.link("up/node_modules/good-here", desk.at("ws/src"));
    desk.link("up/node_modules/good-source", "../src/a.js");
    desk.link("up/node_modules/bashrc", "/home/victim/.bashrc");
    desk.link("up/node_modules/out", "../../x");
    desk.link("up/node_modules/behind", "a/../../..");
    desk.link("up/node_modules/usr", "/usr/../etc/passwd");
    desk.link("up/node_modules/beside", desk.at("ws") + "-other/x");
    desk.link("up/node_modules/hooks", "../.git/hooks/pre-commit");
    desk.link("up/node_modules/envrc", desk.at("ws/.envrc"));
    const Outcome outcome = desk.promote();
    EXPECT_THAT(words(outcome.refused),
                ElementsAre("node_modules/bashrc: link-leaves", "node_modules/behind: link-leaves",
                            "node_modules/beside: link-leaves", "node_modules/envrc: shielded",
                            "node_modules/hooks: git-repository", "node_modules/out: link-leaves",
                            "node_modules/usr: link-leaves"));
    for (const char* good : {".bin/good", "good-tool", "good-here", "good-source"})
      EXPECT_TRUE(desk.exists("ws/node_modules/" + std::string(good))) << good;
    EXPECT_FALSE(desk.exists("ws/node_modules/bashrc"));
  });
}

TEST_P(Promotion, WritesThroughNoLinkAtTheDestination) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/elsewhere/kept");
    desk.link("ws/target", "elsewhere");
    desk.file("ws/node_modules/x");
    desk.link("ws/node_modules/a", "../elsewhere");
    desk.link("ws/node_modules/f", "../elsewhere/kept");
    desk.begin();
    desk.made("up/target");
    desk.file("up/target/evil");
    desk.file("up/node_modules/a/evil");
    desk.file("up/node_modules/f", "the run's");
    const Outcome outcome = desk.promote();
    EXPECT_THAT(words(outcome.refused), ElementsAre("node_modules/a: link-at-place", "target: link-at-place"));
    EXPECT_EQ(desk.listing("ws/elsewhere"), "kept 100644 'x'\n");
    EXPECT_EQ(desk.read("ws/node_modules/f"), "the run's");  // the link itself was replaced
  });
}

TEST_P(Promotion, NamesWhatTheHostChangedMeanwhileAndLeavesIt) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/target/a", "before");
    desk.file("ws/target/b", "before");
    desk.file("ws/target/gone", "before");
    desk.file("ws/node_modules/deep/file", "before");
    desk.file("ws/package-lock.json", "before");
    desk.begin();
    desk.file("up/target/a", "run");
    desk.file("up/target/b", "run");
    desk.whiteout("up/target/gone");
    desk.made("up/node_modules");
    desk.file("up/node_modules/new", "run");
    desk.file("up/package-lock.json", "run");
    desk.file("ws/target/a", "host");
    desk.file("ws/target/gone", "host");
    desk.file("ws/node_modules/deep/file", "host");
    desk.file("ws/package-lock.json", "host");
    const Outcome outcome = desk.promote();
    EXPECT_THAT(words(outcome.conflicts),
                ElementsAre("node_modules: changed-meanwhile", "package-lock.json: changed-meanwhile",
                            "target/a: changed-meanwhile", "target/gone: changed-meanwhile"));
    EXPECT_EQ(desk.read("ws/target/a"), "host");
    EXPECT_EQ(desk.read("ws/target/b"), "run");
    EXPECT_EQ(desk.read("ws/node_modules/deep/file"), "host");
    EXPECT_EQ(desk.read("ws/package-lock.json"), "host");
    EXPECT_EQ(desk.read("up/target/a"), "run");
  });
}

TEST_P(Promotion, CountsAChangeOfTheDirectoryForLockFilesAndDeletionsOnly) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/target/gone");
    desk.begin();
    desk.file("up/package-lock.json", "run");
    desk.made("up/node_modules");
    desk.file("up/node_modules/x");
    desk.whiteout("up/target/gone");
    desk.file("ws/edited", "by the host");
    desk.file("ws/target/other", "by the host");
    const Outcome outcome = desk.promote();
    EXPECT_THAT(words(outcome.conflicts),
                ElementsAre("package-lock.json: parent-changed-meanwhile", "target/gone: parent-changed-meanwhile"));
    EXPECT_THAT(words(outcome.promoted), ElementsAre("node_modules: promoted"));
    Task again = desk.task();
    again.siblings = Siblings::kIgnored;
    EXPECT_TRUE(desk.promote(std::move(again)).is_all());
    EXPECT_EQ(desk.read("ws/package-lock.json"), "run");
    EXPECT_FALSE(desk.exists("ws/target/gone"));
  });
}

TEST_P(Promotion, HoldsBackManifestsAndTheLocksOfAFailedRun) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/package.json", "before");
    desk.begin();
    desk.file("up/package.json", "run");
    desk.file("up/package-lock.json", "run");
    Task failed = desk.task();
    failed.locks = Handling::kKeep;
    EXPECT_THAT(words(desk.promote(std::move(failed)).kept),
                ElementsAre("package-lock.json: held-lock", "package.json: held-manifest"));
    EXPECT_EQ(desk.read("ws/package.json"), "before");
    Task allowed = desk.task();
    allowed.manifests = Handling::kPromote;
    EXPECT_THAT(words(desk.promote(std::move(allowed)).promoted),
                ElementsAre("package-lock.json: promoted", "package.json: promoted"));
    EXPECT_EQ(desk.read("ws/package.json"), "run");
  });
}

TEST_P(Promotion, GivesAFileItsOwnContentWhereAnotherNameOfItStaysBehind) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    desk.made("up/target");
    desk.file("up/target/shared", "good", 0400);
    desk.file("up/target/a", "twins");
    std::filesystem::create_hard_link(desk.at("up/target/shared"), desk.at("up/outside"));
    std::filesystem::create_hard_link(desk.at("up/target/a"), desk.at("up/target/b"));
    static_cast<void>(desk.promote());
    ::chmod(desk.at("up/outside").c_str(), 0600);
    std::ofstream(desk.at("up/outside")) << "evil";
    EXPECT_EQ(desk.read("ws/target/shared"), "good");
    EXPECT_EQ(desk.mode("ws/target/shared"), 0400U);
    EXPECT_TRUE(std::filesystem::equivalent(desk.at("ws/target/a"), desk.at("ws/target/b")));
    EXPECT_EQ(desk.listing("scratch"), "");
  });
}

TEST_P(Promotion, KeepsTimesAndModesEvenWhereNobodyMayEnter) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    desk.made("up/target");
    desk.file("up/target/ro/deep/file", "x", 0);
    desk.directory("up/target/ro/deep", 0);
    desk.directory("up/target/ro", 0555);
    desk.made("up/node_modules");
    desk.directory("up/node_modules", 0555);
    desk.file("up/target/old");
    const std::array<timespec, 2> times{timespec{1'000'000, 5}, timespec{1'000'000, 5}};
    ASSERT_EQ(::utimensat(AT_FDCWD, desk.at("up/target/old").c_str(), times.data(), 0), 0);
    EXPECT_TRUE(desk.promote().is_all());
    EXPECT_EQ(desk.mode("ws/target/ro"), 0555U);
    EXPECT_EQ(desk.mode("ws/node_modules"), 0555U);
    EXPECT_EQ(desk.mode("ws/target/ro/deep"), 0U);
    struct stat facts{};
    ASSERT_EQ(::stat(desk.at("ws/target/old").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mtim.tv_sec, 1'000'000);
    EXPECT_EQ(facts.st_mtim.tv_nsec, 5);
  });
}

TEST(Codes, HasOneForEachReason) {
  EXPECT_EQ(code_of(Reason::kPromoted), "promoted");
  EXPECT_EQ(code_of(Reason::kChangedMeanwhile), "changed-meanwhile");
  EXPECT_EQ(code_of(Reason::kSpecialFile), "special-file");
  EXPECT_EQ(code_of(Reason::kOverBound), "over-bound");
}

}  // namespace
}  // namespace cordon::enforce::promote
