// Landlock (5.13) and seccomp (user notification 5.0).
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernel/errno.h"
#include "kernel/file.h"
#include "kernel/uapi.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

namespace cordon::kernel {

/// The ABI number, or with kLandlockCreateRulesetErrata the mask of errata.
inline Sys<int> landlock_query(std::uint32_t what) {
  const long answer = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, what);
  if (answer < 0) return failed("landlock_create_ruleset");
  return static_cast<int>(answer);
}

/// The attribute is cut to what the ABI knows: a longer one is E2BIG.
inline Sys<Fd> landlock_create_ruleset(const LandlockRulesetAttr& attributes, int abi) {
  const std::size_t size = abi >= 6 ? sizeof attributes : abi >= 4 ? 16 : 8;
  const long fd = ::syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
  if (fd < 0) return failed("landlock_create_ruleset");
  return Fd(static_cast<int>(fd));
}
inline Sys<void> landlock_add_path(FdView ruleset, FdView path, std::uint64_t access) {
  const LandlockPathBeneathAttr rule{.allowed_access = access, .parent_fd = path.get()};
  return done(::syscall(SYS_landlock_add_rule, ruleset.get(), kLandlockRulePathBeneath, &rule, 0), "landlock_add_rule");
}
inline Sys<void> landlock_restrict_self(FdView ruleset) {
  return done(::syscall(SYS_landlock_restrict_self, ruleset.get(), 0), "landlock_restrict_self");
}

/// Answers the listener with kSeccompFilterNewListener, else an Fd that is not valid.
inline Sys<Fd> seccomp_set_filter(std::span<const std::byte> program, unsigned flags) {
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size() / sizeof(sock_filter)),
                          .filter = reinterpret_cast<sock_filter*>(const_cast<std::byte*>(program.data()))};
  const long answer = ::syscall(SYS_seccomp, kSeccompSetModeFilter, flags, &filter);
  if (answer < 0) return failed("seccomp");
  return (flags & kSeccompFilterNewListener) != 0 ? Fd(static_cast<int>(answer)) : Fd();
}

inline Sys<void> notification_receive(FdView listener, seccomp_notif& into) {
  into = {};
  return done(retry([&] { return ::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &into); }), "ioctl(NOTIF_RECV)");
}
inline Sys<void> notification_send(FdView listener, const seccomp_notif_resp& answer) {
  return done(::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer), "ioctl(NOTIF_SEND)");
}
/// How large the kernel's own structures are (5.0): a newer kernel's may be larger than ours.
inline Sys<seccomp_notif_sizes> notification_sizes() {
  seccomp_notif_sizes sizes{};
  if (::syscall(SYS_seccomp, kSeccompGetNotifSizes, 0, &sizes) < 0) return failed("seccomp");
  return sizes;
}
/// As above for buffers of notification_sizes(); `into` is zeroed first, as the kernel asks.
inline Sys<void> notification_receive(FdView listener, std::span<std::byte> into) {
  std::ranges::fill(into, std::byte{0});
  return done(retry([&] { return ::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, into.data()); }),
              "ioctl(NOTIF_RECV)");
}
inline Sys<void> notification_send(FdView listener, std::span<const std::byte> answer) {
  return done(::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, answer.data()), "ioctl(NOTIF_SEND)");
}
/// kSeccompUserNotifSyncWakeUp (6.6); EINVAL on older kernels.
inline Sys<void> notification_set_flags(FdView listener, std::uint64_t flags) {
  return done(::ioctl(listener.get(), _IOW(SECCOMP_IOC_MAGIC, 4, std::uint64_t), flags), "ioctl(NOTIF_SET_FLAGS)");
}
inline Sys<void> notification_id_valid(FdView listener, std::uint64_t id) {
  return done(::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id), "ioctl(NOTIF_ID_VALID)");
}

}  // namespace cordon::kernel
