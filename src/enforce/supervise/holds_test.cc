// Mount points that a run needs on the host: they stop what they are to stop, and nothing is left of them, whoever
// ends.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "enforce/hold/hold.h"
#include "enforce/supervise/fixture_test.h"

namespace cordon::enforce::supervise {
namespace {

using namespace testing;  // NOLINT: the fixture of this room
namespace step = plan::step;
namespace fs = std::filesystem;

class Scene {
 public:
  Scene() {
    char name[] = "/tmp/cordon-holds-XXXXXX";
    path_ = fs::canonical(mkdtemp(name));
    fs::create_directories(path_ + "/project/sub");
    fs::create_directory(path_ + "/registry");
    fs::permissions(path_ + "/registry", fs::perms::owner_all);
  }
  ~Scene() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] std::string project() const { return path_ + "/project"; }
  [[nodiscard]] std::string registry() const { return path_ + "/registry"; }
  [[nodiscard]] step::HoldPoint point(const std::string& name, bool directory) const {
    return {.directory = project(),
            .id = identity(project()),
            .name = name,
            .target = "/w/" + name,
            .is_directory = directory};
  }
  /// The project bound at /w, with .git and .envrc held.
  [[nodiscard]] plan::Plan plan(const std::string& script) const {
    plan::Plan out = shell(script);
    const auto at = std::ranges::find_if(
        out.steps, [](const plan::Step& one) { return std::holds_alternative<step::EnterRoot>(one.act); });
    std::vector<plan::Step> mounts;
    mounts.push_back({.act = step::MakeDirectory{.target = "/w"}});
    mounts.push_back({.act = step::Bind{.source = project(), .id = identity(project()), .target = "/w"}});
    mounts.push_back({.act = point(".git", true)});
    mounts.push_back({.act = point(".envrc", false)});
    out.steps.insert(at, mounts.begin(), mounts.end());
    return out;
  }
  /// Names, types, modes and extended attributes of the project.
  [[nodiscard]] std::string listing() const {
    std::vector<std::string> lines;
    for (const auto& entry : fs::recursive_directory_iterator(project())) {
      struct stat facts{};
      lstat(entry.path().c_str(), &facts);
      char names[1024] = {};
      const ssize_t length = llistxattr(entry.path().c_str(), names, sizeof names);
      lines.push_back(entry.path().string() + " " + std::to_string(facts.st_mode) + " " + std::to_string(length));
    }
    std::ranges::sort(lines);
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
  }
  [[nodiscard]] int journals() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(registry())) {
      if (entry.path().filename().string().starts_with("run-")) ++count;
    }
    return count;
  }
  [[nodiscard]] bool exists(const std::string& name) const { return fs::exists(project() + "/" + name); }

 private:
  std::string path_;
};

Options options_for(const Scene& scene, Heard& heard) {
  Options options = listening(heard);
  options.hold_registry = scene.registry();
  return options;
}

/// What a shielded name must not let happen, each said where it could be done.
constexpr const char* kAttack =
    "cd /w; exec 2>/dev/null; mkdir .git && echo made; mkdir .git/hooks && echo made hooks; echo x > .envrc && echo "
    "wrote;"
    "mv .git g && echo moved; rm .envrc && echo removed; touch f; mv -T f .envrc && echo replaced; rmdir .git && echo "
    "removed dir; rm f; true";

TEST(Holds, StopWhatThePointsAreForAndAreGoneAfterwards) {
  as_root_and_as_a_user([] {
    const Scene scene;
    const std::string before = scene.listing();
    Heard heard;
    const auto outcome = run_to_end(scene.plan(kAttack), options_for(scene, heard));
    EXPECT_EQ(outcome.setup_error, std::nullopt) << base::to_string(outcome.setup_error.value_or(base::Error{}));
    EXPECT_TRUE(outcome.executed);
    EXPECT_EQ(heard.out, "");
    EXPECT_EQ(scene.listing(), before);
    EXPECT_EQ(scene.journals(), 0);
    EXPECT_TRUE(has_no_children());
  });
}

TEST(Holds, AreGoneAfterAFailureASignalAndAStepThatFailed) {
  as_root_and_as_a_user([] {
    const Scene scene;
    const std::string before = scene.listing();
    for (const char* script : {"exit 3", "kill -SEGV $$"}) {
      Heard heard;
      EXPECT_TRUE(run_to_end(scene.plan(script), options_for(scene, heard)).executed);
      EXPECT_EQ(scene.listing(), before) << script;
    }
    auto plan = scene.plan("echo ran");
    for (plan::Step& one : plan.steps) {
      if (auto* bind = std::get_if<step::Bind>(&one.act)) bind->id.inode += 1;
    }
    Heard heard;
    EXPECT_TRUE(run_to_end(plan, options_for(scene, heard)).setup_error);
    EXPECT_EQ(scene.listing(), before);
    EXPECT_EQ(scene.journals(), 0);
    EXPECT_TRUE(has_no_children());
  });
}

