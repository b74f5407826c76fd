#include "confine/confine.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "kernel/file.h"
#include "kernel/net.h"
#include "kernel/process.h"
#include "kernel/security.h"

namespace cordon::confine {
namespace {

using kernel::Errno;
using kernel::Sys;

Sys<void> drop_privileges() {
  CORDON_OK(kernel::prctl(PR_SET_DUMPABLE, 0));  // first: from here on nobody of this user reads our memory
  CORDON_OK(kernel::prctl(PR_SET_NO_NEW_PRIVS, 1));
  // A mask of what is left to gain by exec; where it cannot be emptied there is nothing to empty it with.
  for (unsigned long capability = 0; kernel::prctl(PR_CAPBSET_DROP, capability); ++capability) {
  }
  CORDON_OK(kernel::prctl(kernel::kPrCapAmbient, kernel::kPrCapAmbientClearAll));
  return kernel::capset({});
}

Sys<void> limit(std::uint64_t most_memory) {
  CORDON_OK(kernel::setrlimit(RLIMIT_CORE, {0, 0}));
  CORDON_OK(kernel::setrlimit(RLIMIT_FSIZE, {0, 0}));
  CORDON_TRY(const rlimit64 memory, kernel::getrlimit(RLIMIT_DATA));
  const rlim64_t most = std::min<rlim64_t>(most_memory, memory.rlim_max);
  return kernel::setrlimit(RLIMIT_DATA, {most, most});
}

/// Everything that Landlock knows, and no rule. Answers the ABI; 0 where there is no Landlock.
Sys<std::uint32_t> enter_landlock() {
  const auto found = kernel::landlock_query(kernel::kLandlockCreateRulesetVersion);
  if (!found) return 0;
  const int abi = *found;
  kernel::LandlockRulesetAttr all{.handled_access_fs = (kernel::kLandlockMakeSym << 1) - 1};
  if (abi >= 2) all.handled_access_fs |= kernel::kLandlockRefer;
  if (abi >= 3) all.handled_access_fs |= kernel::kLandlockTruncate;
  if (abi >= 4) all.handled_access_net = kernel::kLandlockBindTcp;
  if (abi >= 5) all.handled_access_fs |= kernel::kLandlockIoctlDev;
  if (abi >= 6) all.scoped = kernel::kLandlockScopeAbstractUnix | kernel::kLandlockScopeSignal;
  CORDON_TRY(const kernel::Fd ruleset, kernel::landlock_create_ruleset(all, abi));
  CORDON_OK(kernel::landlock_restrict_self(ruleset));
  return static_cast<std::uint32_t>(abi);
}

template <class T>
bool is_refused(const Sys<T>& tried, int code) {
  return !tried && tried.error().code == code;
}

Sys<kernel::Fd> open_root() { return kernel::openat(kernel::kHere, "/", O_RDONLY | O_DIRECTORY); }

Sys<void> try_to_listen() {
  CORDON_TRY(const kernel::Fd socket, kernel::stream_socket(AF_INET));
  kernel::SocketAddress any = kernel::to_socket_address({AF_INET, {127, 0, 0, 1}, 0});
  return kernel::done(::bind(socket.get(), any.get(), any.size), "bind");
}

bool has_no_capability() {
  const auto sets = kernel::capget();
  return sets && std::ranges::all_of(*sets, [](const __user_cap_data_struct& one) {
           return one.effective == 0 && one.permitted == 0 && one.inheritable == 0;
         });
}

std::uint32_t look_at_privileges() {
  const auto flag = [](bool held, Check check) { return held ? static_cast<std::uint32_t>(check) : 0U; };
  const auto locked = kernel::prctl_get(PR_GET_NO_NEW_PRIVS);
  const auto dumpable = kernel::prctl_get(PR_GET_DUMPABLE);
  return flag(has_no_capability(), Check::kCapabilities) | flag(locked && *locked == 1, Check::kPrivileges) |
         flag(dumpable && *dumpable == 0, Check::kDumpable);
}

/// Each of these succeeds before the filter is in force, or fails with another errno.
std::uint32_t try_closed_calls() {
  const auto flag = [](bool held, Check check) { return held ? static_cast<std::uint32_t>(check) : 0U; };
  char* const none[] = {nullptr};
  kernel::CloneArgs args{.exit_signal = SIGCHLD};
  const auto child = kernel::clone3(args);
  if (child && *child == 0) ::_exit(0);
  return flag(is_refused(kernel::stream_socket(AF_UNIX), EPERM), Check::kUnixSocket) |
         flag(is_refused(open_root(), EPERM), Check::kOpen) |
         flag(is_refused(kernel::execve("/", none, none), EPERM), Check::kExec) |
         flag(is_refused(child, EPERM), Check::kProcesses) | flag(is_refused(try_to_listen(), EPERM), Check::kListen);
}

}  // namespace

Sys<Confined> confine(std::span<const sock_filter> filter, std::uint64_t most_memory) {
  Confined ready;
  CORDON_OK(drop_privileges());
  CORDON_OK(limit(most_memory));
  CORDON_OK(open_root());  // the control: what must fail later succeeds now
  CORDON_TRY(ready.landlock_abi, enter_landlock());
  std::uint32_t wanted = kAllChecks;
  if (ready.landlock_abi == 0) {
    wanted &= ~static_cast<std::uint32_t>(Check::kLandlock);
  } else if (is_refused(open_root(), EACCES)) {
    ready.checks |= static_cast<std::uint32_t>(Check::kLandlock);
  }
  ready.checks |= look_at_privileges();
  CORDON_TRY(const kernel::Fd unused, kernel::seccomp_set_filter(std::as_bytes(filter), 0));
  ready.checks |= try_closed_calls();
  if (ready.checks != wanted) return base::fail(Errno{EPERM, "verification"});
  return ready;
}

}  // namespace cordon::confine
