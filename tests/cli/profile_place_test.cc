// `cordon profile`: where the draft goes and where a command runs, both settled before anything is started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "support/promise.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProfilePlace : public Promise {
 protected:
  [[nodiscard]] Finished profiled(std::vector<std::string> words) const {
    words.insert(words.begin(), "profile");
    return scene.cordon(words).timeout(120'000).run();
  }
};
INSTANTIATE_TEST_SUITE_P(As, ProfilePlace, testing::ValuesIn(identities()), identity_name);

TEST_P(ProfilePlace, WhereNoDraftCanGoNothingIsRun) {
  scene.tree().write("work/s.sh", "#!/bin/sh\n: >ran\n", 0755);
  scene.tree().write("work/other.yaml", "entrypoint: ./other.sh\n");
  scene.tree().write("work/text.yaml", "no manifest\n");
  scene.tree().make_directory("work/directory.yaml");
  scene.tree().link("work/nowhere.yaml", scene.tree().path("home/elsewhere"));
  scene.tree().link("work/loop.yaml", scene.in_work("loop.yaml"));
  ASSERT_EQ(::mkfifo(scene.in_work("pipe.yaml").c_str(), 0666), 0);
  std::vector<std::string> places = {"other.yaml", "text.yaml", "directory.yaml",     "nowhere.yaml",
                                     "loop.yaml",  "pipe.yaml", "no/such/place.yaml", "s.sh/x.yaml"};
  if (scene.who().uid != 0) places.emplace_back("/usr/s.yaml");  // root may
  for (const std::string& out : places) {
    const Finished run = profiled({"./s.sh", "--out", out});
    EXPECT_EQ(run.code, 125) << out << run;
    EXPECT_FALSE(scene.tree().exists("work/ran")) << out << " was looked at after the run";
  }
  EXPECT_FALSE(scene.tree().exists("home/elsewhere"));
  EXPECT_EQ(profiled({"./s.sh", "--out", "new.yaml"}).code, 0);
  EXPECT_TRUE(scene.tree().exists("work/ran")) << "the control";
}

TEST_P(ProfilePlace, AnEmptyNameOfTheDraftIsRefused) {
  scene.tree().write("work/s.sh", "#!/bin/sh\n: >ran\n", 0755);
  EXPECT_EQ(profiled({"./s.sh", "--out", ""}).code, 125);
  EXPECT_FALSE(scene.tree().exists("work/ran"));
}

TEST_P(ProfilePlace, ADirectoryThatTheProgramSwapsLeadsTheDraftNowhereElse) {
  scene.tree().make_directory("work/sub");
  scene.tree().make_directory("home/elsewhere");
  scene.tree().write("work/s.sh", "#!/bin/sh\nmv sub was; ln -s '" + scene.tree().path("home/elsewhere") + "' sub\n",
                     0755);
  const Finished run = profiled({"./s.sh", "--out", "sub/m.yaml"});
  EXPECT_EQ(run.code, 125) << run;
  EXPECT_THAT(run.err, HasSubstr("its directory is another"));
  EXPECT_FALSE(scene.tree().exists("home/elsewhere/m.yaml"));
  EXPECT_FALSE(scene.tree().exists("work/was/m.yaml"));
  scene.tree().make_directory("work/kept");
  scene.tree().write("work/s.sh", "#!/bin/sh\n: >kept/x\n", 0755);
  EXPECT_EQ(profiled({"./s.sh", "--out", "kept/m.yaml"}).code, 0) << "the control";
}

