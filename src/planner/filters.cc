#include "planner/filters.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "planner/filter_builder.h"

namespace cordon::planner {
namespace {

constexpr std::uint64_t kLow32 = 0xffffffff;  // arguments that the kernel takes as int: an upper half must not matter
constexpr std::uint64_t kTiocLinux = 0x541c;
constexpr std::uint32_t kSetId = S_ISUID | S_ISGID;
constexpr std::uint32_t kMakes = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);  // where neither is set open takes no mode
constexpr std::uint32_t kPidfdSignalProcessGroup = 4;                   // of pidfd_send_signal, 6.9
constexpr std::uint32_t kInit = 1;

struct Call {
  const char* name;
  int errno_value;
  int number;  ///< for calls that the library may not know yet: the same on every architecture since 424; else -1
};

// Whole calls. The release that brought a number stands behind it.
constexpr std::array kTable = std::to_array<Call>({
    // Namespaces and mounts: a target that could make either could undo what it is in.
    {"setns", EPERM, -1},
    {"mount", EPERM, -1},
    {"umount", EPERM, -1},
    {"umount2", EPERM, -1},
    {"pivot_root", EPERM, -1},
    {"chroot", EPERM, -1},
    {"open_tree", EPERM, 428},       // 5.2
    {"move_mount", EPERM, 429},      // 5.2
    {"fsopen", EPERM, 430},          // 5.2
    {"fsconfig", EPERM, 431},        // 5.2
    {"fsmount", EPERM, 432},         // 5.2
    {"fspick", EPERM, 433},          // 5.2
    {"mount_setattr", EPERM, 442},   // 5.12
    {"open_tree_attr", EPERM, 467},  // 6.15
    // Flags behind a pointer cannot be judged; libc falls back on clone.
    {"clone3", ENOSYS, 435},  // 5.3
    // Large surfaces of the kernel.
    {"bpf", EPERM, -1},
    {"perf_event_open", EPERM, -1},
    {"userfaultfd", ENOSYS, -1},
    {"io_uring_setup", ENOSYS, 425},     // 5.1
    {"io_uring_enter", ENOSYS, 426},     // 5.1
    {"io_uring_register", ENOSYS, 427},  // 5.1
    // Keyrings are the user's, not the sandbox's: no namespace divides them all.
    {"keyctl", ENOSYS, -1},
    {"add_key", ENOSYS, -1},
    {"request_key", ENOSYS, -1},
    // The machine.
    {"kexec_load", EPERM, -1},
    {"kexec_file_load", EPERM, -1},
    {"create_module", EPERM, -1},
    {"init_module", EPERM, -1},
    {"finit_module", EPERM, -1},
    {"delete_module", EPERM, -1},
    {"swapon", EPERM, -1},
    {"swapoff", EPERM, -1},
    {"reboot", EPERM, -1},
    {"acct", EPERM, -1},
    {"quotactl", EPERM, -1},
    {"quotactl_fd", EPERM, 443},  // 5.14
    // The kernel's log tells of the host (where dmesg_restrict is off, to everybody).
    {"syslog", EPERM, -1},
    // Opens by number what no path in the sandbox leads to.
    {"open_by_handle_at", EPERM, -1},
    // Its mode stands in memory, where no filter can see set-id bits. Programs fall back on openat.
    {"openat2", ENOSYS, 437},  // 5.6
});

/// Places that jumps of the prologue lead to; all lie ahead.
enum class Label : std::uint8_t {
  kNone,
  kModeSecond,    ///< the mode is the second argument
  kModeThird,     ///< likewise
  kOpen,          ///< flags are the second argument, and the third may be a mode
  kOpenAt,        ///< one further on
  kFirstIsInit,   ///< the first argument is a pid
  kSecondIsInit,  ///< likewise
  kPriority,      ///< setpriority: which, who
  kIoPriority,    ///< ioprio_set: the same in other numbers
  kGroup,         ///< the second argument is a process group
  kSignal,        ///< kill
  kPidfdSignal,
  kPersonality,
  kNotPermitted,
  kNoCall,
  kSocket,
  kNoFamily,
  kInternet,
  kEnd,
  kCount
};

class Assembler {
 public:
  void load(std::size_t offset) { emit(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  /// The lower half: all that the kernel looks at of an int.
  void load_argument(std::size_t which) {
    static_assert(std::endian::native == std::endian::little);
    load(offsetof(seccomp_data, args) + which * sizeof(std::uint64_t));
  }
  void if_equal(std::uint32_t value, Label there) { emit(BPF_JMP | BPF_JEQ | BPF_K, value, there, Label::kNone); }
  void unless_equal(std::uint32_t value, Label there) { emit(BPF_JMP | BPF_JEQ | BPF_K, value, Label::kNone, there); }
  void if_at_least(std::uint32_t value, Label there) { emit(BPF_JMP | BPF_JGE | BPF_K, value, there, Label::kNone); }
  /// One way where any of these bits is set, another where none is; Label::kNone is straight on.
  void if_any(std::uint32_t bits, Label there, Label otherwise) {
    emit(BPF_JMP | BPF_JSET | BPF_K, bits, there, otherwise);
  }
  void always(Label there) { if_at_least(0, there); }
  void if_above(std::uint32_t value, Label there) { emit(BPF_JMP | BPF_JGT | BPF_K, value, there, Label::kNone); }
  void refuse(std::uint32_t code) { emit(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code); }
  void place(Label label) { places_[static_cast<std::size_t>(label)] = code_.size(); }

  std::vector<sock_filter> take() {
    for (std::size_t i = 0; i < code_.size(); ++i) {
      code_[i].jt = distance(i, jumps_[i].first);
      code_[i].jf = distance(i, jumps_[i].second);
    }
    return std::move(code_);
  }

 private:
  void emit(int code, std::uint32_t k, Label yes = Label::kNone, Label no = Label::kNone) {
    code_.push_back({.code = static_cast<std::uint16_t>(code), .jt = 0, .jf = 0, .k = k});
    jumps_.emplace_back(yes, no);
  }
  [[nodiscard]] std::uint8_t distance(std::size_t from, Label label) const {
    if (label == Label::kNone) return 0;
    const std::size_t ahead = places_[static_cast<std::size_t>(label)] - from - 1;
    CORDON_CHECK(ahead <= std::numeric_limits<std::uint8_t>::max());
    return static_cast<std::uint8_t>(ahead);
  }

  std::vector<sock_filter> code_;
  std::vector<std::pair<Label, Label>> jumps_;
  std::array<std::size_t, static_cast<std::size_t>(Label::kCount)> places_{};
};

void close_calls(Builder& builder, Nesting nesting) {
  for (const Call& call : kTable) {
    if (nesting == Nesting::kOpen && std::string_view(call.name) == "chroot") continue;
    builder.rule(SCMP_ACT_ERRNO(static_cast<std::uint32_t>(call.errno_value)), call.name);
  }
}

/// Where user namespaces are open, those that would undo what is mounted here stay closed.
void close_namespaces(Builder& builder, Nesting nesting) {
  for (const char* name : {"clone", "unshare"}) {
    if (nesting == Nesting::kClosed) {
      builder.rule(SCMP_ACT_ERRNO(EPERM), name, {masked(0, CLONE_NEWUSER, CLONE_NEWUSER)});
      continue;
    }
    for (const std::uint64_t flag : {std::uint64_t{CLONE_NEWNS}, std::uint64_t{CLONE_NEWCGROUP}})
      builder.rule(SCMP_ACT_ERRNO(EPERM), name, {masked(0, flag, flag)});
  }
}

/// Typing into the terminal that the sandbox was started from; and what takes that terminal from its owner and outlives
/// the run: nobody else opens it any more (TIOCEXCL), or another discipline eats its lines (TIOCSETD).
void close_terminal_injection(Builder& builder) {
  for (const std::uint64_t request :
       {std::uint64_t{TIOCSTI}, kTiocLinux, std::uint64_t{TIOCEXCL}, std::uint64_t{TIOCSETD}}) {
    builder.rule(SCMP_ACT_ERRNO(EPERM), "ioctl", {masked(1, kLow32, request)});
  }
}

/// No core dump: the launcher has set a limit that keeps even a piped handler away, and it must stay (core(5)).
void close_core_limit(Builder& builder) {
  builder.rule(SCMP_ACT_ERRNO(EPERM), "setrlimit", {masked(0, kLow32, RLIMIT_CORE)});
  builder.rule(SCMP_ACT_ERRNO(EPERM), "prlimit64", {masked(1, kLow32, RLIMIT_CORE), SCMP_CMP64(2, SCMP_CMP_NE, 0)});
}

struct Gate {
  const char* name;
  Label there;
  int number = -1;  ///< as in Call
};

// Calls whose arguments decide. A new file, or one's own, could be given set-id bits, which the host would honour where
// nothing inside does; mkdir is not here because the kernel takes no such bit from it (mkdir(2)).
constexpr std::array kGates = std::to_array<Gate>({
    {"chmod", Label::kModeSecond},
    {"fchmod", Label::kModeSecond},
    {"creat", Label::kModeSecond},
    {"mknod", Label::kModeSecond},
    {"fchmodat", Label::kModeThird},
    {"fchmodat2", Label::kModeThird, 452},  // 6.6
    {"mknodat", Label::kModeThird},
    {"open", Label::kOpen},
    {"openat", Label::kOpenAt},
    // Init has the target's ids, so that the target could starve it; and the target's process group is that of cordon
    // and of the caller's pipeline, which these calls reach whatever a Landlock domain scopes.
    {"prlimit64", Label::kFirstIsInit},
    {"sched_setparam", Label::kFirstIsInit},
    {"sched_setscheduler", Label::kFirstIsInit},
    {"sched_setattr", Label::kFirstIsInit},
    {"sched_setaffinity", Label::kFirstIsInit},
    {"setpriority", Label::kPriority},
    {"ioprio_set", Label::kIoPriority},
    {"socket", Label::kSocket},
    {"socketpair", Label::kSocket},
    {"personality", Label::kPersonality},
});

// Where no Landlock domain keeps signals inside. A group is reached by number only if it is of the pid namespace; the
// one that we share with the host has none there, so that 0 is the only way out.
constexpr std::array kSignalGates = std::to_array<Gate>({
    {"kill", Label::kSignal}, {"pidfd_send_signal", Label::kPidfdSignal, 424},  // 5.1
});

void send_to(Assembler& code, std::uint32_t arch, std::span<const Gate> gates) {
  for (const Gate& gate : gates) {
    if (knows(arch, gate.name)) {
      code.if_equal(number_of(arch, gate.name), gate.there);
    } else if (gate.number >= 0) {
      code.if_equal(static_cast<std::uint32_t>(gate.number), gate.there);
    }
  }
}

void judge_modes(Assembler& code) {
  code.place(Label::kOpen);
  code.load_argument(1);
  code.if_any(kMakes, Label::kModeThird, Label::kEnd);
  code.place(Label::kOpenAt);
  code.load_argument(2);
  code.if_any(kMakes, Label::kNone, Label::kEnd);
  code.load_argument(3);
  code.if_any(kSetId, Label::kNotPermitted, Label::kEnd);
  code.place(Label::kModeSecond);
  code.load_argument(1);
  code.if_any(kSetId, Label::kNotPermitted, Label::kEnd);
  code.place(Label::kModeThird);
  code.load_argument(2);
  code.if_any(kSetId, Label::kNotPermitted, Label::kEnd);
}

void judge_processes(Assembler& code) {
  code.place(Label::kPriority);
  code.load_argument(0);
  code.if_equal(PRIO_USER, Label::kNotPermitted);
  code.if_equal(PRIO_PGRP, Label::kGroup);
  code.always(Label::kSecondIsInit);
  code.place(Label::kIoPriority);
  code.load_argument(0);
  code.if_equal(IOPRIO_WHO_USER, Label::kNotPermitted);
  code.if_equal(IOPRIO_WHO_PGRP, Label::kGroup);
  code.place(Label::kSecondIsInit);
  code.load_argument(1);
  code.if_equal(kInit, Label::kNotPermitted);
  code.always(Label::kEnd);
  code.place(Label::kGroup);
  code.load_argument(1);
  code.if_equal(0, Label::kNotPermitted);
  code.always(Label::kEnd);
  code.place(Label::kFirstIsInit);
  code.load_argument(0);
  code.if_equal(kInit, Label::kNotPermitted);
  code.always(Label::kEnd);
  code.place(Label::kSignal);
  code.load_argument(0);
  code.if_equal(0, Label::kNotPermitted);
  code.always(Label::kEnd);
  code.place(Label::kPidfdSignal);
  code.load_argument(3);
  code.if_any(kPidfdSignalProcessGroup, Label::kNotPermitted, Label::kEnd);
}

void judge_sockets(Assembler& code) {
  code.place(Label::kSocket);
  code.load_argument(0);
  code.if_equal(AF_UNIX, Label::kEnd);
  code.if_equal(AF_INET, Label::kInternet);
  code.if_equal(AF_INET6, Label::kInternet);
  code.unless_equal(AF_NETLINK, Label::kNoFamily);
  code.load_argument(2);
  code.if_equal(NETLINK_ROUTE, Label::kEnd);
  code.place(Label::kNoFamily);
  code.refuse(EAFNOSUPPORT);
  // MPTCP among others: it would pass rules that speak of TCP; Go falls back on this errno.
  code.place(Label::kInternet);
  code.load_argument(2);
  for (const int protocol : {0, int{IPPROTO_TCP}, int{IPPROTO_UDP}})
    code.if_equal(static_cast<std::uint32_t>(protocol), Label::kEnd);
  code.refuse(EPROTONOSUPPORT);
}

/// What libseccomp cannot say, because it compares each argument once in a rule: sets of allowed values, and "newer
/// than". Stands before its program, and hands on to it what it has nothing against.
std::vector<sock_filter> prologue(std::uint32_t arch, GroupSignals group_signals) {
  Assembler code;
  code.load(offsetof(seccomp_data, arch));
  code.unless_equal(arch, Label::kEnd);  // the library's own check kills it
  code.load(offsetof(seccomp_data, nr));
  if (arch == SCMP_ARCH_X86_64) code.if_at_least(kX32Bit, Label::kEnd);  // as well
  code.if_above(kNewestReviewedCall, Label::kNoCall);
  for (const Call& call : kTable) {
    if (call.number < 0 || knows(arch, call.name)) continue;
    code.if_equal(static_cast<std::uint32_t>(call.number),
                  call.errno_value == EPERM ? Label::kNotPermitted : Label::kNoCall);
  }
  send_to(code, arch, kGates);
  if (group_signals == GroupSignals::kRefused) send_to(code, arch, kSignalGates);
  code.always(Label::kEnd);
  judge_modes(code);
  judge_processes(code);
  // Plain Linux and its 32-bit and 2.6 dresses, and the question. The rest weakens address randomisation.
  code.place(Label::kPersonality);
  code.load_argument(0);
  for (const std::uint32_t plain : {0x0U, 0x8U, 0x20000U, 0x20008U, 0xffffffffU}) code.if_equal(plain, Label::kEnd);
  code.place(Label::kNotPermitted);
  code.refuse(EPERM);
  code.place(Label::kNoCall);
  code.refuse(ENOSYS);
  judge_sockets(code);
  code.place(Label::kEnd);
  return code.take();
}

}  // namespace

std::vector<std::uint8_t> system_call_filter(std::string_view machine, GroupSignals group_signals, Nesting nesting) {
  const auto arch = architecture(machine);
  if (!arch) return {};
  Builder builder(*arch);
  close_calls(builder, nesting);
  close_namespaces(builder, nesting);
  close_terminal_injection(builder);
  close_core_limit(builder);
  return joined(prologue(*arch, group_signals), builder.program());
}

}  // namespace cordon::planner
