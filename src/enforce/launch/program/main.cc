// cordon-launch: carries out a Plan. The trusted core.
//
// In plans of the landlock engine there are no namespaces: what is born is the warden (warden.h), who stands for init.
//
// Started by start() with two sockets (protocol.h) and nothing else: no arguments, no environment. This file is the
// outer launcher, in the host's namespaces: it takes the opening, lets init be born as the *supervisor's* child
// (CLONE_PARENT) in new namespaces, writes init's id maps, which only somebody outside can, says init's pid, and is
// gone. Init (init.cc) takes the plan, builds the root and reaps; the target's child (target.cc) gives up its powers
// and becomes the target.
//
// Rules of this program: libc only, static; no exceptions, no locks, no allocator; every failure names its step and
// ends it; what it cannot do it does not skip. It sees a Plan and nothing of a policy.
#include <cstdlib>

#include "enforce/launch/program/channel.h"
#include "enforce/launch/program/init.h"
#include "enforce/launch/program/intake.h"
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

Sys<void> write_file(pid_t init, const char* name, std::span<const std::byte> content) {
  const kernel::ShortText path =
      kernel::ShortText().add("/proc/").number(static_cast<std::uint64_t>(init)).add("/").add(name);
  CORDON_TRY(const Fd file, kernel::openat(kernel::kHere, path.c_str(), O_WRONLY));
  CORDON_TRY(const std::size_t written, kernel::write(file, content));  // a map is taken whole or not at all
  if (written != content.size()) return base::fail(Errno{EIO, "write"});
  return {};
}

/// Only a process outside may write a map of more than one id; "deny" must come before an unprivileged gid_map.
Sys<void> write_maps(const View& opening, const Record& enter, pid_t init) {
  if (enter.op == wire::Op::kStartWarden) return {};
  if ((enter.flags & wire::kDenySetgroups) != 0) {
    CORDON_OK(write_file(init, "setgroups", std::as_bytes(std::span("deny", 4))));
  }
  CORDON_OK(write_file(init, "gid_map", opening.bytes(enter.refs[1])));
  return write_file(init, "uid_map", opening.bytes(enter.refs[0]));
}

Sys<void> set_groups(const View& opening, const Record& enter) {
  if ((enter.flags & wire::kSetGroups) == 0) return {};
  constexpr std::size_t kMost = 1024;
  std::array<gid_t, kMost> groups{};
  const auto bytes = opening.bytes(enter.refs[2]);
  if (bytes.size() > sizeof groups) return base::fail(Errno{E2BIG, "setgroups"});
  std::memcpy(groups.data(), bytes.data(), bytes.size());
  return kernel::setgroups(std::span(groups).first(bytes.size() / sizeof(gid_t)));
}

/// Init's exit signal is the launcher's own (SIGCHLD): with CLONE_PARENT none may be given.
Sys<void> give_birth(const View& opening, mode_t callers_umask, Channel& control) {
  const Record enter = opening.record(0);
  CORDON_OK(set_groups(opening, enter));
  CORDON_TRY(kernel::Pipe maps, kernel::pipe());
  int pidfd = -1;
  kernel::CloneArgs args{.flags = enter.args[0] | kernel::kCloneParent | kernel::kClonePidfd,
                         .pidfd = reinterpret_cast<std::uint64_t>(&pidfd)};
  CORDON_TRY(const pid_t init, kernel::clone_process(args));
  if (init == 0) {
    maps.write_end.reset();  // or the end of the outer launcher would not be seen
    run_init(opening, maps.read_end, callers_umask);
  }
  {
    const Fd owner(pidfd);  // told first: whatever fails from here on, the supervisor knows whom to reap
    CORDON_OK(control.send({.kind = Kind::kInitStarted, .value = static_cast<std::uint64_t>(init)}, owner));
  }
  CORDON_OK(write_maps(opening, enter, init));
  constexpr std::byte kGo{1};
  return kernel::write_all(maps.write_end, {&kGo, 1});  // where it is not written init sees the end, and follows
}

int launch() {
  const mode_t callers_umask = ::umask(077);
  Channel control{FdView(kControlFd)};
  if (auto closed = kernel::close_range(kLifeFd + 1, ~0U, 0); !closed) control.fail_step(0, closed.error());
  std::array<std::byte, kMostOpening> opening_bytes;
  const View opening = take_opening(opening_bytes, control);
  auto born = give_birth(opening, callers_umask, control);
  if (!born) control.fail_step(opening.record(0).step, born.error());
  return 0;
}

}  // namespace
}  // namespace cordon::enforce::launch

int main() { return cordon::enforce::launch::launch(); }
