// Promise: `wx:` and `--allow-wx` open one place in which what is written may be executed, and no other; it is shielded
// as every place that may be written.

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;

CORDON_PROMISE(Wx);

/// What a reviewer is told of a manifest that cannot be approved.
Finished refused(const Scene& scene, const std::string& lines) {
  scene.tree().write("work/run.sh", "#!/bin/sh\n", 0755);
  return scene.cordon({"approve", "--yes", scene.manifest("entrypoint: ./run.sh\n" + lines)}).run();
}

/// Copies itself a program to `place` and starts it there.
std::string started_in(const std::string& place) {
  return "cp /usr/bin/true " + place + "/t && " + place + "/t && echo started\n";
}

TEST_P(Wx, WhatIsWrittenThereIsStartedAndElsewhereItIsNot) {
  scene.tree().make_directory("work/build");
  scene.tree().make_directory("work/out");
  scene.tree().write("work/run.sh", "#!/bin/sh\n" + started_in("./build") + started_in("./out") + "true\n", 0755);
  const std::string program = "entrypoint: ./run.sh\n";
  const std::string list_of_programs = "exec: [cp, 'true']\n";
  EXPECT_EQ(scene.sandboxed(program + "wx: [./build]\nwrite: [./out]\n" + list_of_programs).out, "started\n");
  EXPECT_EQ(scene.sandboxed(program + "wx: [./build, ./out]\n" + list_of_programs).out, "started\nstarted\n");
  EXPECT_EQ(scene.sandboxed(program + "write: [./build, ./out]\n" + list_of_programs).out, "");
  EXPECT_EQ(scene.sandboxed(program + "write: [./build, ./out]\nexec: all\n").out, "started\nstarted\n") << "control";
}

TEST_P(Wx, BelowAPlaceThatIsOnlyWrittenItIsStill) {
  scene.tree().make_directory("work/out/build");
  scene.tree().write("work/run.sh", "#!/bin/sh\n" + started_in("./out/build") + started_in("./out") + "true\n", 0755);
  const std::string program = "entrypoint: ./run.sh\nexec: [cp, 'true']\nwrite: [./out]\n";
  EXPECT_EQ(scene.sandboxed(program + "wx: [./out/build]\n").out, "started\n");
  EXPECT_EQ(scene.sandboxed(program).out, "");
}

TEST_P(Wx, UnderExecNoneItIsLoadedAndNotStarted) {
  scene.tree().copy("work/build/program", programs().act);
  scene.tree().copy("work/out/program", programs().act);
  const std::string lines = list("wx", {"./build"}) + list("write", {"./out"});
  allowed_inside({"mmap-exec=" + scene.in_work("build/program"), "create=" + scene.in_work("build/new")}, lines);
  denied_inside({"exec=" + scene.in_work("build/program"), "mmap-exec=" + scene.in_work("out/program")}, lines);
}

TEST_P(Wx, ShieldsHoldThere) {
  scene.tree().make_directory("work/build/.git/hooks");
  scene.tree().write("work/build/.git/config", "[core]\n");
  denied_inside(
      {"create=" + scene.in_work("build/.git/hooks/pre-commit"), "append=" + scene.in_work("build/.git/config")},
      list("wx", {"./build"}));
  allowed_inside({"create=" + scene.in_work("build/.git/index")}, list("wx", {"./build"}));
}

TEST_P(Wx, WhatMayNotBeWrittenIsRefusedByTheSameWords) {
  for (const char* place : {"~", "/", "/usr"}) {
    const Finished wx = refused(scene, list("wx", {place}));
    const Finished write = refused(scene, list("write", {place}));
    EXPECT_EQ(wx.code, 125) << wx;
    EXPECT_EQ(write.code, 125) << write;
    EXPECT_TRUE(wx.says("wx: ")) << wx;
  }
}

TEST_P(Wx, ACommandStartsWhatItWroteWhereTheFlagSays) {
  scene.tree().make_directory("work/project/.git");
  scene.tree().make_directory("work/tools");
  const auto run = [&](const char* flag) {
    return scene.cordon({"run", flag, scene.in_work("tools"), "--", "sh", "-c", started_in(scene.in_work("tools"))})
        .in(scene.in_work("project"))
        .run();
  };
  EXPECT_EQ(run("--allow-wx").out, "started\n");
  const Finished written = run("--allow-write");
  EXPECT_EQ(written.out, "") << written;
  EXPECT_NE(written.code, 0) << written;
}

TEST_P(Wx, AReviewerAndAReaderOfThePlanAreTold) {
  scene.tree().make_directory("work/build");
  scene.tree().write("work/run.sh", "#!/bin/sh\n", 0755);
  const std::string manifest = scene.manifest("entrypoint: ./run.sh\nwx: [./build]\nexec: ['true']\n");
  EXPECT_THAT(scene.cordon({"validate", manifest}).run().out, HasSubstr("the program may start what it wrote there"));
  EXPECT_THAT(scene.cordon({"inspect", manifest}).run().out, HasSubstr("can be started in the same run"));
}

}  // namespace
}  // namespace cordon::test