TEST(Holds, FailTheStepWhereSomethingIsThereByNowAndLeaveItAlone) {
  as_root_and_as_a_user([] {
    const Scene scene;
    const plan::Plan plan = scene.plan("echo ran");
    std::ofstream(scene.project() + "/.envrc");  // empty, and somebody's
    Heard heard;
    const auto outcome = run_to_end(plan, options_for(scene, heard));
    ASSERT_TRUE(outcome.setup_error);
    EXPECT_EQ(outcome.setup_error->code, EEXIST);
    EXPECT_EQ(std::get<step::HoldPoint>(plan.at(outcome.setup_error->step).act).name, ".envrc");
    EXPECT_EQ(heard.out, "");
    EXPECT_TRUE(scene.exists(".envrc"));
    EXPECT_FALSE(scene.exists(".git"));
  });
}

TEST(Holds, RefuseADirectoryThatWasExchangedAndOneBehindALink) {
  as_root_and_as_a_user([] {
    const Scene scene;
    const plan::Plan plan = scene.plan("echo ran");
    fs::rename(scene.project(), scene.project() + ".old");
    fs::create_directory(scene.project());
    Heard heard;
    const auto exchanged = run_to_end(plan, options_for(scene, heard));
    ASSERT_TRUE(exchanged.setup_error);
    EXPECT_EQ(exchanged.setup_error->code, ESTALE);
    fs::remove(scene.project());
    fs::create_directory_symlink(scene.project() + ".old", scene.project());
    const auto linked = run_to_end(plan, options_for(scene, heard));
    ASSERT_TRUE(linked.setup_error);
    EXPECT_EQ(linked.setup_error->code, ELOOP);
    EXPECT_FALSE(fs::exists(scene.project() + ".old/.git"));
  });
}

TEST(Holds, KeepWhatTheUserPutThereMeanwhile) {
  as_root_and_as_a_user([] {
    const Scene scene;
    Heard heard;
    auto options = options_for(scene, heard);
    bool done = false;
    options.on_stdout = [&](std::span<const std::byte>) {
      if (std::exchange(done, true)) return;
      std::ofstream(scene.project() + "/.git/config") << "mine";
      std::ofstream(scene.project() + "/.envrc") << "mine too";
    };
    const auto outcome =
        run_to_end(scene.plan("echo ready; sleep 0.3; ls -A /w/.git; cat /w/.envrc"), std::move(options));
    EXPECT_TRUE(outcome.executed);
    EXPECT_TRUE(scene.exists(".git/config"));
    std::string line;
    std::ifstream file(scene.project() + "/.envrc");
    std::getline(file, line);
    EXPECT_EQ(line, "mine too");
  });
}

TEST(Holds, EndTheRunWhereTheUserReplacesAPointAndKeepWhatReplacedIt) {
  as_root_and_as_a_user([] {
    const Scene scene;
    Heard heard;
    auto options = options_for(scene, heard);
    bool done = false;
    options.on_stdout = [&](std::span<const std::byte>) {
      if (std::exchange(done, true)) return;
      std::ofstream(scene.project() + "/.new");
      fs::rename(scene.project() + "/.new", scene.project() + "/.envrc");
    };
    const auto outcome = run_to_end(scene.plan("echo ready; sleep 20"), std::move(options));
    EXPECT_EQ(outcome.ended_by, plan::EndedBy::kLapse);
    EXPECT_TRUE(scene.exists(".envrc")) << "as empty as the point was, but the user's";
    EXPECT_FALSE(scene.exists(".git"));
  });
}

/// A process that runs the plan, for killing.
pid_t run_apart(const Scene& scene, const std::string& script) {
  const plan::Plan plan = scene.plan(script);
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    Heard heard;
    static_cast<void>(run(plan, options_for(scene, heard)));
    _exit(0);
  }
  return pid;
}

void end_by_force(pid_t pid) {
  ASSERT_GT(pid, 0);
  ASSERT_EQ(kill(pid, SIGKILL), 0);
}

TEST(Holds, AreTakenAwayByTheJanitorAfterAKillOfTheSupervisor) {
  as_root_and_as_a_user([] {
    const Scene scene;
    const std::string before = scene.listing();
    const pid_t pid = run_apart(scene, "touch /w/started; sleep 1000");
    ASSERT_TRUE(eventually([&] { return scene.exists("started"); }));
    EXPECT_TRUE(scene.exists(".git"));
    end_by_force(pid);
    waitpid(pid, nullptr, 0);
    EXPECT_TRUE(eventually([&] { return !scene.exists(".git") && !scene.exists(".envrc") && scene.journals() == 0; }));
    fs::remove(scene.project() + "/started");
    EXPECT_EQ(scene.listing(), before);
  });
}

