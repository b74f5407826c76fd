// Promise: when a run ends, in whatever way, nothing of it is left: no process, no mount, no file, not even after
// kill -9 of Cordon itself.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::IsEmpty;
using testing::Not;

CORDON_PROMISE(Ending);

std::string marker_of(const char* name) { return std::string("cordon-") + name + "-" + std::to_string(::getpid()); }

std::string host_mounts() {
  std::ifstream in("/proc/self/mountinfo");
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Names at the top of the places where a temporary file could be left.
std::vector<std::string> host_temporary_names() {
  std::vector<std::string> names;
  for (const char* directory : {"/tmp", "/run", "/dev/shm", "/var/tmp"}) {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const std::string name = entry.path().string();
      if (name.find("cordon") != std::string::npos && name.find("cordon-test") == std::string::npos)
        names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Waits until the target has written `file`: it runs.
bool appears(const Scene& scene, std::string_view file) {
  for (int i = 0; i < 500; ++i) {
    if (scene.tree().exists(file)) return true;
    ::usleep(10'000);
  }
  return false;
}

TEST_P(Ending, ADaemonThatForksTwiceAndIgnoresEverySignalIsGone) {
  const std::string marker = marker_of("daemon");
  const Finished outside = scene.acts_bare({"daemon=" + marker});
  ASSERT_EQ(verdict(outside, "daemon=" + marker), "ALLOWED");
  ASSERT_THAT(processes_with(marker), Not(IsEmpty())) << "the control: outside it stays";
  for (const pid_t pid : processes_with(marker)) ::kill(pid, SIGKILL);
  ASSERT_TRUE(gone(marker));

  const Finished inside = scene.acts({"daemon=" + marker, "exit=4"});
  EXPECT_EQ(inside.code, 4) << inside;
  EXPECT_THAT(processes_with(marker), IsEmpty()) << "nothing may outlive the run, not even for a moment";
}

TEST_P(Ending, KillNineOfCordonEndsTheTargetAndLeavesNothing) {
  const std::string marker = marker_of("kill9");
  scene.tree().make_directory("work/out");
  const std::string manifest = scene.approved(act_manifest(
      {"daemon=" + marker, "create=" + scene.in_work("out/ready"), "sleep=300"}, list("write", {"./out"})));
  static_cast<void>(scene.cordon({"validate", manifest}).run());  // the fact cache exists from here on
  const std::string mounts = host_mounts();
  const auto temporary = host_temporary_names();
  const Snapshot home = snapshot(scene.home());

  Running run = scene.cordon({"run", manifest}).start();
  ASSERT_TRUE(appears(scene, "work/out/ready")) << run.wait();
  ASSERT_THAT(processes_with(marker), Not(IsEmpty()));
  run.signal(SIGKILL);
  const Finished ended = run.wait();
  EXPECT_EQ(ended.signal, SIGKILL);
  EXPECT_TRUE(gone(marker)) << "target, init or launcher is left";
  EXPECT_EQ(host_mounts(), mounts);
  // A warden removes the run's own directory when every process is gone.
  for (int i = 0; i < 500 && host_temporary_names() != temporary; ++i) ::usleep(10'000);
  EXPECT_EQ(host_temporary_names(), temporary);
  EXPECT_EQ(difference(home, snapshot(scene.home())), "");
}

TEST_P(Ending, KillNineOfCordonAtAnyMomentLeavesNoProcess) {
  const std::string marker = marker_of("anytime");
  const std::string manifest = scene.approved(act_manifest({"daemon=" + marker, "sleep=300"}));
  const std::string mounts = host_mounts();
  for (int delay_us = 0; delay_us < 12'000; delay_us += 400) {
    Running run = scene.cordon({"run", manifest}).start();
    ::usleep(static_cast<useconds_t>(delay_us));
    run.signal(SIGKILL);
    static_cast<void>(run.wait());
    EXPECT_TRUE(gone(marker)) << "killed after " << delay_us << " µs";
  }
  EXPECT_EQ(host_mounts(), mounts);
}

TEST_P(Ending, ACleanRunChangesNothingBesideItsGrants) {
  const std::string manifest = scene.approved(act_manifest({"read=/proc/self/status"}));
  static_cast<void>(scene.cordon({"run", manifest}).run());
  const std::string mounts = host_mounts();
  const Snapshot work = snapshot(scene.work());
  const auto temporary = host_temporary_names();
  const Finished again = scene.cordon({"run", manifest}).run();
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(host_mounts(), mounts);
  EXPECT_EQ(difference(work, snapshot(scene.work())), "");
  EXPECT_EQ(host_temporary_names(), temporary);
}

TEST_P(Ending, ASignalToCordonReachesTheTargetOnceAndASecondEndsTheRun) {
  const std::string marker = marker_of("term");
  scene.tree().make_directory("work/out");
  scene.tree().write(
      "work/stubborn.sh",
      "#!/bin/sh\ntrap 'echo caught >>out/caught' TERM\n: >out/ready\nwhile :; do sleep 0.05; done # " + marker + "\n",
      0755);
  const std::string manifest =
      scene.approved("entrypoint: ./stubborn.sh\nexec: all\n" + list("write", {"./out"}) + list("args", {marker}));
  Running run = scene.cordon({"run", manifest}).start();
  ASSERT_TRUE(appears(scene, "work/out/ready"));
  run.signal(SIGTERM);
  ASSERT_TRUE(appears(scene, "work/out/caught"));
  ::usleep(300'000);
  EXPECT_EQ(scene.tree().read("work/out/caught"), "caught\n") << "forwarded once";
  EXPECT_THAT(processes_with(marker), Not(IsEmpty()));
  run.signal(SIGTERM);
  const Finished ended = run.wait();
  EXPECT_FALSE(ended.timed_out);
  EXPECT_TRUE(gone(marker));
}

TEST_P(Ending, ASignalThatTheTargetDiesOfIsItsEnd) {
  const std::string marker = marker_of("dies");
  scene.tree().make_directory("work/out");
  const std::string manifest = scene.approved(
      act_manifest({"create=" + scene.in_work("out/ready"), "sleep=300", marker + "=x"}, list("write", {"./out"})));
  Running run = scene.cordon({"run", manifest}).start();
  ASSERT_TRUE(appears(scene, "work/out/ready"));
  run.signal(SIGTERM);
  const Finished ended = run.wait();
  EXPECT_EQ(ended.code, 128 + SIGTERM) << ended;
  EXPECT_TRUE(gone(marker));
}

TEST_P(Ending, TheTimeLimitEndsTheRunWith124AndSaysSo) {
  const std::string marker = marker_of("timeout");
  const Finished ended = scene.sandboxed(act_manifest({"daemon=" + marker, "sleep=300"}, "limits:\n  timeout: 1s\n"));
  EXPECT_EQ(ended.code, 124) << ended;
  EXPECT_TRUE(ended.says("timeout") || ended.says("time limit")) << ended;
  EXPECT_TRUE(gone(marker));
}

// Cordon stops with its target, as a job of a shell does; a worker that goes on meanwhile has no more time than it had.
TEST_P(Ending, ATargetThatStopsItselfDoesNotSuspendTheTimeLimit) {
  const std::string marker = marker_of("suspend");
  const std::string manifest = scene.approved(
      act_manifest({"daemon=" + marker, "read=/proc/self/status", "stop=2", "sleep=300"}, "limits:\n  timeout: 1s\n"));
  const Running run =
      scene.outside({"/bin/sh", "-c", "'" + programs().cordon + "' run '" + manifest + "'; echo over"}).pty().start();
  auto seen = processes_with(marker);  // one look: a process that is between two forks is missed by the next
  for (int i = 0; i < 500 && seen.size() < 2; ++i, seen = processes_with(marker)) ::usleep(10'000);
  EXPECT_GE(seen.size(), 2U) << "the control: the stopped target and its daemon";
  EXPECT_TRUE(gone(marker, 12'000)) << "by init, for Cordon is stopped";
}

TEST_P(Ending, NothingOfTheRunKeepsTheOutputOpen) {
  // A daemon that keeps stdout would hang `cordon run … | cat` for ever.
  scene.tree().write("work/keeper.sh", "#!/bin/sh\n(setsid sleep 300 &)\necho done\n", 0755);
  const std::string manifest = scene.approved("entrypoint: ./keeper.sh\nexec: all\n");
  const Finished piped =
      scene.bare({"/bin/sh", "-c", "'" + programs().cordon + "' run '" + manifest + "' | cat; echo end"});
  EXPECT_FALSE(piped.timed_out);
  EXPECT_EQ(piped.out, "done\nend\n") << piped;
}

/// A child of ours or of whom we took over that is alive or waits to be reaped.
bool somebody_is_left() { return ::waitpid(-1, nullptr, WNOHANG) != -1; }

// The launcher is started before the verdict is known: a run that is refused must not leave it waiting.
TEST_P(Ending, ARefusedRunLeavesNoProcess) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const std::string marker = marker_of("left");
  ASSERT_EQ(scene.acts_bare({"daemon=" + marker}).code, 0);
  EXPECT_TRUE(somebody_is_left()) << "the control: an orphan comes to us";
  for (const pid_t pid : processes_with(marker)) ::kill(pid, SIGKILL);
  while (somebody_is_left()) ::usleep(1'000);

  const std::string unapproved = scene.manifest(act_manifest({"exit=0"}), "unapproved.yaml");
  const std::string missing = scene.manifest("entrypoint: ./absent\n", "missing.yaml");
  const std::string forbidden = scene.manifest(act_manifest({"exit=0"}, list("read", {"/proc/1"})), "forbidden.yaml");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", unapproved},
                                                {"run", "--allow-unapproved", missing},
                                                {"run", "--allow-unapproved", forbidden},
                                                {"run", scene.in_work("nowhere.yaml")}}) {
    const Finished refused = scene.cordon(words).run();
    EXPECT_EQ(refused.code, 125) << refused;
    EXPECT_FALSE(somebody_is_left()) << refused;
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace cordon::test
