// `cordon profile` at a terminal: what an answer means for the lines around the one that was asked about, and that the
// terminal can be asked on whatever the program did to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/promise.h"

namespace cordon::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProfileAnswers : public Promise {
 protected:
  void script(const std::string& text) const { scene.tree().write("work/s.sh", "#!/bin/sh\n" + text, 0755); }
  [[nodiscard]] Running profiled() const { return scene.cordon({"profile", "./s.sh"}).pty().start(); }
  /// The question for it, answered; false where another came or none.
  static testing::AssertionResult answer(Running& run, const std::string& question, const std::string& word) {
    if (!run.expect("grant " + question) || !run.expect("[q]uit "))
      return testing::AssertionFailure() << "no question for " << question << " in: " << run.seen();
    run.type(word + "\n");
    return testing::AssertionSuccess();
  }
  [[nodiscard]] std::string drafted() const {
    return scene.tree().read("work/s.sh.manifest.yaml").value_or("(no draft)");
  }
};
INSTANTIATE_TEST_SUITE_P(As, ProfileAnswers, testing::ValuesIn(identities()), identity_name);

TEST_P(ProfileAnswers, WhoDeclinesAWideLineIsAskedForWhatItWouldHaveGiven) {
  scene.tree().write("work/a.txt", "a");
  script("read x <a.txt; echo y >b.txt\n");
  Running run = profiled();
  ASSERT_TRUE(answer(run, "write: .?", "n"));
  ASSERT_TRUE(answer(run, "read: ./a.txt?", "y"));
  const Finished done = run.wait();
  EXPECT_THAT(drafted(), AllOf(HasSubstr("read:\n  - ./a.txt\n"), Not(HasSubstr("write:")))) << done;
  std::filesystem::remove(scene.in_work("s.sh.manifest.yaml"));
  Running wide = profiled();
  ASSERT_TRUE(answer(wide, "write: .?", "y"));
  EXPECT_EQ(wide.wait().code, 0);
  EXPECT_THAT(drafted(), AllOf(HasSubstr("write:\n  - \".\"\n"), Not(HasSubstr("a.txt")))) << "the control";
}

TEST_P(ProfileAnswers, WhatWasDeclinedIsNotGivenByAWiderLineOfALaterRound) {
  scene.tree().write("home/list.txt", "names\n");
  scene.tree().write("home/data/one.txt", "1");
  scene.tree().write("home/data/two.txt", "2");
  // The second run, which is shown the list, wants the whole directory.
  script(
      "if read x <\"$HOME/list.txt\"; then cd \"$HOME/data\" && mkdir new; else read y <\"$HOME/data/one.txt\"; fi\n");
  Running run = profiled();
  ASSERT_TRUE(answer(run, "read: ~/data/one.txt?", "n"));
  ASSERT_TRUE(answer(run, "read: ~/list.txt?", "y"));
  const Finished done = run.wait();
  EXPECT_EQ(done.code, 4) << done;
  EXPECT_THAT(done.out, AllOf(HasSubstr("withheld:"), HasSubstr("which you declined")));
  EXPECT_THAT(drafted(), AllOf(HasSubstr("~/list.txt"), Not(HasSubstr("data"))));
}

TEST_P(ProfileAnswers, ALineOfAnUnapprovedManifestThatGivesWhatIsDeclinedGoes) {
  scene.tree().write("home/data/one.txt", "1");
  scene.tree().write("work/s.sh.manifest.yaml", "entrypoint: ./s.sh\nread:\n  - ~/data\n  - ./kept.txt\nenv: [HOME]\n");
  script("read y <\"$HOME/data/one.txt\"; exit 0\n");
  Running run = profiled();
  ASSERT_TRUE(answer(run, "read: ~/data/one.txt?", "n"));
  const Finished done = run.wait();
  EXPECT_THAT(done.out, HasSubstr("is taken out"));
  EXPECT_THAT(drafted(), AllOf(HasSubstr("./kept.txt"), Not(HasSubstr("~/data"))));
}

TEST_P(ProfileAnswers, AQuestionBeginsOnAPlainScreen) {
  scene.tree().write("work/a.txt", "a");
  // A forged question, and an unfinished command in which the true one would vanish.
  script("read x <a.txt; printf 'cordon: grant read: ./b.txt? [q]uit \\033]0;'\n");
  Running run = scene.cordon({"profile", "./s.sh"}).env("TERM", "xterm").pty().start();
  ASSERT_TRUE(run.expect("grant read: ./a.txt?")) << run.seen();
  ASSERT_TRUE(run.expect("[q]uit ")) << run.seen();
  const std::string seen = run.seen();
  const std::size_t plain = seen.find("\x18\x1b\\");
  ASSERT_NE(plain, std::string::npos) << seen;
  EXPECT_LT(plain, seen.find("grant read: ./a.txt?"));
  run.type("y\n");
  ASSERT_TRUE(run.expect("ended with code")) << run.seen();
  const std::string all = run.seen();
  EXPECT_GT(all.rfind("\x18\x1b\\"), all.find("grant read: ./a.txt?")) << "and so does the report";
  static_cast<void>(run.wait());
  std::filesystem::remove(scene.in_work("s.sh.manifest.yaml"));
  Running dumb = scene.cordon({"profile", "./s.sh"}).env("TERM", "dumb").pty().start();
  ASSERT_TRUE(answer(dumb, "read: ./a.txt?", "y"));
  EXPECT_THAT(dumb.wait().out, Not(HasSubstr("\x1b\\"))) << "the control: a terminal that knows no commands";
}

