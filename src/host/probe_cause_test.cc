#include "host/probe_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "host/host.h"

namespace cordon::host {
namespace {

using plan::Availability;
using plan::Feature;
using plan::FeatureFact;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

HostClues clues(const std::string& kernel = "6.8.0") { return {.kernel_release = kernel}; }

FeatureFact why(Feature feature, int code, const HostClues& host) {
  return explain({.feature = feature, .code = code, .operation = "call"}, host);
}

TEST(Cause, KeepsWhatWasTried) {
  const FeatureFact fact = why(Feature::kOpenat2, EPERM, clues());
  EXPECT_EQ(fact.state, Availability::kNo);
  EXPECT_EQ(fact.code, EPERM);
  EXPECT_EQ(fact.operation, "call");
  EXPECT_THAT(fact.cause, Not(IsEmpty()));
}

TEST(Cause, NamesDebiansSwitch) {
  HostClues host = clues("5.10.0-30-amd64");
  host.unprivileged_userns_clone = "0";
  const FeatureFact fact = why(Feature::kUserNamespace, EPERM, host);
  EXPECT_THAT(fact.cause, HasSubstr("kernel.unprivileged_userns_clone is 0"));
  EXPECT_EQ(fact.mend, "sysctl -w kernel.unprivileged_userns_clone=1");
  host.privileged = true;
  EXPECT_THAT(why(Feature::kUserNamespace, EPERM, host).cause, Not(HasSubstr("unprivileged_userns_clone")));
}

TEST(Cause, NamesUbuntusAppArmor) {
  HostClues host = clues();
  host.apparmor_restrict_userns = "1";
  for (const Feature feature : {Feature::kUserNamespace, Feature::kMountNamespace, Feature::kProcMount}) {
    const FeatureFact fact = why(feature, EACCES, host);
    EXPECT_EQ(fact.state, Availability::kNo);
    EXPECT_THAT(fact.cause, HasSubstr("AppArmor"));
    EXPECT_THAT(fact.mend,
                AllOf(HasSubstr("an AppArmor profile"), HasSubstr("kernel.apparmor_restrict_unprivileged_userns=0")));
  }
  EXPECT_THAT(why(Feature::kOpenat2, EACCES, host).cause, Not(HasSubstr("AppArmor")));
}

TEST(Cause, LeavesItToTheLauncherWhereAppArmorKnowsIt) {
  HostClues host = clues();
  host.apparmor_restrict_userns = "1";
  host.launcher_profile = true;
  EXPECT_EQ(why(Feature::kUserNamespace, EPERM, host).state, Availability::kUnknown);
  EXPECT_EQ(why(Feature::kUserNamespace, ENOSPC, host).state, Availability::kNo);
  host.seccomp_filtered = true;
  EXPECT_EQ(why(Feature::kUserNamespace, EPERM, host).state, Availability::kNo);
}

TEST(Cause, LeavesItToTheLauncherWhereThisProcessMayNotWriteMaps) {
  HostClues host = clues();
  host.dumpable = false;
  const Failure failure{.feature = Feature::kUserNamespace, .code = EACCES, .operation = "write /proc/PID/uid_map"};
  EXPECT_EQ(explain(failure, host).state, Availability::kUnknown);
  host.dumpable = true;
  EXPECT_EQ(explain(failure, host).state, Availability::kNo);
}

TEST(Cause, NamesAllFlagsOfAContainerAtOnce) {
  HostClues host = clues();
  host.seccomp_filtered = true;
  EXPECT_THAT(
      why(Feature::kUserNamespace, EPERM, host).mend,
      AllOf(HasSubstr("seccomp=unconfined"), HasSubstr("apparmor=unconfined"), HasSubstr("systempaths=unconfined")));
  host.seccomp_filtered = false;
  host.proc_masked = true;
  EXPECT_THAT(why(Feature::kProcMount, EPERM, host).mend, HasSubstr("systempaths=unconfined"));
}

TEST(Cause, NamesTheLimitThatIsZero) {
  HostClues host = clues();
  host.max_user = "0";
  EXPECT_THAT(why(Feature::kUserNamespace, ENOSPC, host).cause, HasSubstr("user.max_user_namespaces is 0"));
  EXPECT_THAT(why(Feature::kProcMount, ENOSPC, host).cause, HasSubstr("user.max_user_namespaces is 0"));
  host.max_user = "96365";
  host.max_ipc = "0";
  EXPECT_EQ(why(Feature::kIpcNamespace, ENOSPC, host).mend, "sysctl -w user.max_ipc_namespaces=15000");
  EXPECT_THAT(why(Feature::kUtsNamespace, ENOSPC, host).cause, HasSubstr("limit of namespaces is reached"));
}

TEST(Cause, NamesAMissingLandlock) {
  HostClues host = clues();
  host.lsm = "lockdown,capability,yama,apparmor";
  const FeatureFact off = why(Feature::kLandlock, EOPNOTSUPP, host);
  EXPECT_THAT(off.cause, HasSubstr("not switched on at boot"));
  EXPECT_THAT(off.mend, HasSubstr("lsm=landlock,lockdown,capability,yama,apparmor"));
  EXPECT_THAT(why(Feature::kLandlock, ENOSYS, clues("5.10.0")).cause, HasSubstr("Linux 5.10.0 is older than 5.13"));
  EXPECT_THAT(why(Feature::kLandlock, ENOSYS, clues("6.8.0")).cause, HasSubstr("CONFIG_SECURITY_LANDLOCK"));
}

TEST(Cause, NamesAKernelThatIsTooOld) {
  EXPECT_THAT(why(Feature::kNotificationSyncWakeup, EINVAL, clues("6.1.0-50-cloud")).cause,
              HasSubstr("older than 6.6"));
  EXPECT_THAT(why(Feature::kNotificationKillable, EINVAL, clues("5.15.0")).mend, HasSubstr("5.19"));
  EXPECT_THAT(why(Feature::kMountApi, ENOSYS, clues("5.4.0")).cause, HasSubstr("older than 5.12"));
  EXPECT_THAT(why(Feature::kUserNamespace, EINVAL, clues("6.8.0")).cause, HasSubstr("CONFIG_USER_NS"));
  EXPECT_THAT(why(Feature::kOpenat2, ENOSYS, clues("not a version")).cause, Not(HasSubstr("older")));
}

TEST(Cause, NamesTheRest) {
  HostClues host = clues();
  host.memfd_noexec = "2";
  EXPECT_EQ(why(Feature::kMemfdExec, EACCES, host).mend, "sysctl -w vm.memfd_noexec=1");
  EXPECT_THAT(why(Feature::kIpv6, EAFNOSUPPORT, host).cause, HasSubstr("ipv6.disable=1"));
  EXPECT_THAT(why(Feature::kIpv6, EADDRNOTAVAIL, host).mend, HasSubstr("disable_ipv6=0"));
  EXPECT_EQ(why(Feature::kOverlayMount, ENODEV, host).mend, "modprobe overlay");
  EXPECT_THAT(why(Feature::kUserNotification, EBUSY, host).cause, HasSubstr("another sandbox"));
  EXPECT_THAT(why(Feature::kSeccompFilter, 0, host).cause, HasSubstr("did not do its work"));
  host.chrooted = true;
  EXPECT_THAT(why(Feature::kUserNamespace, EPERM, host).cause, HasSubstr("chroot"));
}

TEST(Cause, EveryFeatureHasWordsForEveryErrno) {
  for (const Feature feature : all_features()) {
    for (const int code :
         {0, EPERM, EACCES, ENOSYS, EINVAL, ENOSPC, EUSERS, EBUSY, ENODEV, EOPNOTSUPP, ETIMEDOUT, EIO}) {
      EXPECT_THAT(why(feature, code, clues()).cause, Not(IsEmpty())) << plan::feature_name(feature) << " " << code;
    }
  }
}

}  // namespace
}  // namespace cordon::host