void end_everybody(const Scene& scene, pid_t pid) {
  std::string journal;
  for (const auto& entry : fs::directory_iterator(scene.registry())) {
    if (entry.path().filename().string().starts_with("run-")) journal = entry.path().filename();
  }
  const pid_t janitor = process_with_argument(journal);
  ASSERT_EQ(kill(pid, SIGSTOP), 0);  // so that it does not act on the janitor's end
  end_by_force(janitor);
  end_by_force(pid);
  waitpid(pid, nullptr, 0);
  usleep(300'000);
}

TEST(Holds, AreTakenAwayByTheNextCommandAfterAKillOfEverybody) {
  as_root_and_as_a_user([] {
    const Scene scene;
    const std::string before = scene.listing();
    const pid_t pid = run_apart(scene, "touch /w/started; sleep 1000");
    ASSERT_TRUE(eventually([&] { return scene.exists("started"); }));
    EXPECT_EQ(hold::clean(scene.registry()).size(), 2U) << "a run that goes on loses nothing";
    EXPECT_TRUE(scene.exists(".git"));
    end_everybody(scene, pid);
    EXPECT_TRUE(scene.exists(".git")) << "the control: nobody was left to take it away";
    EXPECT_TRUE(hold::clean(scene.registry()).empty());
    EXPECT_EQ(scene.journals(), 0);
    fs::remove(scene.project() + "/started");
    EXPECT_EQ(scene.listing(), before);
  });
}

TEST(Holds, AreSharedByTwoRunsAndGoWithTheLast) {
  as_root_and_as_a_user([] {
    const Scene scene;
    const plan::Plan second = scene.plan(
        "touch /w/second; mkdir /w/.git/x 2>/dev/null || echo held; sleep 0.5; "
        "mkdir /w/.git/x 2>/dev/null || echo still held");
    const pid_t first = run_apart(scene, "touch /w/started; while [ ! -e /w/second ]; do sleep 0.05; done");
    ASSERT_TRUE(eventually([&] { return scene.exists("started"); }));
    Heard heard;
    const auto outcome = run_to_end(second, options_for(scene, heard));
    waitpid(first, nullptr, 0);
    EXPECT_EQ(outcome.setup_error, std::nullopt);
    EXPECT_EQ(outcome.ended_by, plan::EndedBy::kTarget);
    EXPECT_EQ(heard.out, "held\nstill held\n") << "the first run's end took nothing from the second";
    EXPECT_FALSE(scene.exists(".git"));
    EXPECT_EQ(scene.journals(), 0);
  });
}

TEST(Holds, AreLookedForAgainWhereTheirDirectoryWasAway) {
  as_root_and_as_a_user([] {
    const Scene scene;
    const std::string before = scene.listing();
    const pid_t pid = run_apart(scene, "touch /w/started; sleep 1000");
    ASSERT_TRUE(eventually([&] { return scene.exists("started"); }));
    end_everybody(scene, pid);
    fs::rename(scene.project(), scene.project() + ".away");
    EXPECT_TRUE(hold::clean(scene.registry()).empty());
    EXPECT_EQ(scene.journals(), 1);
    fs::rename(scene.project() + ".away", scene.project());
    EXPECT_TRUE(hold::clean(scene.registry()).empty());
    EXPECT_EQ(scene.journals(), 0);
    fs::remove(scene.project() + "/started");
    EXPECT_EQ(scene.listing(), before);
  });
}

TEST(Holds, RefuseInTimeWhereSomebodyKeepsTheLockAndNobodyWhoOnlyReadsCan) {
  as_root_and_as_a_user([] {
    const Scene scene;
    Heard heard;
    EXPECT_TRUE(run_to_end(scene.plan("true"), options_for(scene, heard)).executed);
    const std::string lock = scene.registry() + "/lock";
    EXPECT_TRUE(geteuid() == 0 || open(lock.c_str(), O_RDONLY | O_CLOEXEC) == -1);
    const int held = open(lock.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(flock(held, LOCK_EX), 0);
    const auto refused = run(scene.plan("echo ran"), options_for(scene, heard));
    close(held);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EWOULDBLOCK);
    EXPECT_FALSE(scene.exists(".git"));
  });
}

TEST(Holds, MakeAnOwnersDirectoryWithTheOwnersRights) {
  const Scene scene;
  plan::Plan plan = scene.plan("echo ran");
  for (plan::Step& one : plan.steps) {
    auto* held = std::get_if<step::HoldPoint>(&one.act);
    if (held == nullptr) continue;
    held->directory = scene.project() + "/new";
    held->create = {"new"};
    held->create_owner_uid = 65'534;
    held->create_owner_gid = 65'534;
  }
  Heard heard;
  const auto outcome = run_to_end(plan, options_for(scene, heard));
  ASSERT_TRUE(outcome.setup_error) << "root's project is not nobody's to make anything in";
  EXPECT_EQ(outcome.setup_error->code, geteuid() == 0 ? EACCES : EPERM);
  EXPECT_FALSE(scene.exists("new"));
}

TEST(Holds, NeedARegistryThatIsPrivate) {
  as_root_and_as_a_user([] {
    const Scene scene;
    fs::permissions(scene.registry(), fs::perms::all);
    Heard heard;
    auto shared = run(scene.plan("echo ran"), options_for(scene, heard));
    EXPECT_FALSE(shared);
    auto options = listening(heard);
    auto none = run(scene.plan("echo ran"), std::move(options));
    EXPECT_FALSE(none);
    EXPECT_EQ(heard.out, "");
    EXPECT_FALSE(scene.exists(".git"));
  });
}

}  // namespace
}  // namespace cordon::enforce::supervise