TEST_P(ProfilePlace, ACommandRunsWhereTheUserStandsAndSoDoesItsDraft) {
  scene.tree().write("work/in.txt", "the words\n");
  const Finished run = profiled({"--", "cat", "in.txt"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(run.out, "the words\n");
  const std::string manifest = scene.in_work("cat.manifest.yaml");
  const std::string text = scene.tree().read("work/cat.manifest.yaml").value_or("(no draft)");
  EXPECT_THAT(text, AllOf(HasSubstr("entrypoint: /usr/bin/env\n"), HasSubstr("in.txt"), Not(HasSubstr("exec: all"))));
  EXPECT_EQ(scene.cordon({"validate", manifest}).run().code, 0);
  EXPECT_EQ(scene.approve(manifest).code, 0);
  const Finished ran = scene.cordon({"run", manifest}).run();
  EXPECT_EQ(ran.out, "the words\n") << ran << text;
  const Finished again = profiled({"--", "cat", "in.txt"});
  EXPECT_EQ(again.code, 0) << "an existing draft is its own" << again;
  const Finished other = scene.cordon({"profile", "--out", "cat.manifest.yaml", "--", "tac", "in.txt"}).run();
  EXPECT_EQ(other.code, 125) << "another program's, though env starts both" << other;
}

TEST_P(ProfilePlace, MakeIsDraftedWhereItsMakefileStands) {
  scene.tree().write("work/Makefile", "all: out.txt\nout.txt: in.txt\n\ttr a-z A-Z <in.txt >$@; cat $@\n");
  scene.tree().write("work/in.txt", "words\n");
  const Finished run = profiled({"--", "make", "-s"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(run.out, "WORDS\n");
  fs::remove(scene.in_work("out.txt"));
  const std::string manifest = scene.in_work("make.manifest.yaml");
  EXPECT_EQ(scene.approve(manifest).code, 0);
  const Finished ran = scene.cordon({"run", manifest}).run();
  EXPECT_EQ(ran.out, "WORDS\n") << ran << scene.tree().read("work/make.manifest.yaml").value_or("");
}

/// `entrypoint`, arguments, programs and remarks of a manifest that somebody approved are not this visit's to change.
TEST_P(ProfilePlace, AnApprovedManifestThatHoldsAllIsLeftByteForByte) {
  scene.tree().write("work/Makefile", "all:\n\tcat in.txt\n");
  scene.tree().write("work/in.txt", "words\n");
  const std::string manifest = scene.in_work("D.yaml");
  const auto visit = [&] { return profiled({"--out", "D.yaml", "--", "make", "-s", "all"}); };
  EXPECT_EQ(visit().code, 0);
  scene.tree().write("work/D.yaml", "# reviewed\n" + scene.tree().read("work/D.yaml").value_or(""));
  EXPECT_EQ(scene.approve(manifest).code, 0);
  const std::string before = scene.tree().read("work/D.yaml").value_or("");
  EXPECT_THAT(before, HasSubstr("entrypoint: /usr/bin/env\n"));
  const Finished again = visit();
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_EQ(scene.tree().read("work/D.yaml").value_or(""), before);
  scene.tree().write("home/more.txt", "more\n");
  scene.tree().write("work/Makefile", "all:\n\tcat in.txt " + scene.tree().path("home/more.txt") + "\n");
  const Finished wider = visit();
  const std::string after = scene.tree().read("work/D.yaml").value_or("");
  EXPECT_THAT(after, AllOf(HasSubstr("# reviewed\n"), HasSubstr("entrypoint: /usr/bin/env\n"), HasSubstr("more.txt")))
      << "a line more, and nothing else" << wider;
  EXPECT_EQ(scene.approve(manifest).code, 0);
  EXPECT_EQ(scene.cordon({"run", manifest}).run().out, "words\nmore\n");
}

TEST_P(ProfilePlace, ALineWiderThanTheOwnDirectoryLiesThereToo) {
  scene.tree().write("work/p/sub/Makefile", "all:\n\tcp Makefile ../copy\n");
  const Finished run =
      scene.cordon({"profile", "--out", scene.in_work("D.yaml"), "--", "make", "-s"}).in(scene.in_work("p/sub")).run();
  const std::string text = scene.tree().read("work/D.yaml").value_or("(no draft)");
  EXPECT_THAT(text, HasSubstr("entrypoint: /usr/bin/env\n")) << run;
  EXPECT_EQ(scene.approve(scene.in_work("D.yaml")).code, 0);
  fs::remove(scene.in_work("p/copy"));
  EXPECT_EQ(scene.cordon({"run", scene.in_work("D.yaml")}).run().code, 0) << text;
  EXPECT_TRUE(scene.tree().exists("work/p/copy"));
}

TEST_P(ProfilePlace, ACommandThatNeedsNothingThereStartsByItself) {
  EXPECT_EQ(profiled({"--", "true"}).code, 0);
  EXPECT_THAT(scene.tree().read("work/true.manifest.yaml").value_or(""),
              AllOf(HasSubstr("bin/true\n"), HasSubstr("exec: none"), Not(HasSubstr("env"))));
}

}  // namespace
}  // namespace cordon::test
