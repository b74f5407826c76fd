// Promise: credentials stay hidden and what runs later stays unwritten, whatever is granted above it; for every rule of
// the corpus, on a made-up home with a planted sentinel in each.

#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "planted.h"

namespace cordon::test {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Shields = PlantedHome;
INSTANTIATE_TEST_SUITE_P(As, Shields, testing::ValuesIn(identities()), identity_name);

TEST_P(Shields, NoHiddenStoreIsReadUnderAReadOfTheHomeOrAboveIt) {
  const std::vector<Planted> planted = plant();
  ASSERT_GT(planted.size(), 500U);
  std::vector<std::string> acts;
  for (const Planted& each : planted) {
    if (each.hidden()) acts.push_back("show-file=" + each.sentinel);
  }
  const std::string above = fs::path(scene.home()).parent_path();
  for (const std::string& grant : {std::string("~"), above}) {
    const Finished inside = scene.acts(acts, list("read", {grant}));
    EXPECT_FALSE(inside.says(std::string(kSentinel))) << grant << inside;
    EXPECT_NE(inside.code, 125) << inside;
  }
  const Finished outside = scene.acts_bare(acts);
  EXPECT_EQ(lines(outside, "| " + std::string(kSentinel)).size(), acts.size()) << "the control reads every one";
}

TEST_P(Shields, ThePasswordsOfTheMachineAreNotReadUnderAReadOfTheRoot) {
  const std::vector<std::string> acts = {"show-file=/etc/shadow"};
  const bool root = GetParam().is_root();
  const std::vector<std::string> flags = root ? std::vector<std::string>{"--as-root"} : std::vector<std::string>();
  const Finished inside = scene.sandboxed(act_manifest(acts, list("read", {"/"})), flags);
  EXPECT_FALSE(inside.says("| root:")) << inside;
  EXPECT_EQ(inside.code, 0) << inside;
  EXPECT_EQ(scene.acts_bare(acts).says("| root:"), root) << "the control: root reads it, and nobody else";
}

TEST_P(Shields, NoLinkIntoAStoreLeadsAround) {
  const std::vector<Planted> planted = plant();
  std::vector<std::string> acts;
  for (std::size_t i = 0; i < planted.size(); ++i) {
    if (!planted[i].hidden()) continue;
    const std::string link = "work/in/" + std::to_string(i);
    scene.tree().make_directory("work/in");
    scene.tree().link(link, planted[i].sentinel);
    acts.push_back("show-file=" + scene.tree().path(link));
  }
  const Finished inside = scene.acts(acts, list("read", {"./in", "~"}));
  EXPECT_FALSE(inside.says(std::string(kSentinel))) << inside;
  const Finished outside = scene.acts_bare(acts);
  EXPECT_TRUE(outside.says(std::string(kSentinel)));
}

TEST_P(Shields, NothingShieldedIsChangedBelowWriteGrants) {
  const std::vector<Planted> planted = plant();
  // Directories of the home that hold shields and are none themselves.
  std::set<std::string> tops;
  std::set<std::string> stores;
  for (const Planted& each : planted) stores.insert(each.store);
  for (const Planted& each : planted) {
    const std::string below = each.store.substr(scene.home().size() + 1);
    const std::string top = scene.home() + "/" + below.substr(0, below.find('/'));
    if (below.contains('/') && !stores.contains(top)) tops.insert(top);
  }
  std::vector<std::string> acts;
  for (const Planted& each : planted) {
    const std::string below = each.store.substr(scene.home().size() + 1);
    if (!tops.contains(scene.home() + "/" + below.substr(0, below.find('/')))) continue;
    acts.push_back("append=" + each.sentinel);
    acts.push_back("rename=" + each.store + ":" + each.store + ".moved");
    acts.push_back("unlink=" + each.sentinel);
    acts.push_back("rmdir=" + each.store);
    for (fs::path at = fs::path(each.store).parent_path(); !tops.contains(at.string()); at = at.parent_path()) {
      acts.push_back("rename=" + at.string() + ":" + at.string() + ".moved");
      acts.push_back("exchange=" + at.string() + ":" + scene.home());
    }
  }
  const Finished inside = scene.acts(acts, list("write", {tops.begin(), tops.end()}));
  EXPECT_NE(inside.code, 125) << inside;
  for (const std::string& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act;
  expect_unchanged(planted);
}

TEST_P(Shields, AStoreIsShownByItsOwnNameAndInsideItByNone) {
  const std::string key = scene.tree().write("home/.ssh/id", kSentinel);
  EXPECT_TRUE(scene.acts({"show-file=" + key}, list("read", {"~/.ssh"})).says(std::string(kSentinel)));
  const std::string manifest = scene.manifest(act_manifest({"show-file=" + key}, list("read", {"~/.ssh/id"})));
  const Finished inside = scene.cordon({"run", "--allow-unapproved", manifest}).run();
  EXPECT_EQ(inside.code, 125) << inside;
  EXPECT_TRUE(inside.says("it is or lies in")) << inside;
  EXPECT_FALSE(inside.says(std::string(kSentinel))) << inside;
}

TEST_P(Shields, HooksAndConfigurationOfACheckoutAreNotChanged) {
  const std::string hook = scene.tree().write("work/p/.git/hooks/post-commit", "safe");
  const std::string config = scene.tree().write("work/p/.git/config", "safe");
  const std::string object = scene.tree().write("work/p/.git/objects/o", "o");
  const std::string git = scene.in_work("p/.git");
  const std::string grant = list("write", {"./p"});
  const std::vector<std::string> acts{"append=" + hook,
                                      "unlink=" + hook,
                                      "create=" + git + "/hooks/pre-push",
                                      "append=" + config,
                                      "unlink=" + config,
                                      "rename=" + git + ":" + git + "-old",
                                      "rename=" + git + "/hooks:" + git + "/hooks-old",
                                      "rename=" + git + "/objects/o:" + config,
                                      "create=" + git + "/config.worktree",
                                      "mkdir=" + scene.in_work("p/.vscode")};
  const Finished inside = scene.acts(acts, grant);
  for (const std::string& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act << inside;
  allowed_inside({"append=" + object, "create=" + git + "/index.lock", "create=" + scene.in_work("p/new")}, grant);
  EXPECT_EQ(scene.tree().read("work/p/.git/hooks/post-commit"), "safe");
  EXPECT_EQ(scene.tree().read("work/p/.git/config"), "safe");
  EXPECT_FALSE(scene.tree().exists("work/p/.vscode")) << "nothing is left";
  EXPECT_FALSE(scene.tree().exists("work/p/.git/config.worktree")) << "nothing is left";
  const Finished outside =
      scene.acts_bare({"append=" + hook, "append=" + config, "mkdir=" + scene.in_work("p/.vscode")});
  EXPECT_FALSE(outside.says("DENIED")) << outside;
}

/// What git itself does in a checkout that is granted for writing, and what it then must not do.
constexpr std::string_view kGitAtWork = R"sh(#!/bin/sh
cd "$(dirname "$0")" || exit 9
g() { git -c user.name=t -c user.email=t@example.com "$@"; }
try() {
  name=$1
  shift
  if "$@" >/dev/null 2>&1; then echo "$name done"; else echo "$name failed"; fi
}
try status g status
echo b >b.txt
try add g add b.txt
try commit g commit -m second
try branch g checkout -b other
try gc g gc
try worktree g worktree add tree
try hook cp /bin/true .git/hooks/pre-commit
try config g config core.fsmonitor ./evil
try move mv .git elsewhere
try turn sh -c 'printf "../../evil\n" >.git/commondir'
try turn2 sh -c 'printf "../../evil\n" >.git/c && mv .git/c .git/commondir'
try turn3 rm .git/commondir
)sh";

TEST_P(Shields, GitWorksInACheckoutWhileHooksAndConfigurationStay) {
  scene.tree().write("work/p/a.txt", "a");
  scene.tree().write("work/p/work.sh", kGitAtWork, 0755);
  const std::string first =
      "cd p && git init -q && git add . && git -c user.name=t -c user.email=t@example.com commit -q -m first";
  ASSERT_EQ(scene.bare({"/bin/sh", "-c", first}).code, 0);
  const auto config = scene.tree().read("work/p/.git/config");
  const Finished inside = scene.sandboxed("entrypoint: ./p/work.sh\nexec: all\nwrite: [./p]\n");
  EXPECT_EQ(inside.out,
            "status done\nadd done\ncommit done\nbranch done\ngc done\nworktree done\n"
            "hook failed\nconfig failed\nmove failed\nturn failed\nturn2 failed\nturn3 failed\n")
      << inside;
  EXPECT_EQ(scene.tree().read("work/p/.git/config"), config);
  EXPECT_FALSE(scene.tree().exists("work/p/.git/hooks/pre-commit"));
  EXPECT_EQ(scene.bare({"/bin/sh", "-c", "cd p && git log --format=%s"}).out, "second\nfirst\n");
  EXPECT_EQ(scene.bare({"/bin/sh", "-c", "cd p/tree && git log --format=%s"}).out, "second\nfirst\n");
  const Finished outside = scene.bare(
      {"/bin/sh", "-c", "cd p && git config core.fsmonitor ./x && cp /bin/true .git/hooks/pre-commit && echo made"});
  EXPECT_EQ(outside.out, "made\n") << "the control" << outside;
}

// An overlay notes on such a directory that nothing shows through it, where another tool's notes may stand as well.
TEST_P(Shields, DirectoriesAreMovedBesideWhatIsHeldAndNoMarkIsLeft) {
  scene.tree().make_directory("work/p/old");
  scene.tree().make_directory("work/p/layer");
  const char* mark = "user.overlay.opaque";
  ASSERT_EQ(::setxattr(scene.in_work("p/layer").c_str(), mark, "y", 1, 0), 0);
  ::usleep(20'000);  // longer than the clock that stamps files stands still
  const auto at = [&](const char* name) { return scene.in_work("p/" + std::string(name)); };
  allowed_inside(
      {"mkdir=" + at("new"), "rename=" + at("new") + ":" + at("new2"), "rename=" + at("old") + ":" + at("old2")},
      list("write", {"./p"}));
  for (const char* name : {"", "new2", "old2"}) {
    EXPECT_EQ(::getxattr(at(name).c_str(), mark, nullptr, 0), -1) << name;
    EXPECT_EQ(::getxattr(at(name).c_str(), "user.overlay.impure", nullptr, 0), -1) << name;
  }
  EXPECT_EQ(::getxattr(at("layer").c_str(), mark, nullptr, 0), 1) << "the control: what was there before stays";
}

// A target that ran where mount points hold may leave one: the next run is told which, and how to be rid of it.
TEST_P(Shields, AMarkThatHidesWhatMustBeHeldIsNamedWithItsMend) {
  scene.tree().write("work/p/.git/HEAD", "ref: refs/heads/main\n");
  scene.tree().write("work/p/.git/config", "[core]\n");
  const std::string git = scene.in_work("p/.git");
  const std::string act = "create=" + scene.in_work("p/file");
  const auto run = [&] { return scene.sandboxed(act_manifest({act}, list("write", {"./p"}))); };
  EXPECT_EQ(run().code, 0) << "the control";
  ASSERT_EQ(::setxattr(git.c_str(), "user.overlay.opaque", "y", 1, 0), 0);
  const Finished refused = run();
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("setfattr -x user.overlay.opaque \"" + git + "\"")) << refused;
}

TEST_P(Shields, NothingThatIsHeldEntersACommit) {
  scene.tree().write("work/p/a.txt", "a");
  scene.tree().write("work/p/all.sh",
                     "#!/bin/sh\ncd \"$(dirname \"$0\")\" && git add -A &&\n"
                     "git -c user.name=t -c user.email=t@example.com commit -q -m all && git status --porcelain\n",
                     0755);
  ASSERT_EQ(scene.bare({"/bin/sh", "-c", "cd p && git init -q"}).code, 0);
  const Finished inside = scene.sandboxed("entrypoint: ./p/all.sh\nexec: all\nwrite: [./p]\n");
  EXPECT_EQ(inside.code, 0) << inside;
  EXPECT_EQ(inside.out, "") << "nothing is left to commit, and nothing of ours was ever there";
  EXPECT_EQ(scene.bare({"/bin/sh", "-c", "cd p && git ls-files && git status --porcelain"}).out, "a.txt\nall.sh\n");
}

constexpr std::string_view kMakeRepositories =
    "g() { git -c user.name=t -c user.email=t@example.com -c protocol.file.allow=always \"$@\"; }\n"
    "set -e; git init -q lib; cd lib; echo l >l; git add .; g commit -q -m lib; cd ..\n"
    "git init -q p; cd p; g submodule --quiet add ../lib sub; g commit -q -m first; cd ..\n"
    "git clone -q --bare p b.git 2>/dev/null";

/// git's own answer to where it takes hooks from, and whether the repositories work.
constexpr std::string_view kTurnRepositories = R"sh(#!/bin/sh
cd "$(dirname "$0")" || exit 9
g() { git -c user.name=t -c user.email=t@example.com "$@"; }
try() {
  name=$1
  shift
  if "$@" >/dev/null 2>&1; then echo "$name done"; else echo "$name failed"; fi
}
try commit g -C p commit --allow-empty -m more
try subcommit g -C p/sub commit --allow-empty -m more
try barelog g -C b.git log
try barebranch g -C b.git branch -f other
try submodule g -C p submodule status
try subhook sh -c 'echo x >p/.git/modules/sub/hooks/pre-commit'
try barehook sh -c 'echo x >b.git/hooks/post-receive'
try bareconfig git -C b.git config core.hooksPath /tmp
try lead sh -c 'echo gitdir: ../../evil >p/sub/.git'
try leave sh -c 'rm p/sub/.git && mkdir p/sub/.git'
try turn sh -c 'echo ../../evil >p/.git/commondir'
try turnsub sh -c 'echo ../../../../evil >p/.git/modules/sub/commondir'
try turnbare sh -c 'echo ../evil >b.git/commondir'
)sh";
constexpr const char* kTurned =
    "commit done\nsubcommit done\nbarelog done\nbarebranch done\nsubmodule done\n"
    "subhook failed\nbarehook failed\nbareconfig failed\nlead failed\nleave failed\n"
    "turn failed\nturnsub failed\nturnbare failed\n";

TEST_P(Shields, WhatAHeldLinkLeadsToIsNotChanged) {
  const std::string hook = scene.tree().write("work/p/scripts/pre-commit", "safe");
  const std::string task = scene.tree().write("work/p/tj", "safe");
  const std::string service = scene.tree().write("work/p/x.service", "safe");
  for (const char* directory : {"work/p/.git/hooks", "work/p/.vscode", "home/.config/systemd/user"}) {
    scene.tree().make_directory(directory);
  }
  scene.tree().link("work/p/.git/hooks/pre-commit", "../../scripts/pre-commit");
  scene.tree().link("work/p/.vscode/tasks.json", "../tj");
  scene.tree().link("home/.config/systemd/user/x.service", service);
  const std::string scripts = scene.in_work("p/scripts");
  const std::vector<std::string> acts{"append=" + hook, "unlink=" + hook, "rename=" + scripts + ":" + scripts + "-old",
                                      "append=" + task, "unlink=" + task, "append=" + service};
  const std::string grant = list("write", {"./p"});
  const Finished inside = scene.acts(acts, grant);
  for (const std::string& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act << inside;
  allowed_inside({"create=" + scripts + "/new"}, grant);
  const Finished outside = scene.acts_bare({"append=" + hook, "append=" + task, "append=" + service});
  EXPECT_FALSE(outside.says("DENIED")) << outside;
}

TEST_P(Shields, AHookWithAnotherNameInTheCheckoutRefuses) {
  for (const char* held : {".git/hooks/pre-commit", ".git/config", ".vscode/tasks.json", ".envrc"}) {
    SCOPED_TRACE(held);
    const std::string own = scene.tree().write("work/p/" + std::string(held), "");
    const std::string name = scene.in_work("p/name");
    const std::string act = "append=" + name;
    scene.tree().write("work/p/name", "");
    EXPECT_EQ(verdict(scene.acts({act}, list("write", {"./p"})), act), "ALLOWED") << "the control: a file of its own";
    scene.tree().remove("work/p/name");
    ASSERT_EQ(::link(own.c_str(), name.c_str()), 0);
    const std::string manifest = scene.manifest(act_manifest({act}, list("write", {"./p"})));
    const Finished refused = scene.cordon({"run", "--allow-unapproved", manifest}).run();
    EXPECT_EQ(refused.code, 125) << refused;
    EXPECT_TRUE(refused.says("hard link") && refused.says(own)) << refused;
    EXPECT_EQ(scene.tree().read("work/p/" + std::string(held)), "");
    scene.tree().remove("work/p/name");
  }
}

TEST_P(Shields, NoRepositoryIsTurnedElsewhere) {
  const Finished made = scene.bare({"/bin/sh", "-c", std::string(kMakeRepositories)});
  ASSERT_EQ(made.code, 0) << made;
  scene.tree().write("work/turn.sh", kTurnRepositories, 0755);
  const std::string manifest = scene.manifest("entrypoint: ./turn.sh\nexec: all\nwrite: [./p, ./b.git]\n");
  // By an overlay, and by mount points on the host: with its state on another file system there is no overlay.
  std::string elsewhere = "/dev/shm/cordon-test.XXXXXX";
  ASSERT_NE(::mkdtemp(elsewhere.data()), nullptr);
  ASSERT_EQ(::chown(elsewhere.c_str(), GetParam().uid, GetParam().gid), 0);
  for (const std::string& state : {scene.home() + "/.local/state", elsewhere}) {
    const Finished inside = scene.cordon({"run", "--allow-unapproved", manifest}).env("XDG_STATE_HOME", state).run();
    EXPECT_EQ(inside.out, kTurned) << state << inside;
    for (const char* held : {"p/.git", "p/.git/modules/sub", "b.git"})
      EXPECT_FALSE(fs::exists(scene.in_work(std::string(held) + "/commondir"))) << held << ' ' << state;
  }
  fs::remove_all(elsewhere);
  const Finished outside = scene.bare({"./turn.sh"});
  EXPECT_FALSE(outside.says("failed")) << "the control" << outside;
}

TEST_P(Shields, AConfigurationThatCannotBeReadWholeRefuses) {
  const auto config = [&](std::size_t length) {
    const std::string tail = "[core]\n\thooksPath = ./myhooks\n";
    scene.tree().write("work/p/.git/config", "[x]\n" + std::string(length, '#') + "\n" + tail);
  };
  scene.tree().write("work/p/.git/HEAD", "ref: refs/heads/main\n");
  scene.tree().write("work/p/myhooks/pre-push", "safe");
  const std::string hook = "append=" + scene.in_work("p/myhooks/pre-push");
  config(200'000);
  EXPECT_THAT(verdict(scene.acts({hook}, list("write", {"./p"})), hook), StartsWith("DENIED"));
  config(3'000'000);
  const std::string manifest = scene.manifest(act_manifest({hook}, list("write", {"./p"})));
  const Finished refused = scene.cordon({"run", "--allow-unapproved", manifest}).run();
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says(".git/config")) << refused;
  EXPECT_EQ(scene.tree().read("work/p/myhooks/pre-push"), "safe");
  EXPECT_EQ(verdict(scene.acts_bare({hook}), hook), "ALLOWED") << "the control";
}

TEST_P(Shields, AGitDirectoryThatIsALinkIsHeldWhereItLeads) {
  const std::string hook = scene.tree().write("work/g/hooks/post-commit", "safe");
  const std::string config = scene.tree().write("work/g/config", "safe");
  scene.tree().make_directory("work/p");
  scene.tree().make_directory("work/other/hooks");
  scene.tree().link("work/p/.git", "../g");
  const std::string git = scene.in_work("p/.git");
  const std::vector<std::string> acts{"append=" + hook,
                                      "append=" + git + "/hooks/post-commit",
                                      "append=" + git + "/config",
                                      "rename=" + git + ":" + git + "-old",
                                      "unlink=" + git,
                                      "create=" + git + "/hooks/pre-push",
                                      "rename=" + scene.in_work("g") + ":" + scene.in_work("g-old")};
  const std::string grant = list("write", {"./p", "./g"});
  const Finished inside = scene.acts(acts, grant);
  for (const std::string& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act << inside;
  allowed_inside({"create=" + git + "/index.lock", "create=" + scene.in_work("p/new")}, grant);
  EXPECT_EQ(fs::read_symlink(git), "../g");
  const Finished outside = scene.acts_bare({"append=" + git + "/config", "rename=" + git + ":" + git + "-old"});
  EXPECT_FALSE(outside.says("DENIED")) << outside;
}

}  // namespace
}  // namespace cordon::test
