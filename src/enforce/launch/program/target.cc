#include "enforce/launch/program/target.h"

#include <cstdlib>

#include "enforce/launch/program/network.h"
#include "kernel/process.h"
#include "kernel/security.h"

namespace cordon::enforce::launch {

using kernel::Errno;
using plan::wire::Op;

namespace {

namespace wire = plan::wire;

/// For every record of `op`: `act`, or the step that failed and the end.
template <class Act>
void each(const Target& target, Op op, Act act) {
  for (std::size_t i = 0; i < target.plan.size(); ++i) {
    const Record record = target.plan.record(i);
    if (record.op != op) continue;
    if (auto done = act(record); !done) target.control.fail_step(record.step, done.error());
  }
}

void must(const Target& target, std::uint16_t step, Sys<void> done) {
  if (!done) target.control.fail_step(step, done.error());
}

/// The supervisor must know the process by a descriptor before it hears anything else of it.
Sys<void> introduce(Channel& control) {
  CORDON_TRY(const Fd self, kernel::pidfd_open(::getpid()));
  return control.send({.kind = Kind::kTargetStarted}, self);
}

Sys<void> lower_limit(const Record& record) {
  return kernel::setrlimit(static_cast<int>(record.args[0]), {.rlim_cur = record.args[1], .rlim_max = record.args[2]});
}

/// While there is CAP_SETPCAP: the bounding set emptied, so that no file can give a capability back, and uid 0 made an
/// ordinary id for good. Without a user namespace an ordinary caller has it not: then no_new_privs alone keeps execve
/// from giving any, to uid 0 as well (capabilities(7)).
Sys<void> renounce(const Target& target) {
  if (target.on_host && !may_renounce()) return kernel::prctl(kernel::kPrCapAmbient, kernel::kPrCapAmbientClearAll);
  for (unsigned long capability = 0; capability < 64; ++capability) {
    auto dropped = kernel::prctl(PR_CAPBSET_DROP, capability);
    if (!dropped && dropped.error().code != EINVAL) return dropped;
    if (!dropped) break;  // past the last capability of this kernel
  }
  CORDON_OK(kernel::prctl(kernel::kPrCapAmbient, kernel::kPrCapAmbientClearAll));
  return kernel::prctl(PR_SET_SECUREBITS, kSecurebits);
}

Sys<void> become(const Record& record) {
  CORDON_OK(kernel::setresgid(static_cast<gid_t>(record.args[1])));
  return kernel::setresuid(static_cast<uid_t>(record.args[0]));
}

/// What the caller of cordon blocked is not blocked in the target; spawn already gave the dispositions back.
Sys<void> restore_habits(const Target& target) {
  ::umask(target.umask);
  CORDON_OK(kernel::handle_signal(SIGCHLD, SIG_DFL));
  sigset_t none;
  ::sigemptyset(&none);
  return kernel::sigprocmask(SIG_SETMASK, none);
}

Sys<void> install(Channel& control, const View& plan, const Record& record) {
  auto flags = static_cast<unsigned>(record.args[0]);
  const bool notify = (record.flags & wire::kNotify) != 0;
  if (notify) flags |= kernel::kSeccompFilterNewListener;
  CORDON_TRY(const Fd listener, kernel::seccomp_set_filter(plan.bytes(record.refs[1]), flags));
  if (!notify) return {};
  return control.send({.kind = Kind::kListener, .step = record.step}, listener);
}

/// The notifying one last: from then on the supervisor is asked about calls that we make.
void install_filters(const Target& target) {
  for (const std::uint32_t notify : {0U, wire::kNotify}) {
    each(target, Op::kFilter, [&](const Record& record) -> Sys<void> {
      if ((record.flags & wire::kNotify) != notify) return {};
      return install(target.control, target.plan, record);
    });
  }
}

/// A memory device as a standard stream is taken from the private /dev, which is read-only: of the host's own node a
/// target that is uid 0 could change the mode, through /proc/self/fd, for everybody.
Sys<void> take_own_devices() {
  struct Memory {
    unsigned minor;
    const char* path;
  };
  constexpr std::array<Memory, 5> kMemory = {
      {{3, "/dev/null"}, {5, "/dev/zero"}, {7, "/dev/full"}, {8, "/dev/random"}, {9, "/dev/urandom"}}};
  for (int stream = 0; stream <= 2; ++stream) {
    const auto facts = kernel::statx(FdView(stream));
    if (!facts || !S_ISCHR(facts->stx_mode) || facts->stx_rdev_major != 1) continue;
    for (const Memory& device : kMemory) {
      if (device.minor != facts->stx_rdev_minor) continue;
      CORDON_TRY(const int flags, kernel::open_flags(FdView(stream)));
      CORDON_TRY(const Fd own, kernel::openat(kernel::kHere, device.path, flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)));
      CORDON_OK(kernel::done(::dup2(own.get(), stream) < 0 ? -1 : 0, "dup2"));
    }
  }
  return {};
}

/// The life socket above all: nobody but init may keep it open.
Sys<void> close_descriptors() {
  static_assert(kControlFd == 3);
  CORDON_OK(kernel::close_range(kControlFd + 1, ~0U, 0));
  return kernel::set_cloexec(FdView(kControlFd), true);
}

/// Pointers into the plan, which execve copies from. The only memory that this program asks for while it runs.
Sys<char**> pointers(wire::List list) {
  const std::size_t size = (list.count() + 1) * sizeof(char*);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return kernel::failed("mmap");
  auto** out = static_cast<char**>(memory);
  for (std::size_t i = 0; const char* text = list.next(); ++i) out[i] = const_cast<char*>(text);
  return out;
}

[[noreturn]] void execute(const Target& target, const Record& record, char** argv, char** environment) {
  for (const Op awaited : {Op::kCgroup, Op::kListen, Op::kSocketPool, Op::kAgentSocket}) {
    const Found found = find(target.plan, awaited);
    if (!found.there) continue;
    must(target, found.record.step, await_supervisor());
    break;  // it says so once
  }
  must(target, record.step, target.control.send({.kind = Kind::kReady}));
  auto failed = kernel::execve(target.plan.string(record.refs[0]), argv, environment);
  const int code = failed.error().code;
  static_cast<void>(target.control.send({.kind = Kind::kExecFailed, .step = record.step, .code = code}).has_value());
  std::_Exit(code == ENOENT ? 127 : 126);
}

}  // namespace

