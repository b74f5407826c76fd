// What a host process takes away from a running sandbox is seen, and ends the run. Each loss has its control: without
// the watch the secret can be read, or the pinned name be written.
#include "enforce/supervise/mount_watch.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "enforce/supervise/fixture_test.h"

namespace cordon::enforce::supervise {
namespace {

using namespace testing;  // NOLINT: the fixture of this room
namespace step = plan::step;
namespace fs = std::filesystem;

plan::Plan plan_of(std::vector<step::Any> acts) {
  plan::Plan plan;
  for (step::Any& act : acts) plan.steps.push_back({.act = std::move(act)});
  return plan;
}

TEST(MountWatch, NamesTheFirstMountThatIsGone) {
  const MountWatch watch(plan_of({step::Bind{.target = "/w"}, step::Pin{.target = "/w/a b"},
                                  step::Mask{.target = "/w/a b/.env"}, step::HoldPoint{.target = "/w/.git"}}));
  const std::string all =
      "1 0 0:1 / / ro - tmpfs none ro\n"
      "2 1 8:1 /home/w /w rw - ext4 /dev/a rw\n"
      "3 2 8:1 /home/w/a\\040b /w/a\\040b rw - ext4 /dev/a rw\n"
      "4 3 0:2 /file /w/a\\040b/.env ro - tmpfs none ro\n"
      "5 2 0:2 /directory /w/.git ro - tmpfs none ro\n";
  EXPECT_EQ(watch.first_lost(all), std::nullopt);
  EXPECT_EQ(watch.first_lost(all + "6 1 0:9 / /else rw - tmpfs none rw\n"), std::nullopt);
  const auto lost = watch.first_lost(all.substr(0, all.find("4 3")));
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->target, "/w/a b/.env");
  EXPECT_EQ(lost->step.value, 3);
  EXPECT_EQ(lost->what, "a process outside replaced or removed \"/w/a b/.env\", and its shield went with it");
  EXPECT_EQ(lost->mend, "leave \"/w/a b/.env\" alone until the run has ended");
  EXPECT_EQ(watch.first_lost("")->target, "/w");
  EXPECT_EQ(watch.first_lost("what is this\n\n")->target, "/w");
}

/// A project with a secret file, a directory `sub` that is pinned, and one that is not.
class Project {
 public:
  Project() {
    char name[] = "/tmp/cordon-watch-XXXXXX";
    path_ = fs::canonical(mkdtemp(name));
    std::ofstream(path_ + "/secret") << "the old secret\n";
    fs::create_directories(path_ + "/sub/hooks");
    fs::create_directory(path_ + "/plain");
  }
  ~Project() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Project(const Project&) = delete;
  Project& operator=(const Project&) = delete;

