// For this room's tests: what the kernel would make of a filter, and the machines that there are filters for.
#pragma once

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cordon::planner {

/// What the kernel would answer: the return value of a classic BPF program over seccomp_data.
inline std::uint32_t evaluate(const std::vector<std::uint8_t>& program, const seccomp_data& data) {
  std::vector<sock_filter> code(program.size() / sizeof(sock_filter));
  std::memcpy(code.data(), program.data(), program.size());
  std::uint32_t a = 0;
  for (std::size_t pc = 0; pc < code.size(); ++pc) {
    const sock_filter& insn = code[pc];
    const bool yes = [&] {
      switch (BPF_OP(insn.code)) {
        case BPF_JEQ:
          return a == insn.k;
        case BPF_JGT:
          return a > insn.k;
        case BPF_JGE:
          return a >= insn.k;
        case BPF_JSET:
          return (a & insn.k) != 0;
        default:
          return false;
      }
    }();
    switch (BPF_CLASS(insn.code)) {
      case BPF_LD:
        EXPECT_LE(insn.k + 4, sizeof data);
        std::memcpy(&a, reinterpret_cast<const char*>(&data) + insn.k, sizeof a);
        break;
      case BPF_ALU:
        EXPECT_EQ(BPF_OP(insn.code), BPF_AND);
        a &= insn.k;
        break;
      case BPF_JMP:
        pc += BPF_OP(insn.code) == BPF_JA ? insn.k : yes ? insn.jt : insn.jf;
        break;
      case BPF_RET:
        return insn.k;
      default:
        ADD_FAILURE() << "instruction " << insn.code;
        return 0;
    }
  }
  ADD_FAILURE() << "the program does not end";
  return 0;
}

inline constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
inline constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
inline constexpr std::uint32_t kNotify = SECCOMP_RET_USER_NOTIF;
inline std::uint32_t error(int code) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(code); }

struct Machine {
  const char* name;
  std::uint32_t scmp;
  std::uint32_t audit;
};
inline constexpr std::array kMachines = {Machine{"x86_64", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64},
                                         Machine{"aarch64", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64}};

}  // namespace cordon::planner