bool may_renounce() {
  const auto sets = kernel::capget();
  return sets && ((*sets)[0].effective & 1U << CAP_SETPCAP) != 0;
}

Found find(const View& plan, Op op) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Record record = plan.record(i);
    if (record.op == op) return {.record = record, .index = i, .there = true};
  }
  return {};
}

void run_target(const Target& target) {
  const View& plan = target.plan;
  const Record drop = find(plan, Op::kDropPrivileges).record;
  const Record execution = find(plan, Op::kExecute).record;
  const Found landlock = find(plan, Op::kLandlock);

  must(target, execution.step, introduce(target.control));
  must(target, execution.step, restore_habits(target));
  if (!target.on_host) verify_mounts(target);  // with the power to look everywhere; later nothing can change them

  if (const Found dev = find(plan, Op::kMountDev); dev.there) must(target, dev.record.step, take_own_devices());
  each(target, Op::kResourceLimit, lower_limit);
  if (landlock.there) {  // built while every path can be reached, in force when nothing is left to build
    must(target, landlock.record.step, finish_ruleset(target.tree, plan));
    must(target, landlock.record.step, open_unnamed(target));
  }
  must(target, drop.step, renounce(target));
  each(target, Op::kRunAs, become);
  must(target, drop.step, kernel::capset({}));
  must(target, drop.step, kernel::prctl(PR_SET_NO_NEW_PRIVS, 1));
  must(target, execution.step, kernel::chdir(plan.string(execution.refs[3])));
  if (landlock.there) must(target, landlock.record.step, kernel::landlock_restrict_self(target.tree.ruleset));

  auto argv = pointers(plan.list(execution.refs[1]));
  auto environment = pointers(plan.list(execution.refs[2]));
  if (!argv || !environment) target.control.fail_step(execution.step, {ENOMEM, "mmap"});

  target.on_host ? verify_on_host(target) : verify_confined(target);
  must(target, execution.step, close_descriptors());
  verify_descriptors(target);
  target.control.must_have_held();
  install_filters(target);
  verify_filtered(target);
  target.control.must_have_held();
  execute(target, execution, *argv, *environment);
}

}  // namespace cordon::enforce::launch
