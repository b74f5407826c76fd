// The advisory classes of this field, as far as they concern what is built: each attack is tried, with a sentinel that
// must not be reached, and with a control that shows the attack to work outside.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "support/promise.h"
#include "support/require.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kSentinel = "SENTINEL-7f3a";

class RedTeam : public Promise {
 protected:
  RedTeam() { scene.tree().write("home/.ssh/id_ed25519", kSentinel, 0600); }
  [[nodiscard]] std::string key() const { return scene.home() + "/.ssh/id_ed25519"; }
  [[nodiscard]] bool appears(std::string_view file) const {
    for (int i = 0; i < 500 && !scene.tree().exists(file); ++i) ::usleep(10'000);
    return scene.tree().exists(file);
  }
};
INSTANTIATE_TEST_SUITE_P(As, RedTeam, testing::ValuesIn(identities()), identity_name);

// GHSA-8688-9x26-hhxj and CVE-2024-42472 (Flatpak): one run leaves a link in its own writable directory, and the next
// run's mount follows it out. The grant is missing at first, which is no error.
TEST_P(RedTeam, ALinkLeftByOneRunDoesNotLeadTheNextOutOfItsGrants) {
  const std::string ssh = scene.home() + "/.ssh";
  scene.tree().write("work/tool.py",
                     "import os, sys\n"
                     "try: print(open('out/data/id_ed25519').read())\nexcept OSError as e: print('no', e.errno)\n"
                     "if not os.path.lexists('out/data'): os.symlink(sys.argv[1], 'out/data')\n");
  for (const char* grant : {"read: [./out/data]\nwrite: [./out]\n", "write: [./out, ./out/data/below]\n"}) {
    scene.tree().remove("work/out");
    const std::string manifest =
        scene.approved("entrypoint: ./tool.py\ninterpreter: /usr/bin/python3\n" + list("args", {ssh}) + grant);
    for (int run = 0; run < 3; ++run) {
      const Finished done = scene.cordon({"run", manifest}).run();
      EXPECT_FALSE(done.says(kSentinel)) << "run " << run << done;
    }
    EXPECT_FALSE(scene.tree().exists("home/.ssh/below")) << "nothing is made through the link either";
  }
  scene.tree().remove("work/out");
  scene.tree().link("work/out/data", ssh);
  const Finished outside = scene.bare({"/usr/bin/python3", "tool.py", ssh});
  EXPECT_TRUE(outside.says(kSentinel)) << "the control: outside it leads there" << outside;
}

// CVE-2026-39861: the sandbox plants a link where a program outside it will write.
TEST_P(RedTeam, AReportIsNotWrittenThroughALinkThatTheTargetPlanted) {
  scene.tree().make_directory("work/out");
  const std::string victim = scene.tree().write("home/.bashrc", "mine\n");
  const std::string manifest = scene.approved(
      act_manifest({"symlink=" + victim + ":" + scene.in_work("out/report.json")}, list("write", {"./out"})));
  const Finished run = scene.cordon({"run", "--report", scene.in_work("out/report.json"), manifest}).run();
  EXPECT_EQ(scene.tree().read("home/.bashrc"), "mine\n") << run;
}

TEST_P(RedTeam, ApprovalDoesNotWriteThroughALinkThatTheTargetPlanted) {
  const std::string victim = scene.tree().write("home/victim.yaml", "entrypoint: /bin/true\n");
  scene.tree().make_directory("work/out");
  scene.tree().copy("work/out/act", programs().act);
  const std::string manifest = scene.manifest("entrypoint: ./act\n", "out/m.yaml");
  require(::unlink(manifest.c_str()) == 0, "unlink");
  scene.tree().link("work/out/m.yaml", victim);
  const Finished approved = scene.approve(manifest);
  // Our own link may be followed, and then it is the file that was shown; what may not be is another one.
  EXPECT_TRUE(approved.code != 0 || approved.says("/bin/true")) << "what was stamped was shown" << approved;
  EXPECT_THAT(*scene.tree().read("home/victim.yaml"), StartsWith("entrypoint: /bin/true\n"));
}

// CBSE: the sandbox rewrites the file that says what it may do.
TEST_P(RedTeam, ATargetThatRewritesItsOwnManifestGainsNothing) {
  scene.tree().write(
      "work/tool.py",
      "import sys\nopen('m.yaml', 'a').write('read: [\"' + sys.argv[1] + '\"]\\n')\nprint('rewritten')\n");
  const std::string manifest =
      scene.approved("entrypoint: ./tool.py\ninterpreter: /usr/bin/python3\nwrite: [.]\n" + list("args", {key()}));
  const Finished first = scene.cordon({"run", manifest}).run();
  const Finished second = scene.cordon({"run", manifest}).run();
  if (first.says("rewritten")) {
    EXPECT_EQ(second.code, 125) << "the stamp must not hold any more" << second;
  }
  EXPECT_FALSE(second.says(kSentinel));
}

// CVE-2024-32462 (Flatpak), CVE-2020-17368 (firejail): a name that looks like an option is one.
TEST_P(RedTeam, NamesThatLookLikeOptionsAreNames) {
  scene.tree().write("work/--dir/-c", "#!/usr/bin/python3\nimport sys; print('ran', sys.argv[1:])\n", 0755);
  const Finished run = scene.sandboxed("entrypoint: ./--dir/-c\nargs: ['--', '--strict', '-x']\n");
  EXPECT_EQ(run.out, "ran ['--', '--strict', '-x']\n") << run;
  const std::string manifest = scene.manifest(act_manifest({"exit=6"}), "--yes");
  EXPECT_EQ(scene.cordon({"run", "--allow-unapproved", "--", "--yes"}).run().code, 125)
      << "after -- comes a command, which is refused by name";
  EXPECT_EQ(scene.cordon({"run", "--allow-unapproved", "./--yes"}).run().code, 6);
}

// infinitsec.net: a pattern in a deny rule was taken for a literal path, and so denied nothing.
TEST_P(RedTeam, APatternInADenyIsNotSilentlyNothing) {
  const std::string manifest =
      scene.manifest(act_manifest({"show-file=" + key()}, "read: ['~']\n" + list("deny", {"~/.ssh/*"})));
  const Finished run = scene.cordon({"run", "--allow-unapproved", manifest}).run();
  EXPECT_FALSE(run.code == 0 && run.says(kSentinel) && !run.says("~/.ssh/*"))
      << "either hidden, or refused, or at least said to deny nothing" << run;
}

// CVE-2024-21626 (runc): a directory of the host leaks in as the working directory, or as a descriptor.
TEST_P(RedTeam, NoDirectoryOfTheHostLeaksIn) {
  const auto leak = [] {
    const int fd = ::open("/", O_RDONLY | O_DIRECTORY);
    ::dup2(fd, 9);
  };
  const std::vector<std::string> acts{
      "stat=/proc/self/fd/9/etc/login.defs", "stat=/proc/self/cwd/../../../../../var/lib/dpkg",
      "stat=/proc/self/root/var/lib/dpkg", "stat=/proc/1/cwd/var/lib/dpkg", "stat=/proc/1/root/var/lib/dpkg"};
  const std::string manifest = scene.approved(act_manifest(acts));
  const Finished inside = scene.cordon({"run", manifest}).in("/").before(leak).run();
  for (const auto& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act << inside;
  std::vector<std::string> argv{scene.in_work("act"), acts[0], acts[2]};
  const Finished outside = scene.outside(argv).in("/").before(leak).run();
  EXPECT_FALSE(outside.says("DENIED")) << "the control, bare" << outside;
}

// CVE-2019-5736 (runc): the sandbox overwrites the helper that the host executes.
TEST_P(RedTeam, NoProgramOfCordonsIsReachedThroughProc) {
  const std::vector<std::string> acts{"open-write=/proc/1/exe", "read=/proc/1/exe", "open-write=/proc/self/exe"};
  const Finished inside = scene.acts(acts);
  for (const auto& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act << inside;
}

// CVE-2015-2925: a directory that the target stands in is moved out of its bind, and '..' then climbs past it.
TEST_P(RedTeam, ClimbingFromADirectoryThatIsMovedAwayLeadsNowhere) {
  scene.tree().make_directory("work/out/sub/deep");
  scene.tree().make_directory("home/moved");
  scene.tree().write("home/moved/sentinel", kSentinel);
  scene.tree().write("work/climb.py",
                     "import os, time\nos.chdir('out/sub/deep')\nopen('../../ready', 'w')\n"
                     "for _ in range(60):\n"
                     "    time.sleep(0.02)\n"
                     "    for up in ('../../sentinel', '../../../moved/sentinel', '../../../../home/moved/sentinel'):\n"
                     "        try: print('CLIMBED', open(up).read())\n"
                     "        except OSError: pass\nprint('nothing more')\n");
  const std::string manifest =
      scene.approved("entrypoint: ./climb.py\ninterpreter: /usr/bin/python3\nwrite: [./out]\n");
  Running run = scene.cordon({"run", manifest}).start();
  ASSERT_TRUE(appears("work/out/ready"));
  require(::rename(scene.in_work("out/sub").c_str(), (scene.home() + "/moved/sub").c_str()) == 0, "move it away");
  const Finished ended = run.wait();
  EXPECT_FALSE(ended.says(kSentinel)) << ended;
  EXPECT_TRUE(ended.says("nothing more")) << ended;
}

// A standard stream may be a file that the caller opened for one way only; /proc opens it again for the other.
TEST_P(RedTeam, AStandardStreamIsNotOpenedAgainTheOtherWay) {
  const std::string in = scene.tree().write("home/input", "i");
  const auto redirect = [in] {
    const int fd = ::open(in.c_str(), O_RDONLY);
    ::dup2(fd, 0);
  };
  const std::vector<std::string> acts{"open-write=/proc/self/fd/0", "append=/dev/stdin"};
  const std::string manifest = scene.approved(act_manifest(acts));
  const Finished inside = scene.cordon({"run", manifest}).before(redirect).run();
  for (const auto& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act << inside;
  EXPECT_EQ(scene.tree().read("home/input"), "i");
  const Finished outside = scene.outside({scene.in_work("act"), acts[0]}).before(redirect).run();
  EXPECT_EQ(verdict(outside, acts[0]), "ALLOWED") << "the control, bare" << outside;
}

// CVE-2024-27297 (Nix): two sandboxes hand descriptors to each other over an abstract socket.
TEST_P(RedTeam, TwoRunsDoNotMeetOverAnAbstractSocket) {
  const std::string name = "cordon-redteam-" + std::to_string(::getpid());
  scene.tree().make_directory("work/out");
  scene.tree().write(
      "work/serve.py",
      "import socket, sys, time\ns = socket.socket(socket.AF_UNIX)\ns.bind('\\0' + sys.argv[1])\ns.listen()\n"
      "open('out/ready', 'w')\ntime.sleep(float(sys.argv[2]))\n");
  const std::string server = scene.approved(
      "entrypoint: ./serve.py\ninterpreter: /usr/bin/python3\nwrite: [./out]\n" + list("args", {name, "20"}),
      "server.yaml");
  const std::string client = scene.approved(act_manifest({"abstract=" + name}), "client.yaml");
  Running serving = scene.cordon({"run", server}).start();
  ASSERT_TRUE(appears("work/out/ready"));
  EXPECT_THAT(verdict(scene.cordon({"run", client}).run(), "abstract=" + name), StartsWith("DENIED"));
  serving.signal(SIGTERM);
  static_cast<void>(serving.wait());
  ::unlink(scene.in_work("out/ready").c_str());
  Running bare = scene.outside({"/usr/bin/python3", "serve.py", name, "20"}).start();
  ASSERT_TRUE(appears("work/out/ready"));
  EXPECT_EQ(verdict(scene.acts_bare({"abstract=" + name}), "abstract=" + name), "ALLOWED") << "the control";
}

// AutoProver PR#73: no signal scope, so the supervisor is killed.
TEST_P(RedTeam, SignalsReachNobodyOutside) {
  Running bystander = scene.outside({scene.in_work("act"), "read=/proc/self/status", "sleep=60"}).start();
  ASSERT_TRUE(bystander.expect("ALLOWED"));
  const std::string pid = std::to_string(bystander.pid());
  const Finished inside = scene.acts({"kill=-1", "kill=" + pid, "signal0=" + pid, "exit=4"});
  EXPECT_EQ(inside.code, 4) << inside;
  EXPECT_THAT(verdict(inside, "kill=" + pid), StartsWith("DENIED")) << inside;
  EXPECT_EQ(verdict(scene.acts_bare({"signal0=" + pid}), "signal0=" + pid), "ALLOWED") << "it still lives";
}

// The Landlock tools that forgot what Landlock does not cover: attributes of a file that may only be read.
TEST_P(RedTeam, AttributesOfAReadOnlyFileStay) {
  const std::string file = scene.tree().write("work/data/in", "x", 0644);
  const std::vector<std::string> acts{"chmod=" + file, "utime=" + file, "setxattr=" + file,
                                      "link=" + file + ":" + scene.in_work("out/l")};
  scene.tree().make_directory("work/out");
  const Finished inside = scene.acts(acts, list("read", {"./data"}) + list("write", {"./out"}));
  for (const auto& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act << inside;
  const Finished outside = scene.acts_bare({"chmod=" + file, "utime=" + file});
  EXPECT_FALSE(outside.says("DENIED")) << outside;
}

// CVE-2017-5226 and CVE-2019-10063 stand in Terminal.InputCannotBePushedIntoIt, CVE-2021-41133 (the new mount calls) in
// Privileges.MountsCannotBeTouchedByTheOldOrTheNewCalls, x32 and i386 in Privileges.TheForeignGatesAreClosed.

// arapuca PR#33 and codex PR#12800: a second way to start a program that forgot the fence.
TEST_P(RedTeam, TheLoaderStartsNoProgramForAnotherOne) {
#if defined(__x86_64__)
  const std::string loader = "/lib64/ld-linux-x86-64.so.2";
#else
  const std::string loader = "/lib/ld-linux-aarch64.so.1";
#endif
  denied_inside({"exec=" + loader, "execveat=" + loader});
}

}  // namespace
}  // namespace cordon::test
