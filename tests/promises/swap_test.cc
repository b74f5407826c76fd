// Promise: what was checked is what is mounted. A path that becomes a link or another file between planning and
// mounting refuses, and nothing is run.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "support/pause.h"
#include "support/promise.h"
#include "support/require.h"

namespace cordon::test {
namespace {

class Swapped : public Promise {
 protected:
  /// Runs act over these grants while `swap` happens between planning and mounting.
  Finished run_while(const std::string& yaml, const std::function<void()>& swap) const {
    const std::string manifest = scene.approved(yaml);
    static_cast<void>(scene.cordon({"validate", manifest}).run());  // so that no probe of the host comes first
    Running run = scene.cordon({"run", manifest}).stopped().start();
    EXPECT_TRUE(pause_at_launch(run.pid(), swap));
    return run.wait();
  }

  void refuses(const std::string& yaml, const std::function<void()>& swap, const std::string& named) const {
    const Finished run = run_while(yaml, swap);
    EXPECT_EQ(run.code, 125) << run;
    EXPECT_EQ(run.out, "") << "nothing may have run" << run;
    EXPECT_TRUE(run.says(named)) << "the message must name the path" << run;
  }

  void rename_in_work(const std::string& from, const std::string& to) const {
    require(std::rename(scene.in_work(from).c_str(), scene.in_work(to).c_str()) == 0, "rename " + from);
  }
};
INSTANTIATE_TEST_SUITE_P(As, Swapped, testing::ValuesIn(identities()), identity_name);

TEST_P(Swapped, NothingIsRefusedWhereNothingIsSwapped) {
  scene.tree().write("work/data/in", "x");
  const Finished run = run_while(act_manifest({"read=" + scene.in_work("data/in")}, list("read", {"./data"})), [] {});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(verdict(run, "read=" + scene.in_work("data/in")), "ALLOWED") << run;
}

TEST_P(Swapped, ADirectoryForALink) {
  scene.tree().write("work/data/in", "x");
  scene.tree().write("home/secret/in", "s");
  refuses(
      act_manifest({"read=" + scene.in_work("data/in")}, list("read", {"./data"})),
      [&] {
        rename_in_work("data", "data.old");
        scene.tree().link("work/data", scene.home() + "/secret");
      },
      "data");
}

TEST_P(Swapped, ADirectoryForAnotherDirectory) {
  scene.tree().write("work/data/in", "x");
  refuses(
      act_manifest({"read=" + scene.in_work("data/in")}, list("read", {"./data"})),
      [&] {
        rename_in_work("data", "data.old");
        scene.tree().write("work/data/in", "y");
      },
      "data");
}

TEST_P(Swapped, AFileForAnotherFile) {
  scene.tree().write("work/data", "x");
  scene.tree().write("work/other", "y");
  refuses(
      act_manifest({"read=" + scene.in_work("data")}, list("read", {"./data"})),
      [&] { rename_in_work("other", "data"); }, "data");
}

TEST_P(Swapped, AFileForADirectory) {
  scene.tree().write("work/data", "x");
  refuses(
      act_manifest({"read=" + scene.in_work("data")}, list("read", {"./data"})),
      [&] {
        rename_in_work("data", "data.old");
        scene.tree().make_directory("work/data");
      },
      "data");
}

TEST_P(Swapped, AnAncestorForALink) {
  scene.tree().write("work/a/b/in", "x");
  scene.tree().write("home/secret/b/in", "s");
  refuses(
      act_manifest({"read=" + scene.in_work("a/b/in")}, list("read", {"./a/b"})),
      [&] {
        rename_in_work("a", "a.old");
        scene.tree().link("work/a", scene.home() + "/secret");
      },
      "a");
}

TEST_P(Swapped, AnAncestorForALinkToWhatItWas) {
  // The inode is the right one, but the way to it now leads over a link that somebody made meanwhile.
  scene.tree().write("work/a/b/in", "x");
  refuses(
      act_manifest({"read=" + scene.in_work("a/b/in")}, list("read", {"./a/b"})),
      [&] {
        rename_in_work("a", "a.old");
        scene.tree().link("work/a", scene.in_work("a.old"));
      },
      "a");
}

TEST_P(Swapped, TheEntrypointForAnotherProgram) {
  scene.tree().write("work/evil", "#!/bin/sh\necho EVIL\n", 0755);
  refuses(act_manifest({"fork"}), [&] { rename_in_work("evil", "act"); }, "act");
}

TEST_P(Swapped, AWriteDirectoryThatSomebodyMakesMeanwhile) {
  scene.tree().make_directory("home/elsewhere");
  refuses(
      act_manifest({"create=" + scene.in_work("fresh/deep/x")}, list("write", {"./fresh/deep"})),
      [&] { scene.tree().link("work/fresh", scene.home() + "/elsewhere"); }, "fresh");
  EXPECT_FALSE(scene.tree().exists("home/elsewhere/deep"));
}

// Whether a round plans over the directory or over the link, `deny` keeps the secret out; so it can be seen only where
// something was mounted that was not checked.
TEST_P(Swapped, InALoopTheSecretIsNeverRead) {
  scene.tree().write("work/data/in", "harmless");
  scene.tree().write("home/secret/in", "SECRET");
  scene.tree().link("work/trap", scene.home() + "/secret");
  const std::string manifest = scene.approved(
      act_manifest({"show-file=" + scene.in_work("data/in")}, list("read", {"./data"}) + list("deny", {"~/secret"})));
  std::atomic<bool> over{false};
  std::thread racer([&] {
    while (!over) {
      ::renameat2(AT_FDCWD, scene.in_work("data").c_str(), AT_FDCWD, scene.in_work("trap").c_str(), RENAME_EXCHANGE);
      ::usleep(300);
    }
  });
  int ran = 0;
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    const Finished run = scene.cordon({"run", manifest}).run();
    EXPECT_FALSE(run.says("SECRET")) << run;
    EXPECT_TRUE(run.code == 0 || run.code == 125) << run;
    (run.code == 0 ? ran : refused) += 1;
  }
  over = true;
  racer.join();
  EXPECT_GT(refused, 0) << "the race was never met: the test proves nothing";
}

}  // namespace
}  // namespace cordon::test
