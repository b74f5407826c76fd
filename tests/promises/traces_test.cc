// Promise: whatever ends a run, a listing of the home and of the project is the same as before, though names that do
// not exist were held in them; by an overlay, and by mount points where none can be mounted.

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/promise.h"
#include "support/require.h"

namespace cordon::test {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

enum class By { kOverlay, kMountPoints };

/// Names, types, modes, owners, sizes, links, attributes and times of modification. A mount point that was made and
/// removed leaves its directory a new time: there is none to be promised then.
Snapshot listing(const std::string& directory, By by) {
  Snapshot out;
  const auto add = [&](const std::string& path) {
    struct stat st{};
    if (::lstat(path.c_str(), &st) != 0) return;
    char names[1024] = {};
    std::ostringstream text;
    text << std::oct << st.st_mode << std::dec << ' ' << st.st_uid << ' ' << st.st_gid << ' ' << st.st_nlink << ' '
         << st.st_ino << ' ' << ::llistxattr(path.c_str(), names, sizeof names) << ' ' << names;
    if (!S_ISDIR(st.st_mode)) text << ' ' << st.st_size;
    if (!S_ISDIR(st.st_mode) || by == By::kOverlay) text << ' ' << st.st_mtim.tv_sec << '.' << st.st_mtim.tv_nsec;
    if (S_ISLNK(st.st_mode)) text << ' ' << fs::read_symlink(path).string();
    out[path.substr(directory.size())] = text.str();
  };
  add(directory);
  std::error_code gone;  // a janitor may be at work
  for (fs::recursive_directory_iterator at(directory, gone), end; !gone && at != end; at.increment(gone))
    add(at->path().string());
  if (gone) out["(while it was listed)"] = "something went";
  return out;
}

class Traces : public Promise {
 protected:
  Traces() : elsewhere_("/dev/shm/cordon-test.XXXXXX") {
    const Tree& tree = scene.tree();
    for (const char* file : {"home/project/.git/config", "home/project/.git/HEAD", "home/project/.git/hooks/pre-push",
                             "home/project/src/main.c", "home/.config/app/settings", "home/tools/bin/x"}) {
      tree.write(file, "x");
    }
    tree.make_directory("state", 0700);
    tree.make_directory("cache", 0700);
    require(::mkdtemp(elsewhere_.data()) != nullptr, "mkdtemp " + elsewhere_);
    const Identity& who = GetParam();
    if (running_as_root()) require(::chown(elsewhere_.c_str(), who.uid, who.gid) == 0, "chown");
  }
  ~Traces() override {
    std::error_code ignored;
    fs::remove_all(elsewhere_, ignored);
  }

  /// Where Cordon's own directory lies on another mount than the grants, no overlay can work.
  [[nodiscard]] Command cordon(By by, std::vector<std::string> words) const {
    Command command = scene.cordon(std::move(words));
    command.env("XDG_STATE_HOME", by == By::kOverlay ? scene.tree().path("state") : elsewhere_)
        .env("XDG_CACHE_HOME", scene.tree().path("cache"));
    return command;
  }
  [[nodiscard]] std::string manifest(const std::vector<std::string>& acts, std::string_view more = "") const {
    return scene.manifest(act_manifest(acts, list("write", {"~/project", "~/.config"}) + std::string(more)));
  }
  [[nodiscard]] Running start(By by, const std::string& manifest) const {
    return cordon(by, {"run", "--allow-unapproved", manifest}).start();
  }
  /// Says that the target runs, and waits.
  [[nodiscard]] std::string waiting(std::string_view more = "") const {
    return manifest({"mkdir=" + scene.home() + "/project/.vscode", "read=/proc/self/status", "sleep=300"}, more);
  }
  [[nodiscard]] Snapshot home(By by) const { return listing(scene.home(), by); }

