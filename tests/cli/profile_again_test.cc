// `cordon profile` into a manifest that stands already: what was approved is in force from the start, and stays as it
// is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/promise.h"

namespace cordon::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProfileAgain : public Promise {
 protected:
  void script(const std::string& text) const { scene.tree().write("work/s.sh", "#!/bin/bash\n" + text, 0755); }
  [[nodiscard]] std::string manifest() const { return scene.in_work("s.sh.manifest.yaml"); }
  void approved(const std::string& lines) const {
    scene.tree().write("work/s.sh.manifest.yaml", "entrypoint: ./s.sh\n" + lines);
    EXPECT_EQ(scene.approve(manifest()).code, 0);
  }
  [[nodiscard]] Finished profiled() const { return scene.cordon({"profile", "./s.sh"}).env("TOK", "1").run(); }
  [[nodiscard]] std::string drafted() const {
    return scene.tree().read("work/s.sh.manifest.yaml").value_or("(no draft)");
  }
};
INSTANTIATE_TEST_SUITE_P(As, ProfileAgain, testing::ValuesIn(identities()), identity_name);

TEST_P(ProfileAgain, AListOfProgramsNeverBecomesAll) {
  script("/usr/bin/date >/dev/null; exit 0\n");
  approved("exec:  # reviewed\n  - /usr/bin/date  # only this\n");
  const std::string before = drafted();
  const Finished same = profiled();
  EXPECT_EQ(same.code, 0) << same;
  EXPECT_EQ(drafted(), before) << "it holds all that was started: the approval stands";
  script("/usr/bin/date >/dev/null; /usr/bin/id >/dev/null; exit 0\n");
  const Finished more = profiled();
  EXPECT_EQ(more.code, 0) << more;
  EXPECT_THAT(drafted(), AllOf(HasSubstr("exec:  # reviewed\n  - /usr/bin/date  # only this\n  - /usr/bin/id\n"),
                               Not(HasSubstr("exec: all"))));
  EXPECT_EQ(scene.approve(manifest()).code, 0);
  EXPECT_EQ(scene.cordon({"profile", "--check", manifest()}).run().code, 0);
}

TEST_P(ProfileAgain, WhatWasApprovedIsInForceFromTheStart) {
  scene.tree().write("work/data.txt", "x");
  scene.tree().write("work/keys/k", "x");
  script("[ -n \"$TOK\" ] || exit 3\nread x <keys/k && exit 5\nread x <data.txt; exit 0\n");
  approved("env: [TOK]\ndeny: [./keys]\n");
  const Finished run = profiled();
  EXPECT_EQ(run.code, 4) << "what is denied was asked for" << run;
  EXPECT_THAT(run.err, HasSubstr("ended with code 0"));
  EXPECT_THAT(drafted(), AllOf(HasSubstr("./data.txt"), Not(HasSubstr("./keys/k"))));
  EXPECT_EQ(scene.cordon({"validate", manifest()}).run().code, 0) << "it does not contradict its own deny";
}

TEST_P(ProfileAgain, AFileThatStandsAndIsALineNeedsNoDirectory) {
  scene.tree().write("work/state.txt", "x\n");
  script("echo y >>state.txt; exit 0\n");
  approved("write:\n  - ./state.txt\n");
  const std::string before = drafted();
  EXPECT_EQ(scene.cordon({"profile", "--check", manifest()}).run().code, 0);
  const Finished run = profiled();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(drafted(), before);
  script("echo y >>state.txt; echo z >new.txt; exit 0\n");
  EXPECT_EQ(scene.cordon({"profile", "--check", manifest()}).run().code, 4) << "the control: a new file needs one";
}

TEST_P(ProfileAgain, ALinkIsALineOfItsOwn) {
  scene.tree().write("work/data/cfg.json", "CFG\n");
  scene.tree().write("work/releases/5/app", "APP\n");
  scene.tree().link("work/cfg.json", "data/cfg.json");
  scene.tree().link("work/current", "releases/5");
  script("set -e\nread x <cfg.json; read y <current/app; for f in data/*; do read z <$f; done; echo $x $y $z\n");
  const Finished run = profiled();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(scene.approve(manifest()).code, 0);
  const Finished ran = scene.cordon({"run", manifest()}).run();
  EXPECT_EQ(ran.out, "CFG APP CFG\n") << ran << drafted();
}

