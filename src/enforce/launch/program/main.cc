// cordon-launch: carries out a Plan. The trusted core.
//
// Started by start() with three descriptors (protocol.h) and nothing else: no arguments, no environment. This file is
// the outer launcher, in the host's namespaces: it checks the plan, lets init be born as the *supervisor's* child
// (CLONE_PARENT) in new namespaces, writes init's id maps, which only somebody outside can, says init's pid, and is
// gone. Init (init.cc) builds the root and reaps; the target's child (target.cc) gives up its powers and becomes the
// target.
//
// Rules of this program: libc only, static; no exceptions, no locks, no allocator; every failure names its step and
// ends it; what it cannot do it does not skip. It sees a Plan and nothing of a policy.
#include <cstdlib>

#include "cordon_build_id.h"
#include "enforce/launch/program/channel.h"
#include "enforce/launch/program/init.h"
#include "kernel/process.h"
#include "kernel/short_text.h"

namespace cordon::enforce::launch {
namespace {

namespace wire = plan::wire;
using kernel::Errno;
using kernel::Fd;
using kernel::FdView;
using kernel::Sys;
using wire::Record;
using wire::View;

/// The plan's bytes. Nobody may change them once they were checked, hence the seals.
Sys<std::span<const std::byte>> map_plan() {
  const FdView memory(kPlanFd);
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  CORDON_TRY(const int seals, kernel::get_seals(memory));
  if ((seals & kSeals) != kSeals) return base::fail(Errno{EPERM, "fcntl(F_GET_SEALS)"});
  CORDON_TRY(auto facts, kernel::statx(memory));
  const auto size = static_cast<std::size_t>(facts.stx_size);
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, kPlanFd, 0);
  if (bytes == MAP_FAILED) return kernel::failed("mmap");
  return std::span(static_cast<const std::byte*>(bytes), size);
}

View take_plan(std::span<const std::byte> bytes, Channel& control) {
  wire::BuildId ours{};
  static_assert(sizeof(CORDON_BUILD_ID) == ours.size() + 1);
  std::memcpy(ours.data(), CORDON_BUILD_ID, ours.size());
  // Another build's plan may have another layout: the id is looked at before anything else of it is.
  wire::Header header;
  if (bytes.size() < sizeof header) control.refuse_plan("size");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != wire::kMagic || header.build_id != ours) control.refuse_plan(kOtherBuild);
  auto view = View::decode(bytes);
  if (!view) control.refuse_plan(wire::fault_name(view.error().fault), view.error().step);
  return *view;
}

Sys<void> write_file(pid_t init, const char* name, std::span<const std::byte> content) {
  const kernel::ShortText path =
      kernel::ShortText().add("/proc/").number(static_cast<std::uint64_t>(init)).add("/").add(name);
  CORDON_TRY(const Fd file, kernel::openat(kernel::kHere, path.c_str(), O_WRONLY));
  CORDON_TRY(const std::size_t written, kernel::write(file, content));  // a map is taken whole or not at all
  if (written != content.size()) return base::fail(Errno{EIO, "write"});
  return {};
}

/// Only a process outside may write a map of more than one id; "deny" must come before an unprivileged gid_map.
Sys<void> write_maps(const View& plan, const Record& enter, pid_t init) {
  if ((enter.flags & wire::kDenySetgroups) != 0) {
    CORDON_OK(write_file(init, "setgroups", std::as_bytes(std::span("deny", 4))));
  }
  CORDON_OK(write_file(init, "gid_map", plan.bytes(enter.refs[1])));
  return write_file(init, "uid_map", plan.bytes(enter.refs[0]));
}

Sys<void> set_groups(const View& plan, const Record& enter) {
  if ((enter.flags & wire::kSetGroups) == 0) return {};
  constexpr std::size_t kMost = 1024;
  std::array<gid_t, kMost> groups{};
  const auto bytes = plan.bytes(enter.refs[2]);
  if (bytes.size() > sizeof groups) return base::fail(Errno{E2BIG, "setgroups"});
  std::memcpy(groups.data(), bytes.data(), bytes.size());
  return kernel::setgroups(std::span(groups).first(bytes.size() / sizeof(gid_t)));
}

/// Init's exit signal is the launcher's own (SIGCHLD): with CLONE_PARENT none may be given.
Sys<void> give_birth(const View& plan, std::span<const std::byte> bytes, mode_t callers_umask, Channel& control) {
  const Record enter = plan.record(0);
  CORDON_OK(set_groups(plan, enter));
  CORDON_TRY(kernel::Pipe maps, kernel::pipe());
  int pidfd = -1;
  kernel::CloneArgs args{.flags = enter.args[0] | kernel::kCloneParent | kernel::kClonePidfd,
                         .pidfd = reinterpret_cast<std::uint64_t>(&pidfd)};
  CORDON_TRY(const pid_t init, kernel::clone3(args));
  if (init == 0) {
    maps.write_end.reset();  // or the end of the outer launcher would not be seen
    run_init(plan, bytes, maps.read_end, callers_umask);
  }
  {
    const Fd owner(pidfd);  // told first: whatever fails from here on, the supervisor knows whom to reap
    CORDON_OK(control.send({.kind = Kind::kInitStarted, .value = static_cast<std::uint64_t>(init)}, owner));
  }
  CORDON_OK(write_maps(plan, enter, init));
  constexpr std::byte kGo{1};
  return kernel::write_all(maps.write_end, {&kGo, 1});  // where it is not written init sees the end, and follows
}

int launch() {
  const mode_t callers_umask = ::umask(077);
  Channel control{FdView(kControlFd)};
  if (auto closed = kernel::close_range(kLifeFd + 1, ~0U, 0); !closed) control.fail_step(0, closed.error());
  auto bytes = map_plan();
  if (!bytes) control.fail_step(0, bytes.error());
  const View plan = take_plan(*bytes, control);
  auto born = give_birth(plan, *bytes, callers_umask, control);
  if (!born) control.fail_step(plan.record(0).step, born.error());
  return 0;
}

}  // namespace
}  // namespace cordon::enforce::launch

int main() { return cordon::enforce::launch::launch(); }
