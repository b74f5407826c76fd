#include "egress/program/filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace cordon::egress {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArch = AUDIT_ARCH_AARCH64;
#else
#error "no seccomp architecture is known for this machine"
#endif

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

// Whatever their arguments: they act on descriptors that are there, on memory, and on time.
constexpr std::array kPlain = {
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
};

class Program {
 public:
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  void give(std::uint32_t answer) { add(BPF_RET | BPF_K, answer); }
  /// Gives `answer` where the loaded word is `value`.
  void give_if(std::uint32_t value, std::uint32_t answer) {
    code_.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value});
    give(answer);
  }
  /// Gives `answer` where the loaded word has any of these bits.
  void give_if_any(std::uint32_t bits, std::uint32_t answer) {
    code_.push_back({BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits});
    give(answer);
  }
  void refuse_unless(std::uint32_t value) {
    code_.push_back({BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value});
    give(kRefuse);
  }
  /// What `body` writes is for system call `number` alone, and ends with an answer.
  template <class Body>
  void only_for(long number, Body body) {
    const std::size_t jump = code_.size();
    code_.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 0, static_cast<std::uint32_t>(number)});
    body();
    code_[jump].jf = static_cast<std::uint8_t>(code_.size() - jump - 1);
  }
  void load_number() { load(offsetof(seccomp_data, nr)); }
  /// The lower half of an argument; on both machines that we build for it comes first.
  void load_argument(std::size_t index) { load(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t)); }
  std::vector<sock_filter> take() { return std::move(code_); }

 private:
  void add(int code, std::uint32_t value) { code_.push_back({static_cast<std::uint16_t>(code), 0, 0, value}); }
  std::vector<sock_filter> code_;
};

/// TCP over IPv4 and IPv6. Not MPTCP, which other rules of the kernel overlook; not unix sockets.
void allow_tcp_sockets(Program& out) {
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
}

/// Memory, but none that can be executed.
void allow_memory(Program& out) {
  for (const long number : {SYS_mmap, SYS_mprotect}) {
    out.only_for(number, [&] {
      out.load_argument(2);
      out.give_if_any(PROT_EXEC, kRefuse);
      out.give(kAllow);
    });
  }
  out.only_for(SYS_mremap, [&] { out.give(kAllow); });
}

void allow_descriptor_acts(Program& out) {
  out.only_for(SYS_fcntl, [&] {
    out.load_argument(1);
    for (const int act : {F_GETFL, F_SETFL, F_GETFD, F_DUPFD_CLOEXEC, F_SETPIPE_SZ, F_GET_SEALS})
      out.give_if(static_cast<std::uint32_t>(act), kAllow);
    out.give(kRefuse);
  });
}

}  // namespace

std::vector<sock_filter> broker_filter() {
  Program out;
  out.load(offsetof(seccomp_data, arch));
  out.refuse_unless(kArch);
  out.load_number();
  for (const long number : kPlain) out.give_if(static_cast<std::uint32_t>(number), kAllow);
  allow_tcp_sockets(out);
  out.load_number();
  allow_memory(out);
  out.load_number();
  allow_descriptor_acts(out);
  out.give(kRefuse);
  return out.take();
}

}  // namespace cordon::egress