TEST_P(ProfileAgain, ALinkWhoseMiddleLiesOutsideTheGrantIsDrafted) {
  scene.tree().write("home/data/c", "CFG\n");
  scene.tree().make_directory("home/other");
  scene.tree().link("home/other/b", scene.tree().path("home/data/c"));
  scene.tree().link("home/data/a", scene.tree().path("home/other/b"));
  const std::string data = scene.tree().path("home/data");
  script("read x <" + data + "/a && echo $x; exit 0\n");
  approved("read: [" + data + "]\n");
  EXPECT_EQ(scene.cordon({"run", manifest()}).run().out, "") << "the control: what it needs is not given";
  EXPECT_EQ(scene.cordon({"profile", "--check", manifest()}).run().code, 4);
  static_cast<void>(profiled());
  EXPECT_EQ(scene.approve(manifest()).code, 0);
  const Finished ran = scene.cordon({"run", manifest()}).run();
  EXPECT_EQ(ran.out, "CFG\n") << ran << drafted();
  EXPECT_EQ(scene.cordon({"profile", "--check", manifest()}).run().code, 0);
}

TEST_P(ProfileAgain, ALinkOfItsOwnDirectoryThatLeadsOutWasNotGiven) {
  scene.tree().write("home/other/secret.txt", "S\n");
  scene.tree().link("work/cache.json", scene.tree().path("home/other/secret.txt"));
  script("read x <cache.json || exit 3; exit 0\n");
  Running run = scene.cordon({"profile", "./s.sh"}).pty().start();
  ASSERT_TRUE(run.expect("grant read: ./cache.json → ")) << run.seen();
  ASSERT_TRUE(run.expect("[q]uit ")) << run.seen();
  run.type("y\n");
  const Finished done = run.wait();
  EXPECT_THAT(done.out, HasSubstr("ended with code 0")) << "another run had it" << done;
}

TEST_P(ProfileAgain, ANameOfItsOwnTimeIsDraftedAsTheDirectoryAroundIt) {
  scene.tree().make_directory("work/runs");
  scene.tree().write("work/s.sh",
                     "#!/usr/bin/python3\nimport os, time\nd = 'runs/%d' % time.time_ns()\nos.mkdir(d)\n"
                     "open(d + '/o', 'w').write('x')\nos.makedirs('made', exist_ok=True)\n"
                     "open('made/o', 'w').write('x')\n",
                     0755);
  const Finished run = profiled();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.err, HasSubstr("another name next time"));
  EXPECT_THAT(drafted(), AllOf(HasSubstr("- ./runs\n"), HasSubstr("- ./made\n"), Not(HasSubstr("./runs/"))));
  EXPECT_EQ(scene.approve(manifest()).code, 0);
  EXPECT_EQ(scene.cordon({"run", manifest()}).run().code, 0);
}

TEST_P(ProfileAgain, AWordWithACapitalOrAVersionIsNoNameOfItsOwnTime) {
  script("mkdir -p o/build-Release o/lib-python3 o/k8s-v1beta1 o/tmp.aBcDeF p/run-x7Kq2Z\nexit 0\n");
  scene.tree().make_directory("work/o");
  scene.tree().make_directory("work/p");
  const Finished run = profiled();
  EXPECT_THAT(drafted(), HasSubstr("- ./p\n")) << "the control" << run;
  EXPECT_THAT(drafted(), HasSubstr("- ./o\n")) << "the control: tmp.aBcDeF" << run;
  script("mkdir -p o/build-Release o/lib-python3 o/k8s-v1beta1\nexit 0\n");
  std::filesystem::remove_all(scene.in_work("o"));
  scene.tree().make_directory("work/o");
  std::filesystem::remove(manifest());
  const Finished words = profiled();
  EXPECT_THAT(drafted(), AllOf(HasSubstr("- ./o/build-Release\n"), HasSubstr("- ./o/lib-python3\n"),
                               HasSubstr("- ./o/k8s-v1beta1\n"), Not(HasSubstr("- ./o\n"))))
      << words;
}

/// In one pass nothing but its look tells of r0; the approved line does, once the next run makes r1 beside it.
TEST_P(ProfileAgain, AnApprovedLineThatIsOfNoUseTellsANameOfItsOwnTime) {
  scene.tree().make_directory("work/runs");
  script("mkdir runs/r1\nexit 0\n");
  approved("write: [./runs/r0]\nexec: all\n");
  static_cast<void>(profiled());
  EXPECT_THAT(drafted(), AllOf(HasSubstr("./runs]\n"), Not(HasSubstr("./runs/r1")))) << drafted();
  std::filesystem::remove(scene.in_work("runs/r1"));
  std::filesystem::remove(manifest());
  approved("write: [./runs/other]\nexec: all\n");
  static_cast<void>(profiled());
  EXPECT_THAT(drafted(), HasSubstr("./runs/r1")) << "the control: a name of another kind";
}