TEST_P(ProfileAnswers, AProgramThatTakesTheTerminalForItselfIsAskedAboutAllTheSame) {
  scene.tree().write("work/a.txt", "a");
  scene.tree().write("work/s.sh",
                     "#!/usr/bin/python3\nimport fcntl, os, struct\nopen('a.txt').close()\n"
                     "tty = os.open('/dev/tty', os.O_RDWR)\n"
                     "for request, value in ((0x540c, 0), (0x5423, struct.pack('i', 27))):\n"
                     "  try: fcntl.ioctl(tty, request, value)\n"
                     "  except OSError: print('refused')\n",
                     0755);
  Running run = profiled();
  ASSERT_TRUE(run.expect("refused")) << run.seen();
  ASSERT_TRUE(answer(run, "read: ./a.txt?", "y"));
  EXPECT_EQ(run.wait().code, 0);
}

TEST_P(ProfileAnswers, AProgramThatLeavesTheTerminalRawIsAskedAboutAllTheSame) {
  scene.tree().write("work/a.txt", "a");
  script("stty raw -echo -isig <&1 && echo was raw; read x <a.txt; kill -9 $$\n");
  Running run = profiled();
  ASSERT_TRUE(run.expect("was raw")) << run.seen();
  ASSERT_TRUE(run.expect("grant read: ./a.txt?")) << run.seen();
  ASSERT_TRUE(run.expect("[q]uit ")) << run.seen();
  run.type("y\n");
  ASSERT_TRUE(run.expect("y")) << "it echoes again" << run.seen();
  ASSERT_TRUE(answer(run, "exec: all?", "n"));
  static_cast<void>(run.wait());
  EXPECT_THAT(drafted(), HasSubstr("./a.txt"));
}

/// It ends by the first Ctrl-C, and what it asked for until then is asked about.
TEST_P(ProfileAnswers, TheFirstCtrlCEndsARoundOrderly) {
  scene.tree().write("work/a.txt", "a");
  script("read x <a.txt; echo serving; while :; do :; done\n");
  Running run = profiled();
  ASSERT_TRUE(run.expect("serving")) << run.seen();
  run.type("\x03");
  ASSERT_TRUE(answer(run, "read: ./a.txt?", "y"));
  EXPECT_EQ(run.wait().code, 4);
  EXPECT_THAT(drafted(), HasSubstr("./a.txt"));
}

TEST_P(ProfileAnswers, TheSecondCtrlCEndsAtOnceAndLeavesNothing) {
  scene.tree().write("work/a.txt", "a");
  const std::string before = "entrypoint: ./s.sh\nread: [./kept.txt]\n";
  scene.tree().write("work/s.sh.manifest.yaml", before);
  const auto left = [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scene.in_work("."))) names.push_back(entry.path());
    return names.size();
  };
  script("trap 'echo caught' INT\nread x <a.txt; echo serving; while :; do :; done\n");
  const std::size_t names = left();
  Running run = profiled();
  ASSERT_TRUE(run.expect("serving")) << run.seen();
  run.type("\x03");
  ASSERT_TRUE(run.expect("caught")) << run.seen();
  // Two that arrive before anybody takes the first are one to the kernel.
  for (int i = 0; i < 20; ++i) {
    run.type("\x03");
    if (run.expect("no draft was written", 500)) break;
  }
  const Finished done = run.wait();
  EXPECT_EQ(done.code, 130) << done;
  EXPECT_THAT(done.out, AllOf(HasSubstr("no draft was written"), Not(HasSubstr("grant read"))));
  EXPECT_EQ(drafted(), before);
  EXPECT_EQ(left(), names);
  // While it asks nothing runs any more: the first ends it.
  script("read x <a.txt; exit 0\n");
  Running asked = profiled();
  ASSERT_TRUE(asked.expect("[q]uit ")) << asked.seen();
  asked.type("\x03");
  static_cast<void>(asked.wait());
  EXPECT_EQ(drafted(), before);
  EXPECT_EQ(left(), names);
}

}  // namespace
}  // namespace cordon::test
