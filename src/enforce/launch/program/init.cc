#include "enforce/launch/program/init.h"

#include <cstdlib>

#include "enforce/launch/program/intake.h"
#include "enforce/launch/program/network.h"
#include "enforce/launch/program/target.h"
#include "enforce/launch/program/tree.h"
#include "enforce/launch/program/warden.h"
#include "kernel/process.h"
#include "plan/wire_compare.h"

namespace cordon::enforce::launch {

using kernel::Errno;

namespace {

using plan::wire::Op;

Sys<void> carry_out(Tree& tree, const View& plan, std::size_t index, Channel& control) {
  const Record record = plan.record(index);
  const char* target = plan.string(record.refs[0]);
  switch (record.op) {
    case Op::kBuildRoot:
      return build_root(tree, record);
    case Op::kMakeDirectory:
      return make_directory(tree, target, static_cast<mode_t>(record.args[0]));
    case Op::kMakeSymlink:
      return make_symlink(tree, target, plan.string(record.refs[1]));
    case Op::kMakeFile:
      return make_file(tree, target, plan.bytes(record.refs[1]), static_cast<mode_t>(record.args[0]));
    case Op::kBind:
      return bind(tree, plan, record);
    case Op::kMountProc:
      return mount_proc(tree, target);
    case Op::kMountDev:
      return mount_dev(tree, target, record.args[0]);
    case Op::kDevice:
      return mount_device(tree, target, record);
    case Op::kMountTmpfs:
      return mount_tmpfs(tree, target, record);
    case Op::kStub:
      // What says something is shown, and masked otherwise.
      if ((record.flags & plan::wire::kDot) != 0) return pin(tree, target, nullptr, kernel::kMountAttrRdonly);
      [[fallthrough]];
    case Op::kMask:
      return mask(tree, target, (record.flags & plan::wire::kDirectory) != 0);
    case Op::kPin:
      return pin(tree, target, plan.list(record.refs[1]).next(), attributes_of(record));
    case Op::kStubOverlay:
      return stub_overlay(tree, plan, index);
    case Op::kPrivateOverlay:
      return private_overlay(tree, plan, record);
    case Op::kEnterRoot:
      return enter_root(tree);
    case Op::kLoopback:
      return bring_up_loopback();
    case Op::kLocalNetwork:
      return local_network(record);
    case Op::kRedirect:
      return redirect(record);
    case Op::kListen:
      return listen(record, control);
    case Op::kSocketPool:
      return make_socket_pool(record, control);
    case Op::kAgentSocket:
      return make_agent_socket(tree, target, record, control);
    case Op::kStartWarden:
    case Op::kGrant:
    case Op::kPrivateDirectory:  // run_warden()
    case Op::kEnterNamespaces:   // done: that is where init comes from
    case Op::kCgroup:            // made by the supervisor
    case Op::kResourceLimit:     // the rest is the target's, see target.cc
    case Op::kRunAs:
    case Op::kDropPrivileges:
    case Op::kLandlock:
    case Op::kLandlockRule:
    case Op::kFilter:
    case Op::kExecute:
      return {};
  }
  return base::fail(Errno{ENOSYS, "step"});
}

void build(Tree& tree, const View& plan, std::size_t first, Channel& control) {
  for (std::size_t i = first; i < plan.size(); ++i) {
    if (auto done = carry_out(tree, plan, i, control); !done) control.fail_step(plan.record(i).step, done.error());
  }
}

/// The table of our own mounts, as they are seen from the new root: what of them the host detaches, the supervisor
/// sees.
Sys<void> show_mounts(const Tree& tree, Channel& control) {
  CORDON_TRY(const Fd mounts, kernel::openat(tree.self, "mountinfo", O_RDONLY));
  return control.send({.kind = Kind::kMounts}, mounts);
}

/// After the time limit, which is the supervisor's to keep: it asks the target to end, and kills the run two seconds
/// later. Where it cannot (a target had it stopped, a reader stalled it), init is not stopped.
constexpr std::uint64_t kPatienceMs = 5'000;

/// When init ends the run by itself; never where there is no limit.
std::uint64_t deadline_after(std::uint64_t limit_ms) {
  if (limit_ms == 0) return UINT64_MAX;
  return kernel::monotonic_ns() + (limit_ms + kPatienceMs) * 1'000'000;
}

timespec until(std::uint64_t deadline_ns) {
  const std::uint64_t now = kernel::monotonic_ns();
  const std::uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
  return {.tv_sec = static_cast<time_t>(left / 1'000'000'000), .tv_nsec = static_cast<long>(left % 1'000'000'000)};
}

/// Empty: its being there is what makes SIGCHLD interrupt ppoll.
void wake(int) {}

/// What init will rest on once the target is there, and what then has nobody to be told of: tried while it has.
Sys<void> try_out_watching() {
  int status = 0;
  auto nobody = kernel::wait_any(status, WNOHANG | __WALL);
  if (!nobody && nobody.error().code != ECHILD) return base::fail(nobody.error());
  sigset_t none;
  ::sigemptyset(&none);
  constexpr timespec kNow{};
  CORDON_TRY([[maybe_unused]] const int ready, kernel::ppoll({}, none, &kNow));
  return {};
}

Sys<void> prepare() {
  ::umask(0);  // modes of the plan are meant as they are
  CORDON_OK(kernel::prctl(PR_SET_DUMPABLE, 0));
  CORDON_OK(kernel::prctl(PR_SET_NAME, reinterpret_cast<unsigned long>("cordon-init")));
  sigset_t all;
  ::sigfillset(&all);
  CORDON_OK(kernel::sigprocmask(SIG_BLOCK, all));
  CORDON_OK(kernel::handle_signal(SIGCHLD, wake));
  return try_out_watching();
}

/// Builds what came as the plan's beginning, and gets the plan.
Plan build_beginning(Tree& tree, const View& opening, const Plan& beginning, Channel& control) {
  tree.keeps = true;
  build(tree, beginning.view, 1, control);
  tree.keeps = false;
  const Plan plan = take_plan(opening, control);
  if (plan.kind != Kind::kPlan || !plan::wire::begins_with(plan.view, beginning.view)) control.refuse_plan("beginning");
  return plan;
}

/// What the target could use if it ever got hold of init.
Sys<void> disarm(std::span<const std::byte> plan) {
  CORDON_OK(kernel::prctl(PR_SET_NO_NEW_PRIVS, 1));
  CORDON_OK(kernel::capset({}));
  ::munmap(const_cast<std::byte*>(plan.data()), plan.size());  // the environment's values are in it
  CORDON_OK(kernel::close_range(0, kLifeFd - 1, 0));
  return kernel::close_range(kLifeFd + 1, ~0U, 0);
}

void tell(Kind kind, int code) {
  const Message message{.kind = kind, .code = code};
  // A failure means that the supervisor is gone, which the next ppoll says as well.
  static_cast<void>(kernel::send_message(FdView(kLifeFd), std::as_bytes(std::span(&message, 1))).has_value());
}

/// True once the target is gone.
bool reap(pid_t target) {
  bool gone = false;
  int status = 0;
  while (true) {
    auto pid = kernel::wait_any(status, WNOHANG | WUNTRACED | WCONTINUED | __WALL);
    if (!pid || *pid == 0) return gone;
    if (*pid != target) continue;
    if (WIFSTOPPED(status)) {
      tell(Kind::kTargetStopped, WSTOPSIG(status));
    } else if (WIFCONTINUED(status)) {
      tell(Kind::kTargetContinued, 0);
    } else {
      tell(Kind::kTargetExited, status);
      gone = true;
    }
  }
}

void watch(pid_t target, std::uint64_t deadline_ns) {
  sigset_t all_but_child;
  ::sigfillset(&all_but_child);
  ::sigdelset(&all_but_child, SIGCHLD);
  while (!reap(target)) {
    // Nobody speaks to init: anything to read here is the end of the supervisor.
    pollfd life{.fd = kLifeFd, .events = POLLIN, .revents = 0};
    const timespec left = until(deadline_ns);
    auto ready = kernel::ppoll({&life, 1}, all_but_child, deadline_ns == UINT64_MAX ? nullptr : &left);
    if (!ready && ready.error().code != EINTR) break;
    if (ready && *ready == 0) tell(Kind::kTimeLimit, 0);
    if (ready) return;
  }
}

Sys<void> grant(Tree& tree, const View& plan, const Record& record) {
  CORDON_TRY(const Fd object, open_source(plan, record));
  return add_landlock_rule(tree.ruleset, object, record.args[6]);
}

/// The landlock engine: nothing is built, what may be used is given its rule where it stands.
Sys<void> carry_out_on_host(Tree& tree, const View& plan, const Record& record, Warden& warden) {
  if (record.op == Op::kGrant) return grant(tree, plan, record);
  if (record.op == Op::kPrivateDirectory) return warden.make_private_directory(tree, plan, record);
  return {};
}

[[noreturn]] void run_warden(const View& opening, Channel& control, mode_t callers_umask) {
  const std::uint16_t born = opening.record(0).step;
  const Plan told = take_plan(opening, control);
  const View& plan = told.view;
  Tree tree;
  Warden warden;
  const auto must = [&](std::uint16_t step, const Sys<void>& done) {
    if (done) return;
    warden.remove_private_directory();
    control.fail_step(step, done.error());
  };
  must(born, warden.prepare(plan));
  const Found landlock = find(plan, Op::kLandlock);
  must(landlock.record.step, begin_ruleset(tree, landlock));
  for (std::size_t i = 1; i < plan.size(); ++i) {
    must(plan.record(i).step, carry_out_on_host(tree, plan, plan.record(i), warden));
  }
  kernel::CloneArgs args{.exit_signal = SIGCHLD};
  auto child = kernel::clone_process(args);
  if (child && *child == 0) {
    run_target({.plan = plan, .tree = tree, .control = control, .umask = callers_umask, .on_host = true});
  }
  if (!child) must(born, base::fail(child.error()));
  const std::uint64_t deadline_ns = deadline_after(plan.record(0).args[1]);
  if (auto done = warden.disarm(told.bytes); !done) {
    warden.end_run();
    control.fail_step(born, done.error());
  }
  watch(*child, deadline_ns);
  warden.end_run();
  std::_Exit(0);
}

}  // namespace

void run_init(const View& opening, FdView maps_written, mode_t callers_umask) {
  Channel control{FdView(kControlFd)};
  const std::uint16_t born = opening.record(0).step;
  std::byte go{};
  auto read = kernel::read(maps_written, {&go, 1});
  if (!read || *read != 1) std::_Exit(1);  // the outer launcher has said why
  if (auto done = prepare(); !done) control.fail_step(born, done.error());
  if (has_warden(opening)) run_warden(opening, control, callers_umask);
  Tree tree;
  begin(tree);
  Plan told = take_plan(opening, control);
  std::size_t built = 1;
  if (told.kind == Kind::kBeginning) {
    built = told.view.size();
    told = build_beginning(tree, opening, told, control);
  }
  const View& plan = told.view;
  const Found landlock = find(plan, Op::kLandlock);
  auto begun = begin_ruleset(tree, landlock);
  if (begun) begun = add_kept_rules(tree, plan);
  if (!begun) control.fail_step(landlock.record.step, begun.error());
  build(tree, plan, built, control);
  if (auto done = show_mounts(tree, control); !done) control.fail_step(born, done.error());
  kernel::CloneArgs args{.exit_signal = SIGCHLD};
  auto child = kernel::clone_process(args);
  if (!child) control.fail_step(born, child.error());
  if (*child == 0) run_target({.plan = plan, .tree = tree, .control = control, .umask = callers_umask});
  const std::uint64_t deadline_ns = deadline_after(plan.record(0).args[1]);
  if (auto done = disarm(told.bytes); !done) control.fail_step(born, done.error());
  watch(*child, deadline_ns);
  std::_Exit(0);
}

}  // namespace cordon::enforce::launch
