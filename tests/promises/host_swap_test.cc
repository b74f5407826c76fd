// Promise: what host programs do to a shielded name while a run goes on (editors rename over it, tools remove and make
// it anew, git writes another branch) shows the target no credential, and where it takes a shield away the run ends.

#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "planted.h"
#include "support/require.h"

namespace cordon::test {
namespace {
namespace fs = std::filesystem;
namespace shield = policy::shield;
using testing::HasSubstr;
using testing::Not;

/// Says that it runs, waits for the host's word, and does the rest.
class HostSwap : public PlantedHome {
 protected:
  HostSwap() : elsewhere_("/dev/shm/cordon-test.XXXXXX") {
    scene.tree().make_directory("work/signal");
    scene.tree().make_directory("state", 0700);
    require(::mkdtemp(elsewhere_.data()) != nullptr, "mkdtemp " + elsewhere_);
    if (running_as_root()) require(::chown(elsewhere_.c_str(), GetParam().uid, GetParam().gid) == 0, "chown");
  }
  ~HostSwap() override {
    std::error_code ignored;
    fs::remove_all(elsewhere_, ignored);
  }

  /// What does not exist is held by an overlay over the grant, or by mount points on the host.
  enum class By { kOverlay, kMountPoints };
  [[nodiscard]] Running start(const std::vector<std::string>& acts, const std::string& grants,
                              By by = By::kOverlay) const {
    std::string text = "read=/proc/self/status\nawait=" + scene.in_work("signal/go") + "\n";
    for (const std::string& act : acts) text += act + "\n";
    const std::string from = scene.tree().write("work/acts", text);
    const std::string manifest = scene.manifest(act_manifest({"from=" + from}, grants));
    Running run = scene.cordon({"run", "--allow-unapproved", manifest})
                      .timeout(120'000)
                      .env("XDG_STATE_HOME", by == By::kOverlay ? scene.tree().path("state") : elsewhere_)
                      .start();
    EXPECT_TRUE(run.expect("status ALLOWED", 60'000)) << run.seen();
    return run;
  }
  [[nodiscard]] Finished go(Running& run) const {
    ::usleep(50'000);  // Cordon has had the time to see what the host did
    scene.tree().write("work/signal/go", "");
    Finished ended = run.wait();
    scene.tree().remove("work/signal/go");
    return ended;
  }
  void write(const std::string& path, std::string_view text) const {
    scene.tree().write(path.substr(scene.tree().root().size() + 1), text);
  }
  void rename_over(const std::string& path, std::string_view text) const {
    write(path + ".new", text);
    fs::rename(path + ".new", path);
  }
  [[nodiscard]] std::vector<Planted> credentials() const {
    std::vector<Planted> out = plant();
    std::erase_if(
        out, [](const Planted& each) { return !each.hidden() || each.rule->holds != shield::Holds::kCredentials; });
    return out;
  }

 private:
  std::string elsewhere_;
};
INSTANTIATE_TEST_SUITE_P(As, HostSwap, testing::ValuesIn(identities()), identity_name);

const std::string kReads = list("read", {"~", "./signal", "./acts"});

// The kernel tells nobody: the mask goes along with what was moved, and what is made in its place has none.
TEST_P(HostSwap, NoCredentialIsReadWhereTheHostMovedItsStoreAwayAndMadeAnother) {
  const std::vector<Planted> planted = credentials();
  ASSERT_GT(planted.size(), 200U);
  std::vector<std::string> acts;
  for (const Planted& each : planted) acts.push_back("show-file=" + each.sentinel);
  Finished ended;
  // Where Cordon's own look at the start comes after the host it sees that a mask has moved, and ends the run.
  for (int i = 0; i < 5 && ended.code != 0; ++i) {
    Running run = start(acts, kReads);
    ::usleep(300'000);
    for (const Planted& each : planted) {
      if (fs::exists(each.store)) fs::rename(each.store, each.store + ".moved" + std::to_string(i));
    }
    for (const Planted& each : planted) {
      if (!fs::exists(each.sentinel)) write(each.sentinel, kSentinel);
    }
    ended = go(run);
    EXPECT_THAT(ended.out, Not(HasSubstr("| " + std::string(kSentinel))));
  }
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(lines(ended, "| ").size(), 0U);
  for (const std::string& act : acts) EXPECT_THAT(verdict(ended, act), testing::StartsWith("DENIED")) << act;
  EXPECT_EQ(lines(scene.acts_bare({"from=" + scene.tree().write("work/acts",
                                                                [&] {
                                                                  std::string text;
                                                                  for (const std::string& act : acts)
                                                                    text += act + "\n";
                                                                  return text;
                                                                }())}),
                  "| " + std::string(kSentinel))
                .size(),
            acts.size())
      << "the control reads every one";
}

TEST_P(HostSwap, NoCredentialIsReadWhereTheHostReplacedItsStoreAndTheRunEnds) {
  const std::vector<Planted> planted = credentials();
  std::vector<std::string> acts;
  for (const Planted& each : planted) acts.push_back("show-file=" + each.sentinel);
  Running run = start(acts, kReads);
  for (const Planted& each : planted) {
    if (fs::is_directory(each.store)) {
      fs::remove_all(each.store);
      write(each.sentinel, kSentinel);
    } else {
      rename_over(each.store, kSentinel);
    }
  }
  const Finished ended = go(run);
  EXPECT_EQ(ended.code, 124) << ended.err;
  EXPECT_THAT(ended.out, Not(HasSubstr("| " + std::string(kSentinel))));
}

/// A shield of each kind, and what a host program does to it.
struct Way {
  const char* what;
  std::string path;
  std::function<void(const std::string&)> act;
};

// A mount on a host's directory goes with the name that the host replaced, and the run ends. In an overlay the kernel
// keeps the name that it looked up, and the mount on it.
TEST_P(HostSwap, AShieldOfEachKindThatTheHostReplacesStaysInForceOrTheRunEnds) {
  const auto rename_file = [&](const std::string& path) { rename_over(path, "new"); };
  const auto make_file = [&](const std::string& path) {
    fs::remove(path);
    write(path, "new");
  };
  const auto make_directory = [&](const std::string& path) {
    fs::remove_all(path);
    write(path + "/new", "new");
  };
  const auto p = [&](std::string_view name) { return scene.in_work("p/" + std::string(name)); };
  const auto home = [&](std::string_view name) { return scene.home() + "/" + std::string(name); };
  const std::vector<Way> ways = {
      {"a hidden file", home(".netrc"), rename_file},
      {"a hidden file", home(".netrc"), make_file},
      {"a hidden directory", home(".ssh"), make_directory},
      {"a hidden directory of no credentials", home(".thunderbird"), make_directory},
      {"a history", home(".bash_history"), rename_file},
      {"a start-up file below a write grant", home("dots/.envrc"), rename_file},
      {"a workspace file", p(".envrc"), rename_file},
      {"a workspace file", p(".envrc"), make_file},
      {"a workspace directory", p(".vscode"), make_directory},
      {"git hooks", p(".git/hooks"), make_directory},
      {"git's configuration", p(".git/config"), rename_file},
      {"where git's directory is", p("wt/.git"), rename_file},
  };
  const std::string grants = list("read", {"~", "./signal", "./acts"}) + list("write", {"./p", "~/dots"});
  const auto plant_all = [&] {
    for (const char* file : {"home/.netrc", "home/.ssh/id", "home/.thunderbird/x", "home/.bash_history",
                             "home/dots/.envrc", "work/p/.envrc", "work/p/.vscode/tasks.json",
                             "work/p/.git/hooks/pre-push", "work/p/.git/config", "work/p/.git/worktrees/wt/HEAD"}) {
      scene.tree().write(file, "x");
    }
    scene.tree().write("work/p/.git/worktrees/wt/commondir", "../..\n");
    scene.tree().write("work/p/.git/worktrees/wt/gitdir", p("wt/.git") + "\n");
    scene.tree().write("work/p/wt/.git", "gitdir: " + p(".git/worktrees/wt") + "\n");
  };
  for (const By by : {By::kMountPoints, By::kOverlay}) {
    for (const Way& way : ways) {
      SCOPED_TRACE(std::string(way.what) + " " + way.path + (by == By::kOverlay ? " overlay" : " mount points"));
      plant_all();
      const std::vector<std::string> acts = {"append=" + way.path, "append=" + way.path + "/new",
                                             "read=" + p("wt/.git")};
      Running run = start(acts, grants, by);
      way.act(way.path);
      const Finished ended = go(run);
      if (by == By::kMountPoints || ended.code == 124) {
        EXPECT_EQ(ended.code, 124) << ended;
        EXPECT_TRUE(ended.says("a process outside replaced or removed") && ended.says(way.path)) << ended;
      } else {
        for (const std::size_t i : {0U, 1U})
          EXPECT_THAT(verdict(ended, acts[i]), testing::StartsWith("DENIED")) << ended;
      }
      scene.tree().remove("work/p");
    }
  }
}

constexpr const char* kBranches =
    "set -e; g() { git -c user.name=t -c user.email=t@example.com \"$@\"; }\n"
    "git init -q -b one p; cd p; echo 1 >plain; echo 1 >.envrc; g add .; g commit -q -m one\n"
    "g checkout -q -b plain; echo 2 >plain; g commit -q -a -m plain\n"
    "g checkout -q -b makes; mkdir .vscode; echo 2 >.mcp.json; echo 2 >.vscode/tasks.json; g add .; g commit -q -m "
    "makes\n"
    "g checkout -q one; g checkout -q -b changes; echo 2 >.envrc; g commit -q -a -m changes\n"
    "g checkout -q one";

TEST_P(HostSwap, AnotherBranchLeavesTheShieldsInForceOrEndsTheRun) {
  const Finished made = scene.bare({"/bin/sh", "-c", kBranches});
  ASSERT_EQ(made.code, 0) << made;
  const auto p = [&](std::string_view name) { return scene.in_work("p/" + std::string(name)); };
  const std::vector<std::string> acts = {"append=" + p(".envrc"), "append=" + p(".mcp.json"),
                                         "append=" + p(".vscode/tasks.json"), "create=" + p(".vscode/new"),
                                         "create=" + p("made")};
  const std::string grants = list("read", {"./signal", "./acts"}) + list("write", {"./p"});
  const auto git = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-C", scene.in_work("p")});
    return scene.bare(words);
  };
  for (const By by : {By::kMountPoints, By::kOverlay}) {
    for (const std::string branch : {"plain", "makes", "changes"}) {
      SCOPED_TRACE(branch + (by == By::kOverlay ? " overlay" : " mount points"));
      Running run = start(acts, grants, by);
      const Finished out = git({"checkout", "-q", branch});
      const Finished ended = go(run);
      // What is held by a mount point stands on the host as an empty directory, which git removes to write its file.
      EXPECT_EQ(out.code, 0) << out;
      EXPECT_EQ(git({"diff", "--stat", branch}).out, "") << "as git wrote it";
      if (by == By::kMountPoints && branch != "plain") {
        EXPECT_EQ(ended.code, 124) << ended;
        EXPECT_TRUE(ended.says(p(branch == "makes" ? ".mcp.json" : ".envrc"))) << ended;
      } else {
        EXPECT_EQ(ended.code, 0) << ended;
        for (const std::string& act : acts) {
          const char* expected = act == acts.back() ? "ALLOWED" : "DENIED";
          EXPECT_THAT(verdict(ended, act), testing::StartsWith(expected)) << act << ended;
        }
        scene.tree().remove("work/p/made");
      }
      EXPECT_EQ(git({"checkout", "-q", "one"}).code, 0);
    }
  }
}

}  // namespace
}  // namespace cordon::test
