// Applied is not verified, in the landlock engine: the host's own file system, processes and network are there, and
// must be out of reach.
#include "enforce/launch/program/target.h"
#include "enforce/launch/program/warden.h"
#include "kernel/net.h"
#include "kernel/process.h"
#include "kernel/security.h"
#include "kernel/terminal.h"

namespace cordon::enforce::launch {

using plan::wire::Op;

namespace {

/// The warden's memory: it was forked from this program, so the page is there.
Sys<std::size_t> read_wardens_memory() {
  char byte = 0;
  const iovec remote{.iov_base = &byte, .iov_len = 1};
  std::array<std::byte, 1> into{};
  return kernel::read_memory(::getppid(), {&remote, 1}, into);
}

/// A port of the loopback, whichever is free.
Sys<void> bind_a_port() {
  CORDON_TRY(const Fd socket, kernel::stream_socket(AF_INET));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return kernel::done(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), "bind");
}

}  // namespace

Sys<void> open_unnamed_on_host(const Target& target, int flags) {
  const Found place = find(target.plan, Op::kPrivateDirectory);
  if (!place.there) return base::fail(kernel::Errno{ENOENT, "openat"});
  CORDON_TRY(const Fd directory, kernel::openat(kernel::kHere, target.plan.string(place.record.refs[0]),
                                                O_PATH | O_DIRECTORY | O_NOFOLLOW));
  CORDON_TRY(const Fd file, kernel::openat(directory, kUnnamed, flags | O_NOFOLLOW));
  return {};
}

void verify_on_host(const Target& target) {
  verify_privileges(target);
  const Record landlock = find(target.plan, Op::kLandlock).record;
  // Both succeeded before, as the same user.
  must_fail(target, Check::kLandlock, landlock.step, open_unnamed_on_host(target, O_RDONLY), {EACCES});
  must_fail(target, Check::kLandlock, landlock.step, open_unnamed_on_host(target, O_WRONLY), {EACCES});
  must_fail(target, Check::kInitProtected, landlock.step, read_wardens_memory(), {EPERM, EACCES});
  if (scopes_signals(landlock)) {
    must_fail(target, Check::kSignalsScoped, landlock.step, kernel::kill(::getppid(), 0), {EPERM});
  }
  if (landlock.args[3] != 0) {
    must_fail(target, Check::kNetworkClosed, landlock.step, bind_a_port(), {EACCES, EAFNOSUPPORT});
  }
}

void verify_host_reach(const Target& target, std::uint16_t step) {
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK}) {
    must_fail(target, Check::kNetworkClosed, step, kernel::stream_socket(family), {EAFNOSUPPORT});
  }
  must_fail(target, Check::kInitProtected, step, read_wardens_memory(), {EPERM});
  const Record landlock = find(target.plan, Op::kLandlock).record;
  if (!scopes_signals(landlock)) {
    must_fail(target, Check::kSignalsScoped, step, kernel::kill(::getppid(), 0), {EPERM});
  }
}

}  // namespace cordon::enforce::launch
