// Probes on this host as it is, and in children that lack one thing each: the right feature must be missed, for the
// right reason, with the right mend.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "host/host.h"
#include "host/host_testing.h"

namespace cordon::host {
namespace {

using plan::Availability;
using plan::Feature;
using testing::as_each_user;
using ::testing::HasSubstr;
using testing::in_forked;
using testing::in_user_namespace;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::refuse_call;
using testing::TempTree;

plan::HostFacts probe_all() { return probe(testing::caller(), all_features()); }

plan::FeatureFact probe_one(Feature feature) { return probe(testing::caller(), std::array{feature}).feature(feature); }

std::string shown(Feature feature, const plan::FeatureFact& fact) {
  return std::string(plan::feature_name(feature)) + ": " + fact.operation + " " + std::to_string(fact.code) + ", " +
         fact.cause;
}

void write_text(const char* path, const char* text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0) << path << ": " << std::strerror(errno);
  ASSERT_EQ(::write(fd, text, std::strlen(text)), static_cast<ssize_t>(std::strlen(text))) << path;
  ::close(fd);
}

/// What this kernel's version promises: all but two flags that came with 5.19 and 6.6.
Availability expected(Feature feature) {
  int major = 0;
  int minor = 0;
  utsname name{};
  EXPECT_EQ(::uname(&name), 0);
  EXPECT_EQ(std::sscanf(name.release, "%d.%d", &major, &minor), 2);
  const int version = major * 100 + minor;
  const bool late = (feature == Feature::kNotificationKillable && version < 519) ||
                    (feature == Feature::kNotificationSyncWakeup && version < 606);
  return late ? Availability::kNo : Availability::kYes;
}

TEST(Probe, FindsEverythingOnThisHost) {
  as_each_user([] {
    const plan::HostFacts facts = probe_all();
    for (const Feature feature : all_features()) {
      EXPECT_EQ(facts.feature(feature).state, expected(feature)) << shown(feature, facts.feature(feature));
    }
    EXPECT_GE(facts.landlock_abi, 1);
    EXPECT_THAT(facts.kernel_release, Not(IsEmpty()));
    EXPECT_THAT(facts.boot_id, Not(IsEmpty()));
  });
}

TEST(Probe, TriesOnlyWhatIsAsked) {
  const plan::HostFacts facts = probe(testing::caller(), std::array{Feature::kOpenat2, Feature::kIpv6});
  for (const Feature feature : all_features()) {
    const bool asked = feature == Feature::kOpenat2 || feature == Feature::kIpv6;
    EXPECT_EQ(facts.feature(feature).state == Availability::kUnknown, !asked) << plan::feature_name(feature);
  }
}

TEST(Probe, LeavesNoProcessBehind) {
  (void)probe_all();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Probe, WorksWhereTheProcessIgnoresItsChildren) {
  in_forked([] {
    ASSERT_NE(::signal(SIGCHLD, SIG_IGN), SIG_ERR);
    const plan::HostFacts facts = probe_all();
    for (const Feature feature : all_features()) {
      EXPECT_EQ(facts.feature(feature).state, expected(feature)) << shown(feature, facts.feature(feature));
    }
  });
}

TEST(Probe, NamesALimitOfNoUserNamespaces) {
  in_user_namespace(0, [] {
    write_text("/proc/sys/user/max_user_namespaces", "0");
    const plan::HostFacts facts = probe_all();
    for (const Feature feature : {Feature::kUserNamespace, Feature::kPidNamespace, Feature::kProcMount}) {
      const plan::FeatureFact& fact = facts.feature(feature);
      EXPECT_EQ(fact.state, Availability::kNo);
      EXPECT_EQ(fact.code, ENOSPC) << shown(feature, fact);
      EXPECT_THAT(fact.operation, HasSubstr("CLONE_NEWUSER"));
      EXPECT_THAT(fact.cause, HasSubstr("user.max_user_namespaces is 0"));
      EXPECT_EQ(fact.mend, "sysctl -w user.max_user_namespaces=15000");
    }
    EXPECT_EQ(facts.feature(Feature::kLandlock).state, Availability::kYes);
    EXPECT_EQ(facts.feature(Feature::kOpenat2).state, Availability::kYes);
  });
}

TEST(Probe, NamesTheOneNamespaceThatIsMissing) {
  in_user_namespace(0, [] {
    write_text("/proc/sys/user/max_net_namespaces", "0");
    const plan::HostFacts facts = probe_all();
    for (const Feature feature : all_features()) {
      const plan::FeatureFact& fact = facts.feature(feature);
      const bool missing = feature == Feature::kNetNamespace || feature == Feature::kNatRedirect;
      EXPECT_EQ(fact.state, missing ? Availability::kNo : expected(feature)) << shown(feature, fact);
    }
    const plan::FeatureFact& net = facts.feature(Feature::kNetNamespace);
    EXPECT_THAT(net.cause, HasSubstr("user.max_net_namespaces is 0"));
    EXPECT_THAT(net.mend, HasSubstr("user.max_net_namespaces"));
  });
}

TEST(Probe, KnowsAChroot) {
  const TempTree tree;
  tree.dir("proc");
  in_user_namespace(CLONE_NEWNS, [&] {
    ASSERT_EQ(::mount("/proc", tree.path("proc").c_str(), nullptr, MS_BIND | MS_REC, nullptr), 0);
    ASSERT_EQ(::chroot(tree.path().c_str()), 0);
    ASSERT_EQ(::chdir("/"), 0);
    const plan::FeatureFact fact = probe_one(Feature::kUserNamespace);
    EXPECT_EQ(fact.state, Availability::kNo);
    EXPECT_EQ(fact.code, EPERM);
    EXPECT_THAT(fact.cause, HasSubstr("chroot"));
    EXPECT_THAT(fact.mend, HasSubstr("pivot_root"));
  });
}

TEST(Probe, LivesWithoutProc) {
  const TempTree tree;
  in_user_namespace(CLONE_NEWNS, [&] {
    ASSERT_EQ(::chroot(tree.path().c_str()), 0);
    ASSERT_EQ(::chdir("/"), 0);
    const plan::HostFacts facts = probe_all();
    EXPECT_EQ(facts.feature(Feature::kUserNamespace).state, Availability::kNo);
    EXPECT_EQ(facts.feature(Feature::kOpenat2).state, Availability::kYes);
    EXPECT_EQ(facts.feature(Feature::kUserNotification).state, Availability::kYes);
    EXPECT_EQ(facts.boot_id, "");
  });
}

TEST(Probe, KnowsAMaskedProc) {
  in_user_namespace(CLONE_NEWNS, [] {
    ASSERT_EQ(::mount("tmpfs", "/proc/sys", "tmpfs", MS_RDONLY, nullptr), 0);
    const plan::HostFacts facts = probe_all();
    const plan::FeatureFact& proc = facts.feature(Feature::kProcMount);
    EXPECT_EQ(proc.state, Availability::kNo);
    EXPECT_EQ(proc.code, EPERM);
    EXPECT_THAT(proc.cause, HasSubstr("parts of /proc are covered"));
    EXPECT_THAT(proc.mend, HasSubstr("systempaths=unconfined"));
    EXPECT_EQ(facts.feature(Feature::kTmpfsMount).state, Availability::kYes);
    EXPECT_EQ(facts.feature(Feature::kUserNamespace).state, Availability::kYes);
  });
}

TEST(Probe, KnowsCallsThatAContainerHides) {
  struct Case {
    long number;
    Feature feature;
  };
  for (const Case& one :
       {Case{SYS_openat2, Feature::kOpenat2}, Case{444, Feature::kLandlock}, Case{SYS_pidfd_open, Feature::kPidfd},
        Case{436, Feature::kCloseRange}, Case{SYS_memfd_create, Feature::kMemfdExec}, Case{442, Feature::kMountApi}}) {
    as_each_user([&] {
      refuse_call(one.number, ENOSYS);
      const plan::HostFacts facts = probe_all();
      const plan::FeatureFact& fact = facts.feature(one.feature);
      EXPECT_EQ(fact.state, Availability::kNo) << plan::feature_name(one.feature);
      EXPECT_EQ(fact.code, ENOSYS);
      EXPECT_THAT(fact.cause, HasSubstr("seccomp filter around Cordon")) << shown(one.feature, fact);
      EXPECT_THAT(fact.mend, HasSubstr("seccomp=unconfined"));
      EXPECT_EQ(facts.feature(Feature::kSeccompFilter).state, Availability::kYes);
    });
  }
}

TEST(Probe, KnowsAStockContainersFilter) {
  // Docker's profile: clone3 answers ENOSYS, so that libc falls back to clone, whose flags a filter can read.
  as_each_user([] {
    refuse_call(SYS_clone3, ENOSYS);
    const plan::HostFacts facts = probe_all();
    EXPECT_EQ(facts.feature(Feature::kUserNamespace).code, ENOSYS);
    EXPECT_THAT(facts.feature(Feature::kUserNamespace).cause, HasSubstr("seccomp filter"));
    EXPECT_EQ(facts.feature(Feature::kProcMount).state, Availability::kNo);
    EXPECT_EQ(facts.feature(Feature::kIpv6).state, Availability::kYes) << "tried outside instead";
  });
  as_each_user([] {
    refuse_call(SYS_clone3, EPERM);
    EXPECT_THAT(probe_one(Feature::kUserNamespace).cause, HasSubstr("refuses new namespaces"));
  });
}

TEST(Probe, KnowsAWatcherThatWasThereFirst) {
  as_each_user([] {
    const std::array<sock_filter, 1> program = {{{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = SECCOMP_RET_ALLOW}}};
    const sock_fprog filter{.len = 1, .filter = const_cast<sock_filter*>(program.data())};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    const long listener = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
    ASSERT_GE(listener, 0);
    const plan::FeatureFact fact = probe_one(Feature::kUserNotification);
    EXPECT_EQ(fact.state, Availability::kNo);
    EXPECT_EQ(fact.code, EBUSY);
    EXPECT_THAT(fact.cause, HasSubstr("another sandbox"));
  });
}

TEST(Probe, KnowsAKernelWithoutTheNewerFlags) {
  as_each_user([] {
    // Refusing the ioctl stands for a kernel before 6.6; a filter cannot tell its commands apart here, so all are
    // refused.
    refuse_call(SYS_ioctl, EINVAL);
    const plan::HostFacts facts =
        probe(testing::caller(), std::array{Feature::kUserNotification, Feature::kNotificationSyncWakeup});
    EXPECT_EQ(facts.feature(Feature::kNotificationSyncWakeup).state, Availability::kNo);
    EXPECT_EQ(facts.feature(Feature::kUserNotification).state, Availability::kNo);
  });
}

TEST(Probe, KnowsADomainThatForbidsMounting) {
  as_each_user([] {
    refuse_call(SYS_move_mount, EPERM);
    const plan::HostFacts facts = probe_all();
    EXPECT_EQ(facts.feature(Feature::kUserNamespace).state, Availability::kYes);
    for (const Feature feature : {Feature::kTmpfsMount, Feature::kProcMount, Feature::kMountApi}) {
      EXPECT_EQ(facts.feature(feature).state, Availability::kNo);
      EXPECT_EQ(facts.feature(feature).code, EPERM);
      EXPECT_EQ(facts.feature(feature).operation, "move_mount");
    }
  });
}

TEST(Probe, TellsAUserNamespaceWithoutPowerFromOne) {
  // As AppArmor does on Ubuntu: the namespace is made, and nothing may be done in it.
  as_each_user([] {
    refuse_call(442, EACCES);  // mount_setattr
    const plan::HostFacts facts = probe_all();
    EXPECT_EQ(facts.feature(Feature::kUserNamespace).state, Availability::kNo);
    EXPECT_EQ(facts.feature(Feature::kUserNamespace).code, EACCES);
    EXPECT_EQ(facts.feature(Feature::kMountNamespace).state, Availability::kNo);
  });
}

}  // namespace
}  // namespace cordon::host
