// FilterProgram: the seccomp program of a helper of ours, a list of what it needs and EPERM for everything else.
// Written as BPF by hand, because it is short and a helper links nothing for it. EPERM rather than death, so that
// confine() can try what is closed.
#pragma once

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace cordon::confine {

#if defined(__x86_64__)
inline constexpr std::uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
inline constexpr std::uint32_t kArch = AUDIT_ARCH_AARCH64;
#else
#error "no seccomp architecture is known for this machine"
#endif

inline constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
inline constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

class FilterProgram {
 public:
  /// Begins with a look at the machine; the number of the system call is loaded then.
  FilterProgram() {
    load(offsetof(seccomp_data, arch));
    refuse_unless(kArch);
    load_number();
  }
  /// These are allowed whatever their arguments.
  void allow(std::span<const long> numbers) {
    for (const long number : numbers) give_if(static_cast<std::uint32_t>(number), kAllow);
  }
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
  /// Memory, but none that can be executed.
  void allow_memory() {
    for (const long number : {SYS_mmap, SYS_mprotect}) {
      only_for(number, [&] {
        load_argument(2);
        give_if_any(PROT_EXEC, kRefuse);
        give(kAllow);
      });
    }
    only_for(SYS_mremap, [&] { give(kAllow); });
    load_number();
  }
  /// fcntl(2) of these kinds.
  void allow_descriptor_acts(std::initializer_list<int> acts) {
    only_for(SYS_fcntl, [&] {
      load_argument(1);
      for (const int act : acts) give_if(static_cast<std::uint32_t>(act), kAllow);
      give(kRefuse);
    });
    load_number();
  }
  /// Whatever was not allowed is refused.
  std::vector<sock_filter> take() {
    give(kRefuse);
    return std::move(code_);
  }

 private:
  void add(int code, std::uint32_t value) { code_.push_back({static_cast<std::uint16_t>(code), 0, 0, value}); }
  std::vector<sock_filter> code_;
};

}  // namespace cordon::confine
