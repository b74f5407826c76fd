#include "host/probe_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/text.h"
#include "host/small_file.h"
#include "kernel/file.h"
#include "kernel/process.h"

namespace cordon::host {
namespace {

using plan::Availability;
using plan::Feature;

struct Reason {
  std::string cause;
  std::string mend;
};
using MaybeReason = std::optional<Reason>;

struct Version {
  std::uint64_t major = 0, minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};

/// The oldest kernel that Cordon's namespaces run on.
constexpr Version kOldest{5, 13};

/// Since which Linux it is there, the build option that brings it, and the sysctl that bounds how many there are.
struct Origin {
  Feature feature;
  Version since;
  std::string_view option;
  std::string_view limit;
  std::string HostClues::* limit_value;
};
constexpr std::array<Origin, 23> kOrigins = {{
    {Feature::kUserNamespace, {5, 3}, "CONFIG_USER_NS", "user.max_user_namespaces", &HostClues::max_user},
    {Feature::kMountNamespace, {5, 12}, "CONFIG_NAMESPACES", "user.max_mnt_namespaces", &HostClues::max_mount},
    {Feature::kPidNamespace, {5, 3}, "CONFIG_PID_NS", "user.max_pid_namespaces", &HostClues::max_pid},
    {Feature::kNetNamespace, {5, 3}, "CONFIG_NET_NS", "user.max_net_namespaces", &HostClues::max_net},
    {Feature::kIpcNamespace, {5, 3}, "CONFIG_IPC_NS", "user.max_ipc_namespaces", &HostClues::max_ipc},
    {Feature::kUtsNamespace, {5, 3}, "CONFIG_UTS_NS", "user.max_uts_namespaces", &HostClues::max_uts},
    {Feature::kCgroupNamespace, {5, 3}, "CONFIG_CGROUPS", "user.max_cgroup_namespaces", &HostClues::max_cgroup},
    {Feature::kProcMount, {5, 2}, "CONFIG_PROC_FS", "", nullptr},
    {Feature::kTmpfsMount, {5, 2}, "CONFIG_TMPFS", "", nullptr},
    {Feature::kDevptsMount, {5, 2}, "CONFIG_UNIX98_PTYS", "", nullptr},
    {Feature::kOverlayMount, {5, 11}, "CONFIG_OVERLAY_FS", "", nullptr},
    {Feature::kMountApi, {5, 12}, "", "", nullptr},
    {Feature::kOpenat2, {5, 6}, "", "", nullptr},
    {Feature::kPidfd, {5, 3}, "", "", nullptr},
    {Feature::kCloseRange, {5, 11}, "", "", nullptr},
    {Feature::kLandlock, {5, 13}, "CONFIG_SECURITY_LANDLOCK", "", nullptr},
    {Feature::kSeccompFilter, {3, 17}, "CONFIG_SECCOMP_FILTER", "", nullptr},
    {Feature::kUserNotification, {5, 5}, "CONFIG_SECCOMP_FILTER", "", nullptr},
    {Feature::kNotificationKillable, {5, 19}, "CONFIG_SECCOMP_FILTER", "", nullptr},
    {Feature::kNotificationSyncWakeup, {6, 6}, "CONFIG_SECCOMP_FILTER", "", nullptr},
    {Feature::kMemfdExec, {3, 19}, "CONFIG_MEMFD_CREATE", "", nullptr},
    {Feature::kIpv6, {3, 0}, "CONFIG_IPV6", "", nullptr},
    {Feature::kNatRedirect, {3, 18}, "CONFIG_NFT_REDIR", "", nullptr},
}};
static_assert(kOrigins.size() == static_cast<std::size_t>(Feature::kCount));

constexpr std::string_view kContainerMend =
    "start the container with: docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined";

const Origin& origin_of(Feature feature) { return *std::ranges::find(kOrigins, feature, &Origin::feature); }

std::optional<Version> parse_version(std::string_view release) {
  const auto number = [&release]() -> std::optional<std::uint64_t> {
    const std::size_t end = std::min(release.find_first_not_of("0123456789"), release.size());
    const auto value = base::parse_decimal(release.substr(0, end));
    release.remove_prefix(std::min(end + 1, release.size()));
    return value;
  };
  const auto major = number();
  const auto minor = number();
  if (!major || !minor) return std::nullopt;
  return Version{*major, *minor};
}

bool is_namespace(Feature feature) { return origin_of(feature).limit_value != nullptr; }

bool is_mount(Feature feature) {
  return feature == Feature::kProcMount || feature == Feature::kTmpfsMount || feature == Feature::kDevptsMount ||
         feature == Feature::kOverlayMount || feature == Feature::kMountApi;
}

bool is_notification(Feature feature) {
  return feature == Feature::kUserNotification || feature == Feature::kNotificationKillable ||
         feature == Feature::kNotificationSyncWakeup;
}

bool is_refusal(int code) { return code == EPERM || code == EACCES; }

MaybeReason too_old(const Failure& failure, const HostClues& clues) {
  const bool says_so = failure.code == ENOSYS || failure.code == EINVAL || failure.code == ENOTTY;
  const auto kernel = parse_version(clues.kernel_release);
  const Origin& origin = origin_of(failure.feature);
  if (!says_so || !kernel || *kernel >= origin.since) return std::nullopt;
  const Version needed = std::max(origin.since, kOldest);
  return Reason{fmt::format("Linux {} is older than {}.{}, which brought it", clues.kernel_release, origin.since.major,
                            origin.since.minor),
                fmt::format("start Linux {}.{} or newer", needed.major, needed.minor)};
}

MaybeReason hidden_call(const Failure& failure, const HostClues& clues) {
  if (failure.code != ENOSYS) return std::nullopt;
  if (clues.seccomp_filtered) {
    return Reason{"a seccomp filter around Cordon, such as a container's profile, hides this system call",
                  std::string(kContainerMend)};
  }
  const std::string_view option = origin_of(failure.feature).option;
  if (option.empty()) return Reason{"this kernel was built without it", ""};
  return Reason{fmt::format("this kernel was built without {}", option), fmt::format("start a kernel with {}", option)};
}

MaybeReason namespace_limit(const Failure& failure, const HostClues& clues) {
  if (failure.code != ENOSPC && failure.code != EUSERS) return std::nullopt;
  // The limit of the kind that was asked for, or of user namespaces, without which there is none of the others.
  for (const Feature feature : {failure.feature, Feature::kUserNamespace}) {
    const Origin& origin = origin_of(feature);
    if (origin.limit_value == nullptr || clues.*origin.limit_value != "0") continue;
    return Reason{fmt::format("{} is 0: nobody here may make one", origin.limit),
                  fmt::format("sysctl -w {}=15000", origin.limit)};
  }
  return Reason{"the limit of namespaces is reached, or they are nested too deep (32)",
                fmt::format("sysctl -w {}=100000", origin_of(Feature::kUserNamespace).limit)};
}

MaybeReason namespace_refused(const Failure& failure, const HostClues& clues) {
  if (!is_refusal(failure.code)) return std::nullopt;
  if (clues.chrooted) {
    return Reason{"Cordon runs in a chroot, where the kernel gives no user namespace",
                  "enter that tree by pivot_root instead (systemd-nspawn, or unshare --mount with pivot_root)"};
  }
  if (!clues.privileged && clues.unprivileged_userns_clone == "0") {
    return Reason{"kernel.unprivileged_userns_clone is 0: only root may make a user namespace",
                  "sysctl -w kernel.unprivileged_userns_clone=1"};
  }
  if (clues.apparmor_restrict_userns == "1") {
    return Reason{"AppArmor gives programs without a profile no user namespace (Ubuntu 23.10 and later)",
                  "give Cordon's launcher an AppArmor profile that has the rule 'userns,', or: "
                  "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"};
  }
  if (clues.seccomp_filtered) {
    return Reason{"a seccomp filter around Cordon, such as a container's profile, refuses new namespaces",
                  std::string(kContainerMend)};
  }
  return Reason{"a security module or a container around Cordon refuses it", ""};
}

MaybeReason mount_refused(const Failure& failure, const HostClues& clues) {
  if (failure.code == ENODEV) {
    const std::string_view option = origin_of(failure.feature).option;
    return Reason{
        "this kernel does not have this file system (not built, or its module is not loaded)",
        failure.feature == Feature::kOverlayMount ? "modprobe overlay" : fmt::format("start a kernel with {}", option)};
  }
  if (failure.feature == Feature::kProcMount && failure.code == EPERM && clues.proc_masked) {
    return Reason{
        "parts of /proc are covered by other mounts, as a container does, and the kernel then gives no new one",
        std::string(kContainerMend)};
  }
  return namespace_refused(failure, clues);
}

MaybeReason landlock_off(const Failure& failure, const HostClues& clues) {
  if (failure.code != EOPNOTSUPP) return std::nullopt;
  const std::string others = clues.lsm.empty() ? "..." : clues.lsm;
  return Reason{"Landlock is built in but was not switched on at boot",
                fmt::format("add to the kernel's command line: lsm=landlock,{}", others)};
}

MaybeReason listener_taken(const Failure& failure, const HostClues&) {
  if (failure.code != EBUSY) return std::nullopt;
  return Reason{"Cordon runs inside another sandbox that watches system calls, and a process has one watcher at most",
                "run Cordon outside of it"};
}

MaybeReason memfd_refused(const Failure& failure, const HostClues& clues) {
  if (failure.code != EACCES || clues.memfd_noexec != "2") return std::nullopt;
  return Reason{"vm.memfd_noexec is 2: nothing in memory may be executed", "sysctl -w vm.memfd_noexec=1"};
}

MaybeReason ipv6_off(const Failure& failure, const HostClues&) {
  if (failure.code == EAFNOSUPPORT) {
    return Reason{"IPv6 is not built in, or was switched off at boot (ipv6.disable=1)", ""};
  }
  if (failure.code == EADDRNOTAVAIL) {
    return Reason{"IPv6 is switched off by sysctl", "sysctl -w net.ipv6.conf.all.disable_ipv6=0"};
  }
  return std::nullopt;
}

MaybeReason without_effect(const Failure& failure) {
  if (failure.code == ETIMEDOUT) return Reason{"the probe got no answer in time", ""};
  if (failure.code != 0) return std::nullopt;
  return Reason{"the call was accepted and did not do its work, or the probe was ended by a signal", ""};
}

MaybeReason by_feature(const Failure& failure, const HostClues& clues) {
  if (is_mount(failure.feature)) {
    if (auto limit = namespace_limit(failure, clues)) return limit;
    return mount_refused(failure, clues);
  }
  if (is_namespace(failure.feature)) {
    if (auto limit = namespace_limit(failure, clues)) return limit;
    return namespace_refused(failure, clues);
  }
  if (is_notification(failure.feature)) return listener_taken(failure, clues);
  if (failure.feature == Feature::kLandlock) return landlock_off(failure, clues);
  if (failure.feature == Feature::kMemfdExec) return memfd_refused(failure, clues);
  if (failure.feature == Feature::kIpv6) return ipv6_off(failure, clues);
  return std::nullopt;
}

Reason reason_of(const Failure& failure, const HostClues& clues) {
  if (auto reason = without_effect(failure)) return *reason;
  if (auto reason = too_old(failure, clues)) return *reason;
  if (auto reason = hidden_call(failure, clues)) return *reason;
  if (auto reason = by_feature(failure, clues)) return *reason;
  const std::string_view option = origin_of(failure.feature).option;
  if (failure.code == EINVAL && !option.empty()) {
    return {fmt::format("this kernel was probably built without {}", option),
            fmt::format("start a kernel with {}", option)};
  }
  if (is_refusal(failure.code) && clues.seccomp_filtered) {
    return {"a seccomp filter around Cordon, such as a container's profile, refuses it", std::string(kContainerMend)};
  }
  return {"the kernel or a security module refuses it", ""};
}

bool is_below_proc(std::string_view mountinfo) {
  return std::ranges::any_of(base::split(mountinfo, '\n'), [](std::string_view line) {
    const auto fields = base::split(line, ' ');
    // What systemd mounts on demand there masks nothing.
    return fields.size() > 4 && fields[4].starts_with("/proc/") && !fields[4].starts_with("/proc/sys/fs/binfmt_misc");
  });
}

bool is_filtered(std::string_view status) {
  return std::ranges::any_of(base::split(status, '\n'), [](std::string_view line) { return line == "Seccomp:\t2"; });
}

}  // namespace

HostClues read_clues(std::uint32_t uid) {
  HostClues clues;
  clues.kernel_release = read_line("/proc/sys/kernel/osrelease");
  clues.lsm = read_line("/sys/kernel/security/lsm");
  clues.unprivileged_userns_clone = read_line("/proc/sys/kernel/unprivileged_userns_clone");
  clues.apparmor_restrict_userns = read_line("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  clues.memfd_noexec = read_line("/proc/sys/vm/memfd_noexec");
  clues.max_user = read_line("/proc/sys/user/max_user_namespaces");
  clues.max_mount = read_line("/proc/sys/user/max_mnt_namespaces");
  clues.max_pid = read_line("/proc/sys/user/max_pid_namespaces");
  clues.max_net = read_line("/proc/sys/user/max_net_namespaces");
  clues.max_ipc = read_line("/proc/sys/user/max_ipc_namespaces");
  clues.max_uts = read_line("/proc/sys/user/max_uts_namespaces");
  clues.max_cgroup = read_line("/proc/sys/user/max_cgroup_namespaces");
  clues.seccomp_filtered = is_filtered(read_small_file("/proc/self/status", 65536).value_or(""));
  clues.proc_masked = is_below_proc(read_small_file("/proc/self/mountinfo", 64U << 20U).value_or(""));
  const auto root = kernel::statx(kernel::kHere, "/", 0);
  clues.chrooted = root && (root->stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0 &&
                   (root->stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0;
  clues.privileged = uid == 0;
  clues.dumpable = kernel::prctl_get(PR_GET_DUMPABLE).value_or(1) == 1;
  clues.launcher_profile = std::ranges::any_of(
      std::array{"/etc/apparmor.d/cordon-launch", "/etc/apparmor.d/usr.libexec.cordon.cordon-launch"},
      [](const char* path) { return kernel::statx(kernel::kHere, path, 0).has_value(); });
  return clues;
}

plan::FeatureFact explain(const Failure& failure, const HostClues& clues) {
  Reason reason = reason_of(failure, clues);
  plan::FeatureFact fact{.state = Availability::kNo,
                         .code = failure.code,
                         .operation = failure.operation,
                         .cause = std::move(reason.cause),
                         .mend = std::move(reason.mend)};
  if (!is_refusal(failure.code) || !(is_namespace(failure.feature) || is_mount(failure.feature))) return fact;
  const bool by_path = clues.apparmor_restrict_userns == "1" && clues.launcher_profile;
  const bool by_maps = !clues.dumpable && failure.operation.ends_with("_map");
  if (clues.chrooted || clues.seccomp_filtered || !(by_path || by_maps)) return fact;
  fact.state = Availability::kUnknown;
  fact.cause = by_maps ? "this process changed its user, and so may not write its child's maps: the first run will tell"
                       : "AppArmor lets only Cordon's launcher make user namespaces: the first run will tell";
  fact.mend.clear();
  return fact;
}

}  // namespace cordon::host
