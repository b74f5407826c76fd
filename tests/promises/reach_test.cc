// Promise: a target reaches no process but its own, neither by a signal to the process group that it shares with Cordon
// and with the caller's pipeline, nor by taking time from that group or from init. And it reads no kernel log.

#include "support/promise.h"

namespace cordon::test {
namespace {

CORDON_PROMISE(Reach);

TEST_P(Reach, ASignalToItsProcessGroupStaysInside) {
  const std::string manifest = scene.approved(act_manifest({"signal-group", "exit=3"}));
  const std::string caller = "trap 'echo HIT' USR1; \"$@\"; echo code=$?";
  const Finished inside = scene.bare({"/bin/sh", "-c", caller, "sh", programs().cordon, "run", manifest});
  EXPECT_TRUE(inside.says("code=3")) << inside;
  EXPECT_FALSE(inside.says("HIT")) << inside;
  const Finished outside = scene.bare({"/bin/sh", "-c", caller, "sh", scene.in_work("act"), "signal-group"});
  EXPECT_TRUE(outside.says("HIT")) << "the control, bare" << outside;
}

TEST_P(Reach, NoTimeIsTakenFromTheCallersGroup) {
  denied_inside({"renice-group", "io-idle-group"});
  // Bare, EACCES means that some process of this user has less time already: the call reached the others all the same.
  EXPECT_THAT(verdict(scene.acts_bare({"renice-user"}), "renice-user"), testing::AnyOf("ALLOWED", "DENIED EACCES"));
  const Finished inside = scene.acts({"renice-group", "renice-user", "io-idle-group"});
  for (const char* act : {"renice-group", "renice-user", "io-idle-group"})
    EXPECT_EQ(verdict(inside, act), "DENIED EPERM") << inside;
}

TEST_P(Reach, InitIsNotStarved) {
  Running sleeper = scene.outside({scene.in_work("act"), "read=/proc/self/status", "sleep=60"}).start();
  ASSERT_TRUE(sleeper.expect("ALLOWED"));
  const std::string pid = std::to_string(sleeper.pid());
  for (const std::string act : {"renice=", "io-idle=", "only-idle=", "one-processor=", "limit-files="}) {
    const Finished outside = scene.acts_bare({act + pid});
    EXPECT_EQ(verdict(outside, act + pid), "ALLOWED") << "the control, bare, on a process of one's own" << outside;
    const Finished inside = scene.acts({act + "1"});
    EXPECT_EQ(verdict(inside, act + "1"), "DENIED EPERM") << inside;
  }
}

TEST_P(Reach, ItsOwnProcessesAreItsOwnBusiness) {
  allowed_inside({"renice=0", "io-idle=0", "only-idle=0", "one-processor=0", "limit-files=0"});
}

TEST_P(Reach, TheKernelsLogIsNotRead) {
  EXPECT_EQ(verdict(scene.acts({"kernel-log"}), "kernel-log"), "DENIED EPERM");
  if (!GetParam().is_root()) return;  // whether others may is the host's setting
  EXPECT_EQ(verdict(scene.acts_bare({"kernel-log"}), "kernel-log"), "ALLOWED") << "the control, bare";
}

}  // namespace
}  // namespace cordon::test
