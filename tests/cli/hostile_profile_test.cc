// `cordon profile` of programs that behave badly: it comes to an end, says what it could not tell, and leaves nothing
// running.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/promise.h"

namespace cordon::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HostileProfile : public Promise {
 protected:
  /// A Python program, profiled; `marker` is one of its arguments and of all that it starts.
  [[nodiscard]] Finished profiled(const std::string& program, const std::string& marker = "none") const {
    scene.tree().write("work/bad.py", "#!/usr/bin/python3\n" + program, 0755);
    for (const char* name : {"early", "late"}) scene.tree().write(std::string("work/") + name, "x");
    return scene.cordon({"profile", "./bad.py", "--", marker}).timeout(120'000).run();
  }
  [[nodiscard]] std::string drafted() const {
    return scene.tree().read("work/bad.py.manifest.yaml").value_or("(no draft)");
  }
};
INSTANTIATE_TEST_SUITE_P(As, HostileProfile, testing::ValuesIn(identities()), identity_name);

TEST_P(HostileProfile, AForkBombOfBoundedDepthIsWatchedToItsEnd) {
  const Finished run = profiled(
      "import os, resource, sys\n"
      "resource.setrlimit(resource.RLIMIT_NPROC, (400, 400))\n"  // of this user; the depth bounds it where that does
                                                                 // not
      "open('early')\n"
      "for depth in range(8):\n"
      "  try: os.fork()\n"
      "  except OSError: pass\n"
      "  os.path.exists('/bomb/%d' % depth)\n"
      "while True:\n"
      "  try: os.wait()\n"
      "  except ChildProcessError: break\n"
      "open('late')\n",
      "cordon-fork-bomb");
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(drafted(), AllOf(HasSubstr("./early"), HasSubstr("./late")));
  EXPECT_TRUE(gone("cordon-fork-bomb"));
}

TEST_P(HostileProfile, SiblingsThatKillEachOtherWhileTheyAreWatchedHoldNobodyUp) {
  const Finished run = profiled(
      "import os, signal, time\n"
      "open('early')\n"
      "for turn in range(12):\n"
      "  victims = []\n"
      "  for number in range(4):\n"
      "    pid = os.fork()\n"
      "    if pid == 0:\n"
      "      while True: os.path.exists('/victim/%d' % number)\n"
      "    victims.append(pid)\n"
      "  killer = os.fork()\n"
      "  if killer == 0:\n"
      "    for pid in victims: os.kill(pid, signal.SIGKILL)\n"
      "    os._exit(0)\n"
      "  for _ in range(5): os.wait()\n"
      "open('late')\n");
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(drafted(), AllOf(HasSubstr("./early"), HasSubstr("./late")));
}

TEST_P(HostileProfile, ThousandsOfThreadsAreWatchedAndNothingOfThemIsLost) {
  const Finished run = profiled(
      "import os, threading\n"
      "threading.stack_size(65536)\n"
      "names = []\n"
      "def ask(number):\n"
      "  with open('data/%d' % (number % 40)): names.append(number)\n"
      "os.makedirs('data', exist_ok=True)\n"
      "for number in range(40): open('data/%d' % number, 'w').close()\n"
      "threads = [threading.Thread(target=ask, args=(number,)) for number in range(2000)]\n"
      "for thread in threads: thread.start()\n"
      "for thread in threads: thread.join()\n"
      "print(len(names))\n");
  EXPECT_EQ(run.out, "2000\n") << run;
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.err, Not(HasSubstr("could not be told")));
}

TEST_P(HostileProfile, AProcessThatEndsWhileItsThreadsCallIsNoLossAndNoWait) {
  const Finished run = profiled(
      "import os, threading\n"
      "open('early')\n"
      "for turn in range(20):\n"
      "  if os.fork() == 0:\n"
      "    def call():\n"
      "      while True: os.path.exists('/ending')\n"
      "    for _ in range(4): threading.Thread(target=call, daemon=True).start()\n"
      "    os._exit(0)\n"
      "for turn in range(20): os.wait()\n"
      "open('late')\n");
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(drafted(), AllOf(HasSubstr("./early"), HasSubstr("./late")));
}

