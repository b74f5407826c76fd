#include "agent/program/filter.h"

#include <sys/syscall.h>

#include <array>

#include "confine/filter_program.h"

namespace cordon::agent {
namespace {

constexpr auto kPlain = std::to_array<long>({
    SYS_read,
    SYS_sendto,
    SYS_accept4,
    SYS_close,
    SYS_ppoll,
    SYS_munmap,
    SYS_brk,
    SYS_madvise,
    SYS_clock_gettime,
    SYS_exit_group,
    SYS_exit,
    SYS_rt_sigreturn,
    SYS_restart_syscall,
    SYS_futex,
    SYS_getrandom,
#if defined(__x86_64__)
    SYS_poll,
#endif
});

}  // namespace

std::vector<sock_filter> relay_filter() {
  confine::FilterProgram out;
  out.allow(kPlain);
  out.allow_memory();
  return out.take();
}

}  // namespace cordon::agent
