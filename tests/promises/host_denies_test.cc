// Promise: where the host denies a call that Cordon needs, the run is refused and the host is named. It is never taken
// for a mistake of the program's, and nothing hangs.

#include <sys/syscall.h>

#include <array>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

CORDON_PROMISE(HostDenies);

struct Denied {
  const char* name;
  long number;
};
constexpr std::array kCalls = {
    Denied{"pidfd_open", SYS_pidfd_open},
    Denied{"pidfd_send_signal", SYS_pidfd_send_signal},
    Denied{"chdir", SYS_chdir},
    Denied{"fchdir", SYS_fchdir},
    Denied{"ppoll", SYS_ppoll},
#ifdef SYS_poll
    Denied{"poll", SYS_poll},
#endif
    Denied{"wait4", SYS_wait4},
    Denied{"waitid", SYS_waitid},
    Denied{"clone3", SYS_clone3},
    Denied{"capset", SYS_capset},
    Denied{"capget", SYS_capget},
    Denied{"seccomp", SYS_seccomp},
    Denied{"unshare", SYS_unshare},
    Denied{"open_tree", SYS_open_tree},
    Denied{"move_mount", SYS_move_mount},
    Denied{"mount_setattr", SYS_mount_setattr},
    Denied{"fsopen", SYS_fsopen},
    Denied{"fsconfig", SYS_fsconfig},
    Denied{"fsmount", SYS_fsmount},
    Denied{"pivot_root", SYS_pivot_root},
    Denied{"umount2", SYS_umount2},
    Denied{"close_range", SYS_close_range},
    Denied{"openat2", SYS_openat2},
    Denied{"faccessat2", SYS_faccessat2},
    Denied{"statfs", SYS_statfs},
    Denied{"memfd_create", SYS_memfd_create},
    Denied{"socketpair", SYS_socketpair},
    Denied{"sendmsg", SYS_sendmsg},
    Denied{"recvmsg", SYS_recvmsg},
    Denied{"epoll_create1", SYS_epoll_create1},
    Denied{"epoll_ctl", SYS_epoll_ctl},
    Denied{"eventfd2", SYS_eventfd2},
    Denied{"signalfd4", SYS_signalfd4},
    Denied{"timerfd_create", SYS_timerfd_create},
    Denied{"timerfd_settime", SYS_timerfd_settime},
    Denied{"landlock_create_ruleset", SYS_landlock_create_ruleset},
    Denied{"landlock_restrict_self", SYS_landlock_restrict_self},
    Denied{"process_vm_readv", SYS_process_vm_readv},
    Denied{"mkdirat", SYS_mkdirat},
    Denied{"symlinkat", SYS_symlinkat},
    Denied{"getdents64", SYS_getdents64},
};

TEST_P(HostDenies, EveryCallIsRefusedByNameOrDoneWithout) {
  scene.tree().write("work/s.sh", "#!/bin/sh\necho ran\n", 0755);
  const std::string manifest = scene.approved("entrypoint: ./s.sh\nexec: none\nlimits: {timeout: 30s}\n");
  for (const Denied& call : kCalls) {
    const Finished run = scene
                             .outside({scene.in_work("act"), "without=" + std::to_string(call.number),
                                       programs().cordon, "run", manifest})
                             .env("XDG_CACHE_HOME", scene.tree().path(std::string("home/cache-") + call.name))
                             .timeout(20'000)
                             .run();
    EXPECT_FALSE(run.timed_out) << call.name << " hangs" << run;
    EXPECT_THAT(run.code, AnyOf(0, 125)) << call.name << run;
    if (run.code == 0) {
      EXPECT_EQ(run.out, "ran\n") << call.name << run;
    } else {
      EXPECT_EQ(run.out, "") << call.name << run;
      EXPECT_THAT(run.err, HasSubstr("error:")) << call.name << run;
      EXPECT_THAT(run.err, Not(HasSubstr("is not executable"))) << call.name << run;
      EXPECT_THAT(run.err, Not(HasSubstr("\"\""))) << call.name << run;
    }
  }
}

// Root's link /var/run, seen from a user namespace that knows nobody but its maker.
TEST_P(HostDenies, AnOwnerWhomTheUserNamespaceDoesNotKnowIsSaidToBeThat) {
  if (GetParam().is_root()) return;  // whose links are its own there too
  const std::string manifest = scene.manifest(act_manifest({"exit=0"}, "read: [/var/run/cordon]\n"));
  const Finished said = scene.bare({"unshare", "-Ur", programs().cordon, "run", "--allow-unapproved", manifest});
  EXPECT_EQ(said.code, 125) << said;
  EXPECT_TRUE(said.says("whom this user namespace has no number for")) << said;
}

TEST_P(HostDenies, LimitsThatAreTooLowAreNamed) {
  const std::string manifest = scene.approved(act_manifest({"exit=0"}));
  const auto under = [&](const std::string& limit) {
    return scene.bare({"/bin/sh", "-c", limit + "; exec \"$@\"", "sh", programs().cordon, "run", manifest});
  };
  const Finished files = under("ulimit -f 0");
  EXPECT_EQ(files.code, 125) << files;
  EXPECT_TRUE(files.says("ulimit -f")) << files;
  const Finished stack = under("ulimit -s 64");
  EXPECT_EQ(stack.code, 125) << stack;
  EXPECT_TRUE(stack.says("ulimit -s")) << stack;
  EXPECT_EQ(under("ulimit -s 256").code, 0) << "the least that it takes";
  EXPECT_EQ(under("ulimit -f 100000").code, 0);
}

}  // namespace
}  // namespace cordon::test
