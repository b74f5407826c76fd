// Promise: what git on the host reads or runs for a checkout is out of reach below a write grant, wherever the user's
// and the machine's configuration, worktrees and submodules put it. The control is the same act where nothing leads
// there.

#include <filesystem>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::StartsWith;

class GitPlaces : public Promise {
 protected:
  GitPlaces() {
    scene.tree().write("work/p/.git/HEAD", "ref: refs/heads/main\n");
    scene.tree().write("work/p/.git/config", "[core]\n");
    scene.tree().make_directory("work/p/.git/objects");
    scene.tree().make_directory("work/p/.git/refs");
  }
  [[nodiscard]] std::string project(std::string_view name) const { return scene.in_work("p/" + std::string(name)); }
  [[nodiscard]] Command command(std::vector<std::string> acts, const std::map<std::string, std::string>& env) const {
    const std::string manifest = scene.manifest(act_manifest(acts, list("write", {"./p"})));
    Command run = scene.cordon({"run", "--allow-unapproved", manifest});
    for (const auto& [name, value] : env) run.env(name, value);
    return run;
  }
  [[nodiscard]] Finished ran(const std::vector<std::string>& acts,
                             const std::map<std::string, std::string>& env = {}) const {
    return command(acts, env).run();
  }
  /// None of these is done inside; all of them are outside, where nothing else stands against them.
  void denied(const std::vector<std::string>& acts, const std::map<std::string, std::string>& env = {}) const {
    const Finished inside = ran(acts, env);
    for (const std::string& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act << inside;
    const Finished outside = scene.acts_bare(acts);
    for (const std::string& act : acts) EXPECT_EQ(verdict(outside, act), "ALLOWED") << "the control, bare" << outside;
  }
  void allowed(const std::vector<std::string>& acts) const {
    const Finished inside = ran(acts);
    for (const std::string& act : acts) EXPECT_EQ(verdict(inside, act), "ALLOWED") << "the control" << inside;
  }
};
INSTANTIATE_TEST_SUITE_P(As, GitPlaces, testing::ValuesIn(identities()), identity_name);

TEST_P(GitPlaces, HooksThatTheUsersConfigurationNamesAreHeldWhicheverFileSaysIt) {
  const std::string hook = scene.tree().write("work/p/hk/pre-commit", "safe");
  const std::vector<std::string> acts{"append=" + hook, "create=" + project("hk/post-merge"),
                                      "rename=" + project("hk") + ":" + project("hk.old")};
  allowed({"append=" + hook});
  struct Said {
    std::string file;
    std::map<std::string, std::string> env;
  };
  const std::string elsewhere = scene.tree().path("home/elsewhere");
  for (const Said& said : {Said{"home/.gitconfig", {}}, Said{"home/.config/git/config", {}},
                           Said{"home/elsewhere/git/config", {{"XDG_CONFIG_HOME", elsewhere}}},
                           Said{"home/elsewhere/mine", {{"GIT_CONFIG_GLOBAL", elsewhere + "/mine"}}},
                           Said{"home/elsewhere/machine", {{"GIT_CONFIG_SYSTEM", elsewhere + "/machine"}}}}) {
    SCOPED_TRACE(said.file);
    scene.tree().write(said.file, "[core]\n\thooksPath = hk\n");
    denied(acts, said.env);
    std::filesystem::rename(project("hk.old"), project("hk"));
    scene.tree().remove("work/p/hk/post-merge");
    scene.tree().remove(said.file);
  }
}

// A filter, a file system monitor, a pager: git on the host starts them at the next `git status`.
TEST_P(GitPlaces, AProgramThatGitsConfigurationNamesIsHeldUnlessALineNamesIt) {
  const std::string monitor = scene.tree().write("work/p/tools/monitor", "safe");
  const std::string clean = scene.tree().write("work/p/clean.py", "safe");
  const std::vector<std::string> acts{"append=" + monitor, "append=" + clean, "create=" + project("tools/absent"),
                                      "rename=" + project("tools") + ":" + project("tools.old")};
  allowed({"append=" + monitor, "append=" + clean});
  scene.tree().write("work/p/.git/config",
                     "[core]\n\tfsmonitor = ./tools/monitor\n[filter \"x\"]\n\tclean = python3 clean.py %f\n"
                     "\tsmudge = sh -c './tools/absent'\n");
  denied(acts);
  std::filesystem::rename(project("tools.old"), project("tools"));
  const std::string act = "append=" + monitor;
  const Finished lifted = scene.sandboxed(act_manifest({act}, list("write", {"./p", "./p/tools/monitor"})));
  EXPECT_EQ(verdict(lifted, act), "ALLOWED") << lifted;
  EXPECT_TRUE(lifted.says(monitor + " was changed: git's configuration names it, and git may run it")) << lifted;
}

// A person starts it by its name, as they start make: a project's own tools are not kept from being built.
TEST_P(GitPlaces, AProgramBehindAnAliasIsToldBeforeAndWhenItChanged) {
  const std::string tool = scene.tree().write("work/p/tools/st", "safe");
  scene.tree().write("work/p/.git/config", "[alias]\n\tst = !./tools/st\n");
  const std::string act = "append=" + tool;
  const std::string manifest = scene.manifest(act_manifest({act}, list("write", {"./p"})));
  EXPECT_TRUE(scene.cordon({"validate", manifest}).run().says("git on this host runs " + tool + " for 'alias.st'"));
  const Finished run = ran({act});
  EXPECT_EQ(verdict(run, act), "ALLOWED") << run;
  EXPECT_TRUE(run.says(tool + " was changed: git's configuration names it, and git may run it")) << run;
}

TEST_P(GitPlaces, ACommandWhoseWordsDoNotTellWhatItStartsIsTold) {
  const std::string manifest = scene.manifest(act_manifest({"exit=0"}, list("write", {"./p"})));
  for (const char* lines : {"[core]\n\tfsmonitor = cd tools && ./a\n", "[filter \"b\"]\n\tclean = tools/[b] %f\n",
                            "[filter \"c\"]\n\tclean = make -s -C tools x\n"}) {
    scene.tree().write("work/p/.git/config", lines);
    const Finished said = scene.cordon({"validate", manifest}).run();
    EXPECT_TRUE(said.says("whose words do not tell what it starts")) << lines << said;
  }
  scene.tree().write("work/p/.git/config", "[filter \"c\"]\n\tclean = make -s x\n");
  EXPECT_FALSE(scene.cordon({"validate", manifest}).run().says("whose words do not tell"));
}

TEST_P(GitPlaces, ACommandInAUrlIsHeldAsAnyOther) {
  const std::string first = scene.tree().write("work/p/tools/a", "safe"),
                    second = scene.tree().write("work/p/tools/b", "safe");
  allowed({"append=" + first, "append=" + second});
  scene.tree().write("work/p/.git/config",
                     "[remote \"o\"]\n\tpushurl = ext::./tools/a\n[url \"ext::./tools/b \"]\n\tinsteadOf = x:\n");
  denied({"append=" + first, "append=" + second});
}

TEST_P(GitPlaces, AConfigurationInTheProjectThatTheUsersTakesInIsHeld) {
  const std::string taken = scene.tree().write("work/p/shared.gitconfig", "[user]\n\tname = t\n");
  const std::string next = scene.tree().write("work/p/next.gitconfig", "");
  const std::vector<std::string> acts{"append=" + taken, "append=" + next, "rename=" + taken + ":" + project("moved"),
                                      "create=" + project("absent.gitconfig")};
  allowed({"append=" + taken, "append=" + next});
  scene.tree().write("work/p/shared.gitconfig", "[include]\n\tpath = next.gitconfig\n");
  scene.tree().write("home/.gitconfig", "[include]\n\tpath = " + taken + "\n[includeIf \"gitdir:~/\"]\n\tpath = " +
                                            project("absent.gitconfig") + "\n");
  denied(acts);
}

// What the host's git makes, writes to and renames over its configuration.
TEST_P(GitPlaces, TheLockOfAConfigurationIsNotTheTargetsToOpen) {
  const std::string lock = project(".git/config.lock");
  allowed({"create=" + project(".git/index.lock")});
  denied({"create=" + lock});
}

TEST_P(GitPlaces, TheFileThatMakesAWorktreeBelongToItsRepositoryIsHeld) {
  scene.tree().write("work/p/.git/worktrees/wt/commondir", "../..\n");
  scene.tree().write("work/p/.git/worktrees/wt/HEAD", "ref: refs/heads/wt\n");
  scene.tree().write("work/p/.git/worktrees/wt/gitdir", project("wt/.git") + "\n");
  scene.tree().write("work/p/wt/.git", "gitdir: " + project(".git/worktrees/wt") + "\n");
  const std::string entry = project(".git/worktrees/wt");
  allowed({"create=" + project("wt/file"), "append=" + entry + "/HEAD"});
  denied({"append=" + project("wt/.git"), "append=" + entry + "/commondir", "append=" + entry + "/gitdir",
          "rename=" + project("wt/.git") + ":" + project("wt/.git-old"), "mkdir=" + project("wt/.git")});
}

TEST_P(GitPlaces, ASubmoduleWhoseRepositoryStandsInPlaceIsHeld) {
  const auto make = [&](std::string_view list) {
    scene.tree().write("work/p/.gitmodules", list);
    scene.tree().write("work/p/lib/s/.git/HEAD", "ref: refs/heads/main\n");
    scene.tree().write("work/p/lib/s/.git/config", "[core]\n");
    scene.tree().write("work/p/lib/s/.git/hooks/pre-push", "safe");
  };
  const std::vector<std::string> acts{"append=" + project("lib/s/.git/config"),
                                      "append=" + project("lib/s/.git/hooks/pre-push"),
                                      "create=" + project("lib/s/.git/hooks/pre-commit"),
                                      "rename=" + project("lib/s/.git") + ":" + project("lib/s/.git-old")};
  make("[submodule \"s\"]\n\tpath = lib/s\n\turl = ./s\n");
  allowed({"create=" + project("lib/s/.git/index.lock"), "create=" + project("lib/s/file")});
  denied(acts);
}

// Each of these git takes, at its next command in that directory, for a repository with hooks of the target's making.
TEST_P(GitPlaces, NothingBecomesARepositoryInPlaceOfTheOneThatIsThere) {
  scene.tree().write("work/p/.gitmodules", "[submodule \"s\"]\n\tpath = lib/s\n\turl = ./s\n");
  scene.tree().make_directory("work/p/lib/s");
  allowed({"append=" + project(".git/HEAD"), "create=" + project("HEAD"), "mkdir=" + project("objects"),
           "create=" + project("config"), "create=" + project("lib/s/file")});
  denied({"mkdir=" + project("refs"), "create=" + project("commondir"), "mkdir=" + project(".git/modules"),
          "mkdir=" + project("lib/s/.git")});
}

TEST_P(GitPlaces, ARepositoryIsKnownByWhatItHoldsWhateverItsName) {
  const std::string hook = scene.tree().write("work/p/store/hooks/post-receive", "safe");
  const std::string config = scene.tree().write("work/p/store/config", "[core]\n\tbare = true\n");
  scene.tree().write("work/p/store/HEAD", "ref: refs/heads/main\n");
  scene.tree().make_directory("work/p/store/refs");
  const std::string grant = list("write", {"./p/store"});
  const std::vector<std::string> acts{"append=" + hook, "append=" + config, "create=" + project("store/commondir")};
  const Finished free = scene.acts(acts, grant);
  for (const std::string& act : acts)
    EXPECT_EQ(verdict(free, act), "ALLOWED") << "the control: it holds no objects" << free;
  scene.tree().remove("work/p/store/commondir");
  scene.tree().make_directory("work/p/store/objects");
  const Finished inside = scene.acts(acts, grant);
  for (const std::string& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act << inside;
}

// What a link says today it does not say tomorrow: the way is held with what it leads to, or nothing runs.
TEST_P(GitPlaces, TheWayToAGitDirectoryIsHeldOrTheRunIsRefused) {
  scene.tree().remove("work/p/.git");
  const std::string config = scene.tree().write("work/p/deep/g/config", "[core]\n");
  scene.tree().write("work/p/deep/g/HEAD", "ref: refs/heads/main\n");
  scene.tree().link("work/p/way", "deep");
  scene.tree().write("work/p/.git", "gitdir: way/g\n");
  allowed({"create=" + project("deep/file")});
  denied({"append=" + config, "rename=" + project("deep") + ":" + project("other"), "unlink=" + project("way")});
  std::filesystem::rename(project("other"), project("deep"));
  scene.tree().link("work/p/way", "deep");
  scene.tree().write("work/p/.git", "gitdir: way/../deep/g\n");
  const Finished refused = ran({"append=" + config});
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says(project(".git")) && refused.says("through a directory that the target could replace"))
      << refused;
}

constexpr std::string_view kGitLooks = R"sh(#!/bin/sh
cd "$(dirname "$0")/q" || exit 9
g() { git -c user.name=t -c user.email=t@example.com "$@"; }
echo mine >mine
g status --porcelain
g add -A
g status --porcelain
g commit -q -m second
g worktree add -q tree && git -C tree status --porcelain
g submodule status
find . -maxdepth 1 -type f
test -d .envrc && test -z "$(ls -A .envrc)$(ls -A .mcp.json)" && echo empty directories to everybody else
)sh";

// `git add -A` must not take what stands for names that do not exist.
TEST_P(GitPlaces, GitListsNoNameThatIsHeld) {
  const std::string first =
      "git init -q q && cd q && git -c user.name=t -c user.email=t@example.com commit -q "
      "--allow-empty -m first";
  ASSERT_EQ(scene.bare({"/bin/sh", "-c", first}).code, 0);
  scene.tree().write("work/look.sh", kGitLooks, 0755);
  const Finished inside = scene.sandboxed("entrypoint: ./look.sh\nexec: all\nwrite: [./q]\n");
  EXPECT_EQ(inside.out, "?? mine\nA  mine\n./mine\nempty directories to everybody else\n") << inside;
  EXPECT_EQ(scene.bare({"git", "-C", "q", "show", "--name-only", "--format=%s"}).out, "second\n\nmine\n");
  EXPECT_EQ(scene.bare({"git", "-C", "q", "status", "--porcelain"}).out, "?? tree/\n") << "what the target made itself";
}

}  // namespace
}  // namespace cordon::test