/// A directory of the system's that is listed as a whole, with links in it that lead beside it: what no first run can
/// name.
TEST_P(ProfileAgain, LinksOfTheSystemInAListedDirectoryAreLines) {
  scene.tree().make_directory("home/conf.d");
  scene.tree().link("home/conf.d/own.ini", scene.tree().path("home/own.ini"));
  scene.tree().link("home/conf.d/os.ini", "/etc/os-release");
  scene.tree().write("home/own.ini", "x\n");
  script("for f in " + scene.tree().path("home/conf.d") + "/*.ini; do read x <$f; done\nexit 0\n");
  static_cast<void>(profiled());
  EXPECT_THAT(drafted(), AllOf(HasSubstr("conf.d/os.ini\n"), Not(HasSubstr("own.ini")))) << drafted();
}

TEST_P(ProfileAgain, ManyNewDirectoriesAreOneLine) {
  scene.tree().make_directory("work/many");
  script("for i in {a..j}{a..j}; do mkdir many/$i; done\nmkdir few_{a..e}\nexit 0\n");
  const Finished run = scene.cordon({"profile", "--json", "./s.sh"}).run();
  EXPECT_THAT(drafted(), AllOf(HasSubstr("- ./many\n"), Not(HasSubstr("./many/")), HasSubstr("./few_a\n"))) << run;
  EXPECT_THAT(run.out, HasSubstr("many-new-directories"));
}

TEST_P(ProfileAgain, AProgramThatFailsUnderAManifestThatHoldsAllIsNotVouchedFor) {
  script("exit 3\n");
  approved("");
  const std::string before = drafted();
  const Finished run = profiled();
  EXPECT_EQ(run.code, 4) << run;
  EXPECT_THAT(run.err, HasSubstr("ended with code 3, and no line would change that"));
  EXPECT_EQ(drafted(), before);
  script("exit 0\n");
  EXPECT_EQ(profiled().code, 0) << "the control";
}

/// Its private home is empty: what the host has there was not there for it, whether it was to be read or written.
TEST_P(ProfileAgain, AWriteBelowTheHomeThatFailedIsNoEndWithCodeNought) {
  scene.tree().make_directory("home/notes");
  script("echo x >\"$HOME/notes/new\" || exit 3\nexit 0\n");
  const Finished run = scene.cordon({"profile", "./s.sh"}).run();
  EXPECT_EQ(run.code, 4) << run;
  EXPECT_THAT(drafted(), HasSubstr("~/notes"));
  EXPECT_EQ(scene.approve(manifest()).code, 0);
  EXPECT_EQ(scene.cordon({"profile", "./s.sh"}).run().code, 0) << "the control: then it had it";
}

/// By its look r0 is like any name: that the next round makes r1 and has no use for r0 tells.
TEST_P(ProfileAgain, TwoRoundsTellANameOfItsOwnTimeByWhatTheyMake) {
  scene.tree().write("home/list.txt", "x");
  scene.tree().make_directory("work/runs");
  const auto program = [&](const std::string& name) {
    scene.tree().write("work/s.sh",
                       "#!/usr/bin/python3\nimport os\nd = 'runs/' + " + name +
                           "\nos.makedirs(d, exist_ok=True)\nopen(os.path.expanduser('~/list.txt')).close()\n",
                       0755);
  };
  const auto answered = [&](const std::vector<std::string>& questions) {
    Running run = scene.cordon({"profile", "./s.sh"}).pty().start();
    for (const std::string& each : questions) {
      EXPECT_TRUE(run.expect("grant " + each + "?")) << run.seen();
      EXPECT_TRUE(run.expect("[q]uit ")) << run.seen();
      run.type("y\n");
    }
    return run.wait();
  };
  program("'r%d' % len(os.listdir('runs'))");
  const Finished done = answered({"read: ~/list.txt", "read: ./runs", "write: ./runs/r0", "write: ./runs"});
  EXPECT_THAT(done.out, HasSubstr("another name next time")) << done;
  EXPECT_THAT(drafted(), AllOf(HasSubstr("- ./runs\n"), Not(HasSubstr("./runs/r"))));
  std::filesystem::remove(manifest());
  program("'same'");
  EXPECT_THAT(answered({"read: ~/list.txt", "write: ./runs/same"}).out, Not(HasSubstr("another name next time")))
      << "the control";
  EXPECT_THAT(drafted(), HasSubstr("- ./runs/same\n"));
}

