// Applied is not verified: what must now fail is tried, what must now hold is looked at.
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <cstdlib>

#include "enforce/launch/program/network.h"
#include "enforce/launch/program/target.h"
#include "kernel/process.h"
#include "kernel/security.h"
#include "kernel/terminal.h"

namespace cordon::enforce::launch {

using kernel::Errno;
using plan::wire::Op;

namespace {

namespace wire = plan::wire;

/// A stub that says something: pinned read-only, where the others are masked.
bool is_dot(const Record& record) { return record.op == Op::kStub && (record.flags & wire::kDot) != 0; }

/// statfs(2)'s flags that an object mounted by this record must have, and must not.
bool has_flags(const Record& record, std::uint64_t seen) {
  const auto has = [&](std::uint64_t flag) { return (seen & flag) != 0; };
  const auto wants = [&](std::uint32_t flag) { return (record.flags & flag) != 0; };
  // A write grant that came out read-only is no danger, but it is not what was promised either. The others are
  // only ever added to what the host's own mount has.
  return (wants(wire::kReadOnly) || is_dot(record)) == has(ST_RDONLY) && (!wants(wire::kNosuid) || has(ST_NOSUID)) &&
         (!wants(wire::kNodev) || has(ST_NODEV)) && (!wants(wire::kNoexec) || has(ST_NOEXEC));
}

/// A later step mounted something else there.
bool is_covered(const View& plan, std::size_t index) {
  const Record record = plan.record(index);
  for (std::size_t i = index + 1; i < plan.size(); ++i) {
    const Record later = plan.record(i);
    const bool mounts = later.op == Op::kBind || later.op == Op::kMask || later.op == Op::kPin ||
                        later.op == Op::kMountTmpfs || later.op == Op::kMountProc || later.op == Op::kStubOverlay ||
                        later.op == Op::kPrivateOverlay;
    if (mounts && std::strcmp(plan.string(later.refs[0]), plan.string(record.refs[0])) == 0) return true;
  }
  return false;
}

struct Seen {
  bool held = false;
  int code = 0;
};

/// As planned, or out of reach below what a later step mounted.
Seen see_flags(const Target& target, const Record& record, std::size_t index) {
  auto facts = kernel::statfs(target.plan.string(record.refs[0]));
  constexpr std::int64_t kOverlayMagic = 0x794c7630;  // what is written must go to the upper layer
  const bool is_overlay = facts && static_cast<std::int64_t>(facts->f_type) == kOverlayMagic;
  const bool right = facts && has_flags(record, static_cast<std::uint64_t>(facts->f_flags)) &&
                     (record.op != Op::kPrivateOverlay || is_overlay) &&
                     (record.op != Op::kDevice || (facts->f_flags & ST_NODEV) == 0);
  return {.held = right || code_of(facts) == ENOENT || is_covered(target.plan, index), .code = code_of(facts)};
}

/// No later step may have covered a mask: what it hid would show again.
Seen see_mask(const Target& target, const Record& record, std::size_t) {
  auto facts = kernel::statx(kernel::kHere, target.plan.string(record.refs[0]), AT_SYMLINK_NOFOLLOW);
  const bool empty = facts && device_of(*facts) == target.tree.blank_device;
  return {.held = empty || code_of(facts) == ENOENT, .code = code_of(facts)};
}

/// One mark for all that hold, and one with its own step for each that does not.
template <class Chosen, class See>
void verify_each(const Target& target, Check check, Chosen chosen, See see) {
  bool all = true;
  for (std::size_t i = 0; i < target.plan.size(); ++i) {
    const Record record = target.plan.record(i);
    if (!chosen(record)) continue;
    const Seen seen = see(target, record, i);
    if (!seen.held) all = target.control.verified(check, record.step, false, seen.code);
  }
  const std::uint16_t step = find(target.plan, Op::kEnterRoot).record.step;
  if (all) target.control.verified(check, step, true, 0);
}

void verify_root(const Target& target) {
  const std::uint16_t step = find(target.plan, Op::kEnterRoot).record.step;
  must_fail(target, Check::kRootReadOnly, step, kernel::mkdirat(kernel::kHere, "/cordon-probe", 0700), {EROFS});
  auto root = kernel::statx(kernel::kHere, "/", 0);
  auto above = kernel::statx(kernel::kHere, "/..", 0);
  const bool ours = root && above && device_of(*root) == target.tree.own_devices[0] &&
                    device_of(*root) != target.tree.host_device && root->stx_ino == above->stx_ino &&
                    device_of(*above) == device_of(*root);
  target.control.verified(Check::kHostRootGone, step, ours, code_of(root));
}

void verify_proc(const Target& target) {
  const Found proc = find(target.plan, Op::kMountProc);
  if (!proc.there) return;
  std::array<char, 4> self{};  // its own pid: this proc is of our pid namespace
  auto length = kernel::readlinkat(kernel::kHere, "/proc/self", self);
  target.control.verified(Check::kPidNamespace, proc.record.step, length && *length == 1 && self[0] == '2',
                          code_of(length));
  for (const char* path : {"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/1/oom_score_adj"}) {
    must_fail(target, Check::kProcHardened, proc.record.step, kernel::openat(kernel::kHere, path, O_WRONLY),
              {EROFS, EACCES, ENOENT});
  }
}

void verify_processes(const Target& target) {
  const std::uint16_t step = target.plan.record(0).step;
  target.control.verified(Check::kPidNamespace, step, ::getpid() == 2 && ::getppid() == 1, ::getpid());
  // All that one may see but init and oneself (kill(2)): there is nobody.
  must_fail(target, Check::kPidNamespace, step, kernel::kill(-1, 0), {ESRCH});
  char byte = 0;
  const iovec remote{.iov_base = &byte, .iov_len = 1};  // init has that page too: it was forked from this program
  std::array<std::byte, 1> into{};
  must_fail(target, Check::kInitProtected, step, kernel::read_memory(1, {&remote, 1}, into), {EPERM, EACCES});
}

/// Documentation addresses: where a route exists at all, it leads there; no packet is sent. Where the plan has a local
/// network, everything is local: what went elsewhere would have another source.
void verify_network(const Target& target) {
  const Record enter = target.plan.record(0);
  if ((enter.args[0] & CLONE_NEWNET) == 0) return;
  for (const int family : {AF_INET, AF_INET6}) {
    const auto source = source_to_nowhere(family);
    bool is_local = false;
    for (std::size_t i = 0; i < target.plan.size(); ++i) {
      const Record record = target.plan.record(i);
      if (record.op != Op::kLocalNetwork || record.args[0] != static_cast<std::uint64_t>(family)) continue;
      is_local = true;
      const bool held = source && *source == own_address(record);
      target.control.verified(Check::kNetNamespace, record.step, held, code_of(source));
    }
    if (is_local) continue;
    must_fail(target, Check::kNetNamespace, enter.step, source, {ENETUNREACH, EADDRNOTAVAIL, EAFNOSUPPORT});
  }
}

bool has_no_capability(bool renounced) {
  auto sets = kernel::capget();
  if (!sets) return false;
  for (const auto& set : *sets) {
    if ((set.effective | set.permitted | set.inheritable) != 0) return false;
  }
  if (!renounced) return true;
  for (unsigned long capability = 0; capability < 64; ++capability) {
    auto bound = kernel::prctl_get(PR_CAPBSET_READ, capability);
    if (!bound) return capability != 0;  // past the last one
    if (*bound != 0) return false;
  }
  return true;
}

/// As a loader maps a program's code. The file has no name.
Sys<void> map_what_was_written() {
  CORDON_TRY(const Fd file, kernel::openat(kernel::kHere, "/tmp", O_TMPFILE | O_RDWR));
  void* const code = ::mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  if (code == MAP_FAILED) return kernel::failed("mmap");
  ::munmap(code, 1);
  return {};
}

}  // namespace

bool scopes_signals(const Record& landlock) { return (landlock.args[1] & kernel::kLandlockScopeSignal) != 0; }

void verify_privileges(const Target& target) {
  const std::uint16_t step = find(target.plan, Op::kDropPrivileges).record.step;
  auto bits = kernel::prctl_get(PR_GET_SECUREBITS);
  const bool locked = bits && static_cast<unsigned long>(*bits) == kSecurebits;
  const bool renounced = !target.on_host || locked;  // without CAP_SETPCAP they cannot be, and nothing gives it back
  target.control.verified(Check::kNoCapabilities, step, has_no_capability(renounced) && (locked || !renounced),
                          code_of(bits));
  auto none = kernel::prctl_get(PR_GET_NO_NEW_PRIVS);
  target.control.verified(Check::kNoNewPrivileges, step, none && *none == 1, code_of(none));
  must_fail(target, Check::kMountRefused, step, kernel::mount("tmpfs", "/"), {EPERM});
}

Sys<void> open_unnamed(const Target& target) {
  if (target.on_host) return open_unnamed_on_host(target, O_RDONLY);
  CORDON_TRY(const Fd file, kernel::openat(target.tree.blank, "unnamed", O_RDONLY));
  return {};
}

void verify_mounts(const Target& target) {
  const auto has_attributes = [](const Record& record) {
    return record.op == Op::kBind || record.op == Op::kDevice || record.op == Op::kMountTmpfs ||
           record.op == Op::kStubOverlay || record.op == Op::kPrivateOverlay ||
           (record.op == Op::kPin && (record.flags & wire::kReadOnly) != 0) || is_dot(record);
  };
  verify_each(target, Check::kMountFlags, has_attributes, see_flags);
  const auto hides = [](const Record& record) {
    return record.op == Op::kMask || (record.op == Op::kStub && !is_dot(record));
  };
  verify_each(target, Check::kMasked, hides, see_mask);
}

void verify_confined(const Target& target) {
  verify_root(target);
  verify_proc(target);
  verify_processes(target);
  verify_network(target);
  verify_privileges(target);
  const Found landlock = find(target.plan, Op::kLandlock);
  if (landlock.there) {  // open_unnamed() succeeded before the ruleset was in force
    must_fail(target, Check::kLandlock, landlock.record.step, open_unnamed(target), {EACCES});
    // Init has our ids and stands outside of the domain: without a scope signal 0 would reach it.
    if (scopes_signals(landlock.record)) {
      must_fail(target, Check::kSignalsScoped, landlock.record.step, kernel::kill(1, 0), {EPERM});
    }
  }
}

/// All are closed but the control socket, which execve closes.
void verify_descriptors(const Target& target) {
  std::array<pollfd, 64> fds{};  // set-up never has that many open
  for (std::size_t i = 0; i < fds.size(); ++i) fds[i].fd = static_cast<int>(i);
  auto polled = kernel::poll(fds, 0);
  auto flags = kernel::descriptor_flags(FdView(kControlFd));
  bool held = polled && flags && (*flags & FD_CLOEXEC) != 0;
  for (const pollfd& one : std::span(fds).subspan(3)) {
    held = held && (one.fd == kControlFd || (one.revents & POLLNVAL) != 0);
  }
  const std::uint16_t step = find(target.plan, Op::kExecute).record.step;
  target.control.verified(Check::kDescriptorsClosed, step, held, code_of(flags));
}

void verify_group_signals(const Target& target, std::uint16_t step) {
  const Found landlock = find(target.plan, Op::kLandlock);
  if (landlock.there && scopes_signals(landlock.record)) return;
  must_fail(target, Check::kSignalsScoped, step, kernel::kill(0, 0), {EPERM});
}

void verify_filtered(const Target& target) {
  for (std::size_t i = 0; i < target.plan.size(); ++i) {
    const Record record = target.plan.record(i);
    if (record.op != Op::kFilter) continue;
    const bool only_watches = std::strcmp(target.plan.string(record.refs[0]), wire::kWatch) == 0 ||
                              std::strcmp(target.plan.string(record.refs[0]), wire::kAttributes) == 0;
    if ((record.flags & wire::kNotify) != 0 && !only_watches) {
      // The kernel alone would say EACCES of a directory: EPERM is the supervisor's answer.
      char* const none[] = {nullptr};
      must_fail(target, Check::kExecClosed, record.step, kernel::execve("/", none, none), {EPERM});
    } else if (std::strcmp(target.plan.string(record.refs[0]), wire::kExecList) == 0) {
      must_fail(target, Check::kExecListed, record.step, kernel::memfd_create("", 0), {EPERM});
      if (target.on_host) continue;  // no mount keeps that from it: the plan says so
      must_fail(target, Check::kExecListed, record.step, map_what_was_written(), {EPERM});
    } else if (std::strcmp(target.plan.string(record.refs[0]), wire::kHostReach) == 0) {
      verify_host_reach(target, record.step);
    } else if (std::strcmp(target.plan.string(record.refs[0]), wire::kSystemCalls) == 0) {
      // Nothing else would refuse it: a new user namespace is everybody's right.
      must_fail(target, Check::kSystemCallsFiltered, record.step, kernel::unshare(CLONE_NEWUSER), {EPERM});
      verify_group_signals(target, record.step);
    } else if (std::strcmp(target.plan.string(record.refs[0]), wire::kSystemCallsNested) == 0) {
      // A plan needs it for its mounts, so that the kernel knows the call.
      must_fail(target, Check::kSystemCallsFiltered, record.step, kernel::openat2(FdView(), "", {}), {ENOSYS});
      verify_group_signals(target, record.step);
    }
  }
}

}  // namespace cordon::enforce::launch