  /// Cordon's own directories are there from now on, and the mechanism is the one that is meant.
  void prepare(By by) const {
    const std::string first = manifest({"read=/proc/self/status"});
    const Finished run = cordon(by, {"run", "--allow-unapproved", first}).run();
    ASSERT_EQ(run.code, 0) << run;
    const std::string plan = cordon(by, {"inspect", first}).run().out;
    const char* word = by == By::kOverlay ? "stub-overlay" : "hold-point";
    ASSERT_THAT(plan, HasSubstr(word));
    ASSERT_THAT(plan, Not(HasSubstr(by == By::kOverlay ? "hold-point" : "stub-overlay")));
  }
  /// Soon: what a janitor removes it removes after the run's end.
  void expect_same(const Snapshot& before, By by, const char* after) const {
    std::string what = difference(before, home(by));
    for (int i = 0; i < 300 && !what.empty(); ++i) {
      ::usleep(10'000);
      what = difference(before, home(by));
    }
    EXPECT_EQ(what, "") << after;
  }

 private:
  std::string elsewhere_;
};
INSTANTIATE_TEST_SUITE_P(As, Traces, testing::ValuesIn(identities()), identity_name);

/// All of a run: the process, and everything that descends from it.
std::vector<pid_t> family_of(pid_t first) {
  std::vector<std::pair<pid_t, pid_t>> all;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(entry.path() / "stat");
    std::ostringstream text;
    text << in.rdbuf();
    const std::size_t end = text.str().rfind(')');
    if (end == std::string::npos) continue;
    char state = 0;
    pid_t parent = 0;
    std::istringstream(text.str().substr(end + 1)) >> state >> parent;
    all.emplace_back(static_cast<pid_t>(std::stol(name)), parent);
  }
  std::vector<pid_t> out{first};
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (const auto& [pid, parent] : all) {
      if (parent == out[i]) out.push_back(pid);
    }
  }
  return out;
}

TEST_P(Traces, NothingIsLeftAfterAnyEndOfARun) {
  for (const By by : {By::kOverlay, By::kMountPoints}) {
    prepare(by);
    const Snapshot before = home(by);
    const std::string create = "mkdir=" + scene.home() + "/project/.vscode";
    const Finished good = cordon(by, {"run", "--allow-unapproved", manifest({create})}).run();
    EXPECT_THAT(verdict(good, create), testing::StartsWith("DENIED")) << good;
    expect_same(before, by, "success");
    EXPECT_EQ(cordon(by, {"run", "--allow-unapproved", manifest({create, "exit=3"})}).run().code, 3);
    expect_same(before, by, "failure");
    const Finished late = cordon(by, {"run", "--allow-unapproved", waiting("limits: {timeout: 1s}\n")}).run();
    EXPECT_EQ(late.code, 124) << late;
    expect_same(before, by, "the time limit");
    Running interrupted = cordon(by, {"run", "--allow-unapproved", waiting()}).pty().start();
    ASSERT_TRUE(interrupted.expect("status ALLOWED")) << interrupted.wait();
    interrupted.type("\x03");
    static_cast<void>(interrupted.wait());
    expect_same(before, by, "Ctrl-C");
    Running killed = start(by, waiting());
    ASSERT_TRUE(killed.expect("status ALLOWED")) << killed.wait();
    killed.signal(SIGKILL);
    static_cast<void>(killed.wait());
    expect_same(before, by, "kill -9 of Cordon");
  }
}

TEST_P(Traces, AfterTheDeathOfAllOfUsTheNextCommandRemovesWhatIsLeft) {
  for (const By by : {By::kOverlay, By::kMountPoints}) {
    prepare(by);
    const Snapshot before = home(by);
    for (const char* command : {"version", "doctor", "validate"}) {
      const std::string file = waiting();
      Running run = start(by, file);
      ASSERT_TRUE(run.expect("status ALLOWED")) << run.wait();
      const std::vector<pid_t> all = family_of(run.pid());
      EXPECT_GE(all.size(), by == By::kOverlay ? 3U : 4U) << "Cordon, init, the target, and a janitor";
      for (const pid_t pid : all) ::kill(pid, SIGSTOP);  // so that none sees another's death
      for (const pid_t pid : all) ::kill(pid, SIGKILL);
      static_cast<void>(run.wait());
      const bool left = !difference(before, home(by)).empty();
      EXPECT_EQ(left, by == By::kMountPoints) << "an overlay leaves nothing, mount points are the control";
      std::vector<std::string> words{command};
      if (command == std::string("validate")) words.push_back(file);
      static_cast<void>(cordon(by, words).run());
      EXPECT_EQ(difference(before, home(by)), "") << command;
    }
  }
}

// What the host makes of a held name meanwhile is the host's, and stays.
TEST_P(Traces, WhatSomebodyPutsInAHeldPlaceStays) {
  prepare(By::kMountPoints);
  Running run = start(By::kMountPoints, waiting());
  ASSERT_TRUE(run.expect("status ALLOWED")) << run.wait();
  ASSERT_TRUE(scene.tree().exists("home/project/.vscode")) << "the control: it is held by a mount point";
  scene.tree().write("home/project/.vscode/mine.json", "mine");
  run.signal(SIGKILL);
  static_cast<void>(run.wait());
  ::usleep(500'000);
  EXPECT_EQ(scene.tree().read("home/project/.vscode/mine.json"), "mine");
}

}  // namespace
}  // namespace cordon::test
