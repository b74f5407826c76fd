// Promise: the target has no capability and gains none, and the system calls that could undo a sandbox are refused, by
// both gates of the processor.

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::AnyOf;
using testing::Contains;
using testing::Eq;
using testing::MatchesRegex;
using testing::StartsWith;

CORDON_PROMISE(Privileges);

TEST_P(Privileges, NoCapabilityIsLeftAndNoneCanBeGained) {
  const Finished inside = scene.acts({"show-file=/proc/self/status"});
  const auto status = lines(inside, "| ");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_THAT(status, Contains(std::string(set) + ":\t0000000000000000")) << inside;
  }
  EXPECT_THAT(status, Contains("NoNewPrivs:\t1"));
  EXPECT_THAT(status, Contains("Seccomp:\t2"));
}

TEST_P(Privileges, ASetIdProgramGivesNothing) {
  const Finished inside = scene.acts({"setuid=0", "setgid=0"});
  const auto expected = GetParam().is_root() ? "ALLOWED" : "DENIED EPERM";
  EXPECT_THAT(verdict(inside, "setuid=0"), AnyOf(Eq(expected), StartsWith("DENIED"))) << inside;
  scene.tree().write("work/id.sh", "#!/bin/sh\nmount -t tmpfs none /tmp && echo MOUNTED\nexit 0\n", 0755);
  const Finished mounting = scene.sandboxed("entrypoint: ./id.sh\nexec: all\n");
  EXPECT_FALSE(mounting.says("MOUNTED")) << mounting;
}

TEST_P(Privileges, NamespacesCannotBeNested) {
  denied_inside({"unshare=user", "clone-user", "clone3-user"});
  const Finished inside = scene.acts({"clone3-user", "unshare=mount", "setns=/proc/self/ns/mnt"});
  EXPECT_EQ(verdict(inside, "clone3-user"), "DENIED ENOSYS") << "so that libc falls back to clone" << inside;
  EXPECT_THAT(verdict(inside, "unshare=mount"), StartsWith("DENIED"));
  EXPECT_THAT(verdict(inside, "setns=/proc/self/ns/mnt"), StartsWith("DENIED"));
}

TEST_P(Privileges, MountsCannotBeTouchedByTheOldOrTheNewCalls) {
  const std::vector<std::string> acts{"mount=/tmp",   "umount=/tmp",     "remount=/",       "open-tree=/",
                                      "fsopen=tmpfs", "mount-setattr=/", "pivot-root=/tmp", "chroot=/tmp"};
  const Finished inside = scene.acts(acts);
  for (const auto& act : acts) EXPECT_EQ(verdict(inside, act), "DENIED EPERM") << inside;
  if (!GetParam().is_root()) return;
  const Finished outside = scene.acts_bare({"open-tree=/", "fsopen=tmpfs", "chroot=/"});
  EXPECT_FALSE(outside.says("DENIED")) << "the control, bare" << outside;
}

TEST_P(Privileges, TheKernelsWideInterfacesAreRefused) {
  struct Expected {
    const char* act;
    const char* answer;
  };
  const std::vector<Expected> all{{"bpf", "DENIED EPERM"},         {"perf", "DENIED EPERM"},
                                  {"keyctl", "DENIED ENOSYS"},     {"add-key", "DENIED ENOSYS"},
                                  {"io-uring", "DENIED ENOSYS"},   {"userfaultfd", "DENIED ENOSYS"},
                                  {"file-handle", "DENIED EPERM"}, {"swapon", "DENIED EPERM"},
                                  {"init-module", "DENIED EPERM"}, {"reboot", "DENIED EPERM"}};
  std::vector<std::string> acts;
  for (const auto& each : all) acts.emplace_back(each.act);
  const Finished inside = scene.acts(acts);
  for (const auto& each : all) {
    EXPECT_THAT(verdict(inside, each.act), AnyOf(Eq(each.answer), Eq("DENIED EPERM"), Eq("DENIED ENOSYS"))) << each.act;
  }
  const Finished outside = scene.acts_bare({"keyctl", "io-uring"});
  EXPECT_EQ(verdict(outside, "keyctl"), "ALLOWED") << "the control, bare";
}

// A filter that checks no architecture lets every call by through another gate. Killed, or refused: never answered.
TEST_P(Privileges, TheForeignGatesAreClosed) {
  for (const char* gate : {"i386", "x32"}) {
    const Finished inside = scene.acts({gate, "exit=0"});
    EXPECT_NE(verdict(inside, gate), "ALLOWED") << gate << inside;
  }
#if defined(__x86_64__)
  EXPECT_EQ(verdict(scene.acts_bare({"i386"}), "i386"), "ALLOWED") << "the control, bare";
#endif
}

TEST_P(Privileges, RootInsideIsNotRootOutside) {
  const Finished inside = scene.acts({"show-ids", "sethostname=cordon"});
  EXPECT_THAT(verdict(inside, "sethostname=cordon"), StartsWith("DENIED"));
  const auto uid = std::to_string(GetParam().uid);
  EXPECT_THAT(lines(inside, "ids "), testing::ElementsAre(StartsWith(uid + " " + uid))) << inside;
}

CORDON_ROOT_PROMISE(StandardDevices);

/// A node of the test's own, so that nobody's /dev/null is at stake.
TEST_P(StandardDevices, ATargetThatIsRootChangesNoDeviceThatItHasAsAStandardStream) {
  const std::string node = scene.in_work("null");
  ASSERT_EQ(::mknod(node.c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  ASSERT_EQ(::chmod(node.c_str(), 0666), 0);
  scene.tree().write("work/s.sh", "#!/bin/sh\nchmod 600 /dev/stdin && echo changed; echo x >&0; cat; echo done\n",
                     0755);
  const std::string manifest = scene.approved("entrypoint: ./s.sh\nexec: all\n");
  const auto with_node = [&](const std::string& command) {
    return scene.bare({"/bin/sh", "-c", command + " <>" + node});
  };
  const Finished inside = with_node(programs().cordon + " run " + manifest);
  EXPECT_EQ(inside.out, "done\n") << inside;
  struct stat facts{};
  ASSERT_EQ(::stat(node.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777U, 0666U) << inside;
  const Finished outside = with_node(scene.in_work("s.sh"));
  EXPECT_EQ(outside.out, "changed\ndone\n") << "the control" << outside;
}

}  // namespace
}  // namespace cordon::test