  /// Bound at /w, the secret masked, sub pinned and its hooks read-only.
  [[nodiscard]] plan::Plan plan(const std::string& script) const {
    plan::Plan out = shell(script);
    auto at = std::ranges::find_if(
        out.steps, [](const plan::Step& one) { return std::holds_alternative<step::EnterRoot>(one.act); });
    std::vector<plan::Step> mounts;
    const auto add = [&](step::Any act) { mounts.push_back({.act = std::move(act)}); };
    add(step::MakeDirectory{.target = "/w"});
    add(step::Bind{.source = path_, .id = identity(path_), .target = "/w"});
    add(step::Mask{.target = "/w/secret", .directory = false});
    add(step::Pin{.target = "/w/sub"});
    add(step::Pin{.target = "/w/sub/hooks", .read_only = true});
    out.steps.insert(at, mounts.begin(), mounts.end());
    return out;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Ended {
  plan::Outcome outcome;
  Heard heard;
};

/// Runs `script`; when it has said "ready", the host does `act`.
Ended run_while(const Project& project, const std::string& script, const std::function<void()>& act) {
  Ended out;
  auto options = listening(out.heard);
  bool done = false;
  options.on_stdout = [&](std::span<const std::byte> chunk) {
    out.heard.out.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
    if (!done && out.heard.out.find("ready") != std::string::npos) {
      done = true;
      act();
    }
  };
  out.outcome = run_to_end(project.plan("echo ready; " + script), std::move(options));
  return out;
}

constexpr const char* kWaitAndRead = "sleep 1; cat /w/secret; sleep 20";

void expect_lapse(const Ended& ended, const std::string& target) {
  EXPECT_EQ(ended.outcome.ended_by, plan::EndedBy::kLapse);
  ASSERT_EQ(ended.outcome.lapses.size(), 1U);
  EXPECT_EQ(ended.outcome.lapses.front().target, target);
  EXPECT_EQ(ended.outcome.lapses.front().layer, plan::Layer::kFilesystem);
  EXPECT_LT(ended.outcome.wall_ms, 1'000U);
  EXPECT_EQ(ended.heard.out, "ready\n");
}

TEST(Mounts, ASecretThatTheHostRewritesByRenameEndsTheRunBeforeItIsRead) {
  as_root_and_as_a_user([] {
    const Project project;
    const Ended ended = run_while(project, kWaitAndRead, [&] {
      std::ofstream(project.path() + "/.tmp") << "the new secret\n";
      fs::rename(project.path() + "/.tmp", project.path() + "/secret");
    });
    expect_lapse(ended, "/w/secret");
  });
}

/// A host that asks our set with its own poll() is told of the change, and the table tells of it once.
TEST(Mounts, ALapseIsSeenWhereAHostsOwnLoopDrivesTheRun) {
  as_root_and_as_a_user([] {
    const Project project;
    Heard heard;
    auto started = Run::start(project.plan(std::string("echo ready; ") + kWaitAndRead), listening(heard));
    ASSERT_TRUE(started);
    for (bool done = false;;) {
      pollfd one{.fd = started->poll_fd().get(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(poll(&one, 1, 20'000), 1);
      const auto over = started->service();
      ASSERT_TRUE(over);
      if (*over) break;
      if (done || !heard.out.contains("ready")) continue;
      done = true;
      std::ofstream(project.path() + "/.tmp") << "the new secret\n";
      fs::rename(project.path() + "/.tmp", project.path() + "/secret");
    }
    const auto outcome = started->wait();
    ASSERT_TRUE(outcome);
    expect_lapse({*outcome, heard}, "/w/secret");
  });
}

TEST(Mounts, APinnedDirectoryThatTheHostMakesAnewEndsTheRun) {
  as_root_and_as_a_user([] {
    const Project project;
    const Ended ended = run_while(project, "sleep 1; echo evil > /w/sub/hooks/x; sleep 20", [&] {
      fs::remove_all(project.path() + "/sub");
      fs::create_directories(project.path() + "/sub/hooks");
    });
    expect_lapse(ended, "/w/sub");
    EXPECT_TRUE(fs::is_empty(project.path() + "/sub/hooks"));
  });
}

TEST(Mounts, ABranchThatTheHostChecksOutEndsTheRun) {
  as_root_and_as_a_user([] {
    const Project project;
    const std::string git = "cd " + project.path() + " && export HOME=" + project.path() +
                            " GIT_CONFIG_NOSYSTEM=1 && "
                            "git init -q . && git config user.email a@b && git config user.name a && git add secret && "
                            "git commit -qm one && git checkout -q -b other && echo new > secret && "
                            "git commit -qam two && git checkout -q -";
    ASSERT_EQ(std::system((git + " 2>/dev/null >/dev/null").c_str()), 0);
    const Ended ended = run_while(project, kWaitAndRead, [&] {
      EXPECT_EQ(std::system(("cd " + project.path() + " && HOME=. git checkout -q other").c_str()), 0);
    });
    expect_lapse(ended, "/w/secret");
  });
}

TEST(Mounts, WhatTheHostDoesBesideTheShieldsEndsNothing) {
  as_root_and_as_a_user([] {
    const Project project;
    const Ended ended = run_while(project, "sleep 0.5; echo went on; cat /w/secret", [&] {
      fs::remove(project.path() + "/plain");
      fs::create_directory(project.path() + "/plain");
      std::ofstream(project.path() + "/secret") << "rewritten in place\n";
    });
    EXPECT_EQ(ended.outcome.ended_by, plan::EndedBy::kTarget);
    EXPECT_EQ(ended.heard.out, "ready\nwent on\n");
    EXPECT_TRUE(ended.outcome.lapses.empty());
  });
}

/// The control: a mount namespace with the same mask and nobody who watches it.
TEST(Mounts, WithoutTheWatchTheNewSecretIsRead) {
  as_root_and_as_a_user([] {
    const Project project;
    const std::string path = project.path();
    std::ofstream(path + "/empty");
    const std::string command = "unshare --user --map-root-user --mount /bin/sh -c 'mount --bind " + path + "/empty " +
                                path + "/secret; cat " + path + "/secret; touch " + path + "/masked; while [ -e " +
                                path + "/masked ]; do sleep 0.05; done; cat " + path + "/secret' > " + path + "/out";
    const std::string host = "while [ ! -e " + path + "/masked ]; do sleep 0.05; done; echo the new secret > " + path +
                             "/.tmp; mv " + path + "/.tmp " + path + "/secret; rm " + path + "/masked";
    ASSERT_EQ(std::system(("(" + host + ") & " + command + "; wait").c_str()), 0);
    std::ifstream out(path + "/out");
    std::string line;
    std::getline(out, line);
    EXPECT_EQ(line, "the new secret");
  });
}

}  // namespace
}  // namespace cordon::enforce::supervise
