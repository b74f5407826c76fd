// Promise: what a host process takes away from a running sandbox ends the run, before the target can use what it
// gained.

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/promise.h"

namespace cordon::test {
namespace {

CORDON_PROMISE(Watched);

/// data/secret is hidden; the target says that it runs, waits, and copies the secret to where the host can see it.
std::string waiting_manifest(const Scene& scene) {
  scene.tree().make_directory("work/out");
  scene.tree().make_directory("work/data");
  scene.tree().write("work/data/secret", "the old secret\n");
  scene.tree().write("work/wait.sh",
                     "#!/bin/sh\n: >out/ready\nsleep 1\ncat data/secret >out/seen 2>&1\n: >out/done\nsleep 20\n", 0755);
  return "entrypoint: ./wait.sh\nexec: all\n" + list("read", {"./data"}) + list("write", {"./out"}) +
         list("deny", {"./data/secret"});
}

bool appears(const Scene& scene, std::string_view file) {
  for (int i = 0; i < 500 && !scene.tree().exists(file); ++i) ::usleep(10'000);
  return scene.tree().exists(file);
}

TEST_P(Watched, ADeniedFileThatTheHostRewritesByRenameEndsTheRunWith124) {
  const std::string manifest = scene.approved(waiting_manifest(scene));
  Running run = scene.cordon({"run", manifest}).start();
  ASSERT_TRUE(appears(scene, "work/out/ready")) << run.wait();
  scene.tree().write("work/data/.new", "the new secret\n");
  std::filesystem::rename(scene.in_work("data/.new"), scene.in_work("data/secret"));
  const Finished ended = run.wait();
  EXPECT_EQ(ended.code, 124) << ended;
  EXPECT_TRUE(ended.says("a process outside replaced or removed")) << ended;
  EXPECT_TRUE(ended.says("data/secret")) << ended;
  EXPECT_TRUE(ended.says("alone until the run has ended")) << ended;
  EXPECT_FALSE(scene.tree().exists("work/out/done")) << "ended within the second that the target waited";
  EXPECT_FALSE(scene.tree().exists("work/out/seen"));
}

// Nothing tells of a directory on the way that the host moves, mask and all, nor of a store that it makes meanwhile:
// Landlock gave neither a right.
TEST_P(Watched, WhatTheHostPutsInAStoresPlaceIsNotReadBelowAReadGrant) {
  scene.tree().write("home/.ssh/id", "SECRET\n");
  scene.tree().write("home/.config/gh/hosts.yml", "SECRET\n");
  scene.tree().write("home/.config/app/settings", "mine\n");
  scene.tree().write("home/notes/today", "mine\n");
  scene.tree().make_directory("work/signal");
  scene.tree().make_directory("work/out");
  scene.tree().write("work/look.sh",
                     "#!/bin/sh\n: >out/ready\nwhile ! [ -e signal/go ]; do sleep 0.02; done\ncd\n"
                     "cat .config/gh/hosts.yml .netrc .config/app/settings notes/today >" +
                         scene.in_work("out/seen") + " 2>&1\n",
                     0755);
  const std::string manifest = scene.approved("entrypoint: ./look.sh\nexec: all\nenv: [HOME]\n" +
                                              list("read", {"~", "./signal"}) + list("write", {"./out"}));
  Running run = scene.cordon({"run", manifest}).start();
  ASSERT_TRUE(appears(scene, "work/out/ready")) << run.wait();
  std::filesystem::rename(scene.home() + "/.config", scene.home() + "/.config-old");
  scene.tree().write("home/.config/gh/hosts.yml", "SECRET\n");
  scene.tree().write("home/.netrc", "SECRET\n");
  scene.tree().write("work/signal/go", "");
  const Finished ended = run.wait();
  const std::string seen = scene.tree().read("work/out/seen").value_or("");
  EXPECT_EQ(seen.find("SECRET"), std::string::npos) << seen << ended;
  // The table of mounts may tell of the move, and then the run is over.
  EXPECT_TRUE(seen.find("mine") != std::string::npos || ended.code == 124)
      << "the control: what is no secret is read on" << seen << ended;
}

TEST_P(Watched, ARewriteInPlaceAndOfWhatIsNotDeniedEndsNothing) {
  const std::string manifest = scene.approved(waiting_manifest(scene));
  Running run = scene.cordon({"run", manifest}).start();
  ASSERT_TRUE(appears(scene, "work/out/ready")) << run.wait();
  scene.tree().write("work/data/secret", "rewritten in place\n");
  scene.tree().write("work/data/.new", "beside\n");
  std::filesystem::rename(scene.in_work("data/.new"), scene.in_work("data/beside"));
  EXPECT_TRUE(appears(scene, "work/out/done")) << "the control: what is no loss goes on";
  EXPECT_EQ(scene.tree().read("work/out/seen").value_or("").find("rewritten"), std::string::npos);
  run.signal(15);
  run.signal(15);
  static_cast<void>(run.wait());
}

}  // namespace
}  // namespace cordon::test