TEST_P(HostileProfile, ADaemonIsWatchedAndEndsWithTheRun) {
  const Finished run = profiled(
      "import os, sys, time\n"
      "ready, told = os.pipe()\n"
      "if os.fork() == 0:\n"
      "  os.setsid()\n"
      "  if os.fork() != 0: os._exit(0)\n"
      "  open('late')\n"
      "  os.write(told, b'x')\n"
      "  time.sleep(1000)\n"
      "os.read(ready, 1)\n",
      "cordon-daemon");
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(drafted(), HasSubstr("./late"));
  EXPECT_TRUE(gone("cordon-daemon"));
}

TEST_P(HostileProfile, CallsThatCannotBeToldAreCountedAndTheDraftIsNotVouchedFor) {
  const Finished run = profiled(
      "import ctypes, os\n"
      "libc = ctypes.CDLL(None)\n"
      "libc.access(ctypes.c_void_p(8), 0)\n"  // memory that is not there
      "libc.access(b'x' * 65536, 0)\n"        // a path without an end
      "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
      "libc.access(b'relative', 0)\n"  // from a directory that is deleted
      "print('went on')\n");
  EXPECT_EQ(run.out, "went on\n") << run;
  EXPECT_EQ(run.code, 4) << run;
  EXPECT_THAT(run.err, HasSubstr("3 of its calls could not be told"));
}

TEST_P(HostileProfile, ARunThatALapseEndsIsNotVouchedFor) {
  scene.tree().write("work/data/secret", "old");
  scene.tree().write("work/s.sh", "#!/bin/sh\necho ready; sleep 30\n", 0755);
  const std::string manifest = scene.approved("entrypoint: ./s.sh\nexec: all\nread: [./data]\ndeny: [./data/secret]\n");
  Running run = scene.cordon({"profile", "--check", manifest}).start();
  ASSERT_TRUE(run.expect("ready")) << run.seen();
  scene.tree().write("work/data/.new", "new");
  std::filesystem::rename(scene.in_work("data/.new"), scene.in_work("data/secret"));
  const Finished ended = run.wait();
  EXPECT_EQ(ended.code, 4) << ended;
  EXPECT_THAT(ended.err, HasSubstr("the run was ended, because"));
}

TEST_P(HostileProfile, OneThatIsKilledForACallThatNoRunAllowsIsNotVouchedFor) {
#if defined(__x86_64__)
  const std::string call = "ctypes.CDLL(None).syscall(0x40000000 | 39)\n";  // of the other ABI
  const Finished run = profiled("import ctypes\nopen('early')\n" + call + "open('late')\n");
  EXPECT_EQ(run.code, 4) << run;
  EXPECT_THAT(run.err, HasSubstr("a system call that no run allows"));
  EXPECT_THAT(drafted(), Not(HasSubstr("late")));
  const Finished child = profiled(
      "import os, subprocess, sys\n"
      "sys.exit(subprocess.call(['/bin/sh', '-c', '/usr/bin/python3 -c \"import ctypes; "
      "ctypes.CDLL(None).syscall(0x40000000 | 39)\"; exit $?']))\n");
  EXPECT_EQ(child.code, 4) << child;
  EXPECT_THAT(child.err, HasSubstr("a system call that no run allows"));
#endif
  EXPECT_EQ(profiled("import os\nos._exit(7)\n").code, 0) << "the control: a code of its own";
}

/// Whether one that is killed had become another program is a matter of chance, and the answer must not be.
TEST_P(HostileProfile, ChildrenThatAreKilledWhileTheyStartLeaveTheAnswerAsItIs) {
  scene.tree().write("work/s.sh",
                     "#!/bin/bash\n/usr/bin/true\nfor i in {1..80}; do /usr/bin/sleep 60 & kill -9 $!; done\n"
                     "wait; exit 0\n",
                     0755);
  const Finished profile = scene.cordon({"profile", "./s.sh"}).run();
  EXPECT_EQ(profile.code, 0) << profile;
  const std::string manifest = scene.in_work("s.sh.manifest.yaml");
  EXPECT_EQ(scene.approve(manifest).code, 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(scene.cordon({"profile", "--check", manifest}).run().code, 0);
  scene.tree().write("work/s.sh", "#!/bin/bash\n/usr/bin/true\nmkdir gone; cd gone; rmdir ../gone; read x <y\nexit 0\n",
                     0755);
  EXPECT_EQ(scene.cordon({"profile", "./s.sh"}).run().code, 4) << "the control: a call that cannot be told";
}

}  // namespace
}  // namespace cordon::test
