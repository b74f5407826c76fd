#include "egress/program/filter.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cstdint>

#include "confine/filter_program.h"

namespace cordon::egress {
namespace {

using confine::FilterProgram;
using confine::kAllow;
using confine::kRefuse;

// Whatever their arguments: they act on descriptors that are there, on memory, and on time.
constexpr auto kPlain = std::to_array<long>({
    SYS_read,         SYS_write,
    SYS_close,        SYS_recvfrom,
    SYS_recvmsg,      SYS_sendto,
    SYS_sendmsg,      SYS_accept4,
    SYS_connect,      SYS_shutdown,
    SYS_getsockname,  SYS_getsockopt,
    SYS_setsockopt,   SYS_splice,
    SYS_pipe2,        SYS_epoll_pwait,
    SYS_epoll_ctl,    SYS_ppoll,
    SYS_munmap,       SYS_brk,
    SYS_madvise,      SYS_clock_gettime,
    SYS_exit_group,   SYS_exit,
    SYS_rt_sigreturn, SYS_restart_syscall,
    SYS_getpid,       SYS_futex,
    SYS_getrandom,
#if defined(__x86_64__)
    SYS_epoll_wait,   SYS_poll,
#endif
});

/// TCP over IPv4 and IPv6. Not MPTCP, which other rules of the kernel overlook; not unix sockets.
void allow_tcp_sockets(FilterProgram& out) {
  constexpr auto kType = static_cast<std::uint32_t>(SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
  out.only_for(SYS_socket, [&] {
    out.load_argument(1);
    out.refuse_unless(kType);
    out.load_argument(2);
    out.refuse_unless(0);
    out.load_argument(0);
    out.give_if(AF_INET, kAllow);
    out.give_if(AF_INET6, kAllow);
    out.give(kRefuse);
  });
  out.load_number();
}

}  // namespace

std::vector<sock_filter> broker_filter() {
  FilterProgram out;
  out.allow(kPlain);
  allow_tcp_sockets(out);
  out.allow_memory();
  out.allow_descriptor_acts({F_GETFL, F_SETFL, F_GETFD, F_DUPFD_CLOEXEC, F_SETPIPE_SZ, F_GET_SEALS});
  return out.take();
}

}  // namespace cordon::egress