TEST_P(ProfileAgain, ALookAtADirectoryIsJudgedAlikeByBoth) {
  scene.tree().make_directory("home/data");
  scene.tree().write("home/file.txt", "x");
  const std::string home = scene.tree().path("home");
  const auto judged = [&](const std::string& text) {
    script(text + "\nexit 0\n");
    std::filesystem::remove(manifest());
    approved("");
    const Finished checked = scene.cordon({"profile", "--check", manifest()}).run();
    std::filesystem::remove(manifest());
    const Finished profile = profiled();
    EXPECT_EQ(checked.code, 4) << text << checked;
    EXPECT_EQ(profile.code, 4) << text << profile;
    EXPECT_THAT(profile.err, HasSubstr("withheld"));
    return checked.err;
  };
  const auto quiet = [&](const std::string& text, const std::string& lines) {
    script(text + "\nexit 0\n");
    std::filesystem::remove(manifest());
    approved(lines);
    const Finished checked = scene.cordon({"profile", "--check", manifest()}).run();
    EXPECT_EQ(checked.code, 0) << text << checked;
  };
  EXPECT_THAT(judged("[ -d " + home + "/data ]"), HasSubstr("it looked for"));
  judged("[ -d " + home + "/data ] && :; for f in " + home + "/data/*; do :; done; [ -d /etc/apt ]");
  quiet("[ -e " + home + "/none ]", "");
  quiet("[ -d " + scene.in_work("..") + " ]", "");  // it leads to the program: it is there
  quiet("[ -d " + home + "/data ]", "read: [" + home + "/data]\n");
  quiet("[ -e /usr/bin/env ]; [ -d /usr/lib ]; [ -d /proc ]", "");
  // A file is a line of its own, by both.
  script("[ -e " + home + "/file.txt ]\nexit 0\n");
  std::filesystem::remove(manifest());
  approved("");
  EXPECT_EQ(scene.cordon({"profile", "--check", manifest()}).run().code, 4);
  std::filesystem::remove(manifest());
  EXPECT_EQ(profiled().code, 0);
  EXPECT_THAT(drafted(), HasSubstr("file.txt"));
}

TEST_P(ProfileAgain, APartialListingElsewhereIsJudgedAlikeByBoth) {
  scene.tree().write("home/data/one", "1");
  scene.tree().write("home/data/two", "2");
  const std::string data = scene.tree().path("home/data");
  script("for f in " + data + "/*; do :; done; read x <" + data + "/one; exit 0\n");
  const Finished profile = profiled();
  EXPECT_EQ(profile.code, 4) << profile;
  EXPECT_THAT(profile.err, HasSubstr("it will see no more"));
  EXPECT_EQ(scene.approve(manifest()).code, 0);
  EXPECT_EQ(scene.cordon({"profile", "--check", manifest()}).run().code, 4);
  script("read x <" + data + "/one; exit 0\n");
  EXPECT_EQ(scene.cordon({"profile", "--check", manifest()}).run().code, 0) << "the control: it lists nothing";
}

TEST_P(ProfileAgain, DeclinedLinesOfAnUnapprovedManifestAreTakenOut) {
  scene.tree().write("work/s.sh.manifest.yaml",
                     "entrypoint: ./s.sh\nexec: all\nnetwork:\n  - host: example.com\n    port: 443\n");
  script("/usr/bin/date >/dev/null; exec 3<>/dev/tcp/example.com/443; exit 0\n");
  Running run = scene.cordon({"profile", "./s.sh"}).pty().start();
  ASSERT_TRUE(run.expect("grant network: example.com:443?")) << run.seen();
  ASSERT_TRUE(run.expect("[q]uit ")) << run.seen();
  run.type("n\n");
  ASSERT_TRUE(run.expect("grant exec: all?")) << run.seen();
  ASSERT_TRUE(run.expect("[q]uit ")) << run.seen();
  run.type("n\n");
  const Finished done = run.wait();
  EXPECT_EQ(done.code, 4) << done;
  EXPECT_THAT(drafted(), AllOf(Not(HasSubstr("exec: all")), Not(HasSubstr("example.com"))));
  EXPECT_THAT(done.out, AllOf(HasSubstr("exec: all is taken out"), Not(HasSubstr("are kept"))));
}

}  // namespace
}  // namespace cordon::test
