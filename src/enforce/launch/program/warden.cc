#include "enforce/launch/program/warden.h"

#include <dirent.h>
#include <sys/mman.h>

#include <charconv>
#include <csignal>

#include "enforce/launch/program/target.h"
#include "kernel/inode.h"
#include "kernel/process.h"
#include "kernel/security.h"
#include "kernel/short_text.h"
#include "kernel/terminal.h"

namespace cordon::enforce::launch {

using kernel::Errno;
using plan::wire::Op;

namespace {

namespace wire = plan::wire;

constexpr int kParentFd = kLifeFd + 1;

/// SIGKILL to every child. None can have been reaped meanwhile, so each number is its own.
void kill_children() {
  const auto file = kernel::openat(kernel::kHere, "/proc/thread-self/children", O_RDONLY);
  if (!file) return;
  std::array<char, 4096> text;
  std::size_t kept = 0;  // of a number that the last piece ended in
  while (true) {
    const auto got = kernel::read(*file, std::as_writable_bytes(std::span(text).subspan(kept)));
    if (!got || *got == 0) return;
    const char* const end = text.data() + kept + *got;
    const char* at = text.data();
    while (true) {
      while (at != end && *at == ' ') ++at;
      pid_t pid = 0;
      const auto number = std::from_chars(at, end, pid);
      if (number.ptr == end || number.ec != std::errc()) break;
      static_cast<void>(kernel::kill(pid, SIGKILL).has_value());
      at = number.ptr;
    }
    kept = static_cast<std::size_t>(end - at);
    if (kept >= text.size()) return;
    std::memmove(text.data(), at, kept);
  }
}

/// Waits for one child, and reaps all that are dead by then. False where there is none.
bool reap_some() {
  int status = 0;
  auto pid = kernel::wait_any(status, __WALL);
  if (!pid) return pid.error().code == EINTR;
  while (pid && *pid > 0) pid = kernel::wait_any(status, WNOHANG | __WALL);
  return true;
}

/// A directory of what the target left, with whatever modes it has.
Sys<Fd> open_left(FdView directory, const char* name) {
  constexpr int kFlags = O_DIRECTORY | O_NOFOLLOW;
  {
    CORDON_TRY(const Fd shut, kernel::openat(directory, name, O_PATH | kFlags));
    CORDON_OK(kernel::chmod_object(shut, 0700));
  }
  return kernel::openat(directory, name, O_RDONLY | kFlags);
}

/// Calls `act(name)` for what `directory` holds, less "." and "..". True where any of the calls did something.
template <class Act>
bool each_entry(FdView directory, Act act) {
  bool any = false;
  const auto again = kernel::openat(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!again) return false;
  alignas(dirent64) std::array<std::byte, 8192> block;
  while (true) {
    const auto size = kernel::getdents64(*again, block);
    if (!size || *size == 0) return any;
    for (std::size_t at = 0; at < *size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(block.data() + at);
      at += entry->d_reclen;
      if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
      any = act(entry->d_name) || any;
    }
  }
}

/// Removes what `top` holds. No depth is too deep for it: a directory in a directory is moved up before it is emptied.
void empty(FdView top) {
  std::uint64_t serial = 0;
  const auto move_up = [&](FdView from, const char* name) {
    if (!open_left(from, name)) return false;  // one that cannot be written cannot be moved
    for (int tries = 0; tries < 1024; ++tries) {
      const auto to = kernel::ShortText().add("cordon-").number(serial++);
      constexpr unsigned kNoReplace = 1;
      const auto moved = kernel::renameat2(from, name, top, to.c_str(), kNoReplace);
      if (moved || moved.error().code != EEXIST) return moved.has_value();
    }
    return false;
  };
  const auto remove_top = [&](const char* name) {
    if (kernel::unlinkat(top, name, 0)) return true;
    const auto directory = open_left(top, name);
    if (!directory) return false;
    bool any = false;
    while (each_entry(*directory, [&](const char* inner) {
      return kernel::unlinkat(*directory, inner, 0) || kernel::unlinkat(*directory, inner, AT_REMOVEDIR) ||
             move_up(*directory, inner);
    })) {
      any = true;
    }
    return kernel::unlinkat(top, name, AT_REMOVEDIR).has_value() || any;
  };
  while (each_entry(top, remove_top)) {
  }
}

/// Signals stay in a domain around the target's, so that what is left can be killed by one call. Every domain denies
/// renames and links between directories that it does not say otherwise of: this one allows them all.
Sys<void> scope_signals(const Record& landlock) {
  const kernel::LandlockRulesetAttr attributes{.handled_access_fs = kernel::kLandlockRefer,
                                               .scoped = kernel::kLandlockScopeSignal};
  CORDON_TRY(const Fd ruleset, kernel::landlock_create_ruleset(attributes, static_cast<int>(landlock.args[2])));
  CORDON_TRY(const Fd root, kernel::openat(kernel::kHere, "/", O_PATH | O_DIRECTORY));
  CORDON_OK(kernel::landlock_add_path(ruleset, root, kernel::kLandlockRefer));
  return kernel::landlock_restrict_self(ruleset);
}

}  // namespace

bool has_warden(const View& opening_or_plan) { return opening_or_plan.record(0).op == Op::kStartWarden; }

Sys<void> Warden::prepare(const View& plan) {
  const Found landlock = find(plan, Op::kLandlock);
  scoped_ = (landlock.record.args[1] & kernel::kLandlockScopeSignal) != 0;
  const Found run_as = find(plan, Op::kRunAs);
  other_ids_ = run_as.there;
  uid_ = static_cast<uid_t>(run_as.record.args[0]);
  gid_ = static_cast<gid_t>(run_as.record.args[1]);
  CORDON_OK(kernel::prctl(PR_SET_CHILD_SUBREAPER, 1));
  if (!scoped_) return {};
  CORDON_OK(kernel::prctl(PR_SET_NO_NEW_PRIVS, 1));
  return scope_signals(landlock.record);
}

Sys<void> Warden::make_private_directory(Tree& tree, const View& plan, const Record& record) {
  const char* const name = std::strrchr(plan.string(record.refs[0]), '/') + 1;
  CORDON_TRY(Fd parent, open_source(plan, record));
  CORDON_OK(kernel::mkdirat(parent, name, 0700));
  parent_ = std::move(parent);
  std::strcpy(name_.data(), name);  // the decoder has seen how long a name can be
  CORDON_TRY(const Fd own, kernel::openat(parent_, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  const bool given = (record.flags & wire::kCreateUid) != 0;
  const auto give = [&](FdView object) -> Sys<void> {
    if (!given) return {};
    return kernel::fchown(object, static_cast<uid_t>(record.args[4]), static_cast<gid_t>(record.args[5]));
  };
  for (const char* inner : {"home", "tmp"}) {
    CORDON_OK(kernel::mkdirat(own, inner, 0700));
    CORDON_TRY(const Fd directory, kernel::openat(own, inner, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    CORDON_OK(give(directory));
    CORDON_OK(add_landlock_rule(tree.ruleset, directory, record.args[6]));
  }
  CORDON_TRY(const Fd unnamed, kernel::openat(own, kUnnamed, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  CORDON_OK(give(unnamed));
  return give(own);
}

Sys<void> Warden::disarm(std::span<const std::byte> plan) {
  // Out of the caller's process group, in which the target stays: who kills that as a whole must not kill the warden.
  CORDON_OK(kernel::done(::setsid() < 0 ? -1 : 0, "setsid"));
  CORDON_OK(kernel::prctl(PR_SET_NO_NEW_PRIVS, 1));
  kernel::CapabilitySets kept{};
  if (other_ids_) {  // what is to be ended, and removed, is somebody else's
    kept[0].permitted = kept[0].effective = 1U << CAP_KILL | 1U << CAP_SETUID | 1U << CAP_SETGID;
  }
  CORDON_OK(kernel::capset(kept));
  ::munmap(const_cast<std::byte*>(plan.data()), plan.size());
  CORDON_OK(kernel::close_range(0, kLifeFd - 1, 0));
  if (parent_.get() != kParentFd) {
    CORDON_OK(kernel::done(::dup2(parent_.get(), kParentFd) < 0 ? -1 : 0, "dup2"));
    parent_ = Fd(kParentFd);
  }
  return kernel::close_range(kParentFd + 1, ~0U, 0);
}

void Warden::kill_all() const {
  if (scoped_) static_cast<void>(kernel::kill(-1, SIGKILL).has_value());
  kill_children();
}

void Warden::end_run() const {
  do {
    kill_all();
  } while (reap_some());
  remove_private_directory();
}

void Warden::remove_private_directory() const {
  if (name_[0] == '\0') return;
  if (other_ids_ && (!kernel::setresgid(gid_) || !kernel::setresuid(uid_))) return;
  if (const auto own = open_left(parent_, name_.data())) empty(*own);
  static_cast<void>(kernel::unlinkat(parent_, name_.data(), AT_REMOVEDIR).has_value());
}

}  // namespace cordon::enforce::launch
