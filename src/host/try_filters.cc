// Landlock and seccomp: each is switched on in a child that then tries what must fail.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <array>
#include <span>

#include "host/attempt.h"
#include "host/in_child.h"
#include "kernel/file.h"
#include "kernel/process.h"
#include "kernel/security.h"
#include "kernel/system.h"

namespace cordon::host {
namespace {

using base::Fd;
using base::FdView;
using kernel::Errno;
using kernel::Sys;
using plan::Feature;

/// How long a notification may take to come; it comes at once or never.
constexpr int kNotificationMs = 2'000;

Sys<void> no_new_privileges() { return kernel::prctl(PR_SET_NO_NEW_PRIVS, 1); }

/// A filter that does `action` for uname(2) and allows everything else.
std::array<sock_filter, 4> uname_filter(std::uint32_t action) {
  const auto statement = [](unsigned code, std::uint32_t value) {
    return sock_filter{.code = static_cast<std::uint16_t>(code), .jt = 0, .jf = 0, .k = value};
  };
  return {{
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = 1, .k = SYS_uname},
      statement(BPF_RET | BPF_K, action),
      statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
}

Sys<Fd> install(std::uint32_t action, unsigned flags) {
  const auto program = uname_filter(action);
  return kernel::seccomp_set_filter(std::as_bytes(std::span(program)), flags);
}

/// Allows executing below / and nothing else that is handled: listing / must then be refused.
Sys<void> restrict_with_landlock() {
  CORDON_TRY(const int abi, kernel::landlock_query(kernel::kLandlockCreateRulesetVersion));
  kernel::LandlockRulesetAttr attributes;
  attributes.handled_access_fs = kernel::kLandlockExecute | kernel::kLandlockReadDir;
  CORDON_TRY(const Fd ruleset, kernel::landlock_create_ruleset(attributes, abi));
  CORDON_TRY(const Fd root, kernel::openat(kernel::kHere, "/", O_PATH | O_DIRECTORY));
  CORDON_OK(kernel::landlock_add_path(ruleset, root, kernel::kLandlockExecute));
  CORDON_OK(no_new_privileges());
  CORDON_OK(kernel::landlock_restrict_self(ruleset));
  const auto listing = kernel::openat(kernel::kHere, "/", O_RDONLY | O_DIRECTORY);
  if (listing) return base::fail(Errno{0, "open / behind a ruleset without it"});
  return {};
}

Sys<void> restrict_with_seccomp() {
  CORDON_OK(no_new_privileges());
  CORDON_TRY(const Fd none, install(SECCOMP_RET_ERRNO | ENOTNAM, 0));
  const auto name = kernel::uname();
  if (name || name.error().code != ENOTNAM) return base::fail(Errno{0, "uname behind a filter that refuses it"});
  return {};
}

/// Behind the listener: the first uname(2) must be answered by it, the second be let through.
int be_notified() {
  const auto first = kernel::uname();
  if (first || first.error().code != ENOTNAM) return kNotHeld;
  return kernel::uname() ? kHeld : kNotHeld;
}

Sys<void> answer_one(FdView listener, const seccomp_notif_resp& with) {
  std::array<pollfd, 1> ready{{{.fd = listener.get(), .events = POLLIN, .revents = 0}}};
  CORDON_TRY(const int count, kernel::poll(ready, kNotificationMs));
  if (count == 0) return base::fail(Errno{ETIMEDOUT, "poll(listener)"});
  seccomp_notif notification{};
  CORDON_OK(kernel::notification_receive(listener, notification));
  seccomp_notif_resp answer = with;
  answer.id = notification.id;
  return kernel::notification_send(listener, answer);
}

Sys<void> serve_notifications(FdView listener) {
  CORDON_TRY(const pid_t pid, kernel::fork());
  if (pid == 0) {
    (void)kernel::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(be_notified());
  }
  CORDON_OK(answer_one(listener, {.id = 0, .val = 0, .error = -ENOTNAM, .flags = 0}));
  CORDON_OK(answer_one(listener, {.id = 0, .val = 0, .error = 0, .flags = kernel::kSeccompUserNotifContinue}));
  CORDON_TRY(const siginfo_t end, kernel::waitid(P_PID, static_cast<id_t>(pid), WEXITED));
  if (!exited_with(end, kHeld)) return base::fail(Errno{0, "answering a notification"});
  return {};
}

/// A process tree has one listener at most, so all that concerns it is tried with one.
void try_notifications(FeatureSet wanted, const Reporter& out) {
  Sys<void> set_up = no_new_privileges();
  constexpr unsigned kFlags = kernel::kSeccompFilterNewListener;
  auto listener = install(kernel::kSeccompRetUserNotif, kFlags | kernel::kSeccompFilterWaitKillableRecv);
  Sys<void> killable;
  if (!listener && listener.error().code == EINVAL) {
    killable = base::fail(Errno{EINVAL, "seccomp(WAIT_KILLABLE_RECV)"});
    listener = install(kernel::kSeccompRetUserNotif, kFlags);
  }
  Sys<void> wakes;
  if (!listener) {
    set_up = base::fail(Errno{listener.error().code, "seccomp(NEW_LISTENER)"});
    killable = wakes = set_up;
  } else {
    wakes = kernel::notification_set_flags(*listener, kernel::kSeccompUserNotifSyncWakeUp);
    set_up = serve_notifications(*listener);
  }
  if (wanted.has(Feature::kUserNotification)) out.tell(Feature::kUserNotification, set_up);
  if (wanted.has(Feature::kNotificationKillable)) out.tell(Feature::kNotificationKillable, killable);
  if (wanted.has(Feature::kNotificationSyncWakeup)) out.tell(Feature::kNotificationSyncWakeup, wakes);
}

}  // namespace

void try_filters(FeatureSet wanted, const Reporter& out) {
  if (wanted.has(Feature::kLandlock)) {
    (void)in_child([&] {
      out.tell(Feature::kLandlock, restrict_with_landlock());
      return 0;
    });
  }
  if (wanted.has(Feature::kSeccompFilter)) {
    (void)in_child([&] {
      out.tell(Feature::kSeccompFilter, restrict_with_seccomp());
      return 0;
    });
  }
  if (wanted.has(Feature::kUserNotification) || wanted.has(Feature::kNotificationKillable) ||
      wanted.has(Feature::kNotificationSyncWakeup)) {
    (void)in_child([&] {
      try_notifications(wanted, out);
      return 0;
    });
  }
}

}  // namespace cordon::host
