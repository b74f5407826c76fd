#include "planner/host_filter.h"

#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "plan/attribute_calls.h"
#include "planner/filter_builder.h"

namespace cordon::planner {
namespace {

constexpr std::uint64_t kLow32 = 0xffffffff;
constexpr std::uint64_t kTypeMask = 0xf;  // of a socket's type; above it are SOCK_NONBLOCK and SOCK_CLOEXEC

// What another process of the same user can be reached by. Landlock closes ptrace and its kind as well.
constexpr std::array kReach =
    std::to_array<const char*>({"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
                                "process_mrelease", "kcmp", "pidfd_getfd", "move_pages", "migrate_pages"});
// Objects that belong to the IPC namespace, which is the host's.
constexpr std::array kIpc =
    std::to_array<const char*>({"shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget",
                                "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"});
constexpr std::array kSignals = std::to_array<const char*>(
    {"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"});
constexpr std::array kOfAProcess =
    std::to_array<const char*>({"sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"});

/// Newer forms of the calls of plan/attribute_calls.h, and what sets a file's flags: the same number everywhere.
struct Newer {
  const char* name;
  std::uint32_t number;
};
constexpr std::array kNewer =
    std::to_array<Newer>({{"fchmodat2", 452}, {"setxattrat", 463}, {"removexattrat", 466}, {"file_setattr", 469}});

template <class Names>
void close_all(Builder& builder, const Names& names) {
  for (const char* name : names) builder.rule(SCMP_ACT_ERRNO(EPERM), name);
}

/// A unix socket leads to services of this host (Landlock does not keep a pathname from being connected to), and one of
/// the internet to its network. What a pair can be joined to is each other; but a datagram names whom it is for.
void close_sockets(Builder& builder) {
  builder.rule(SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket");
  builder.rule(SCMP_ACT_ERRNO(EAFNOSUPPORT), "socketpair", {scmp_arg_cmp{0, SCMP_CMP_NE, AF_UNIX, 0}});
  for (const int type : {int{SOCK_DGRAM}, int{SOCK_RAW}, int{SOCK_RDM}, int{SOCK_DCCP}, int{SOCK_PACKET}})
    builder.rule(SCMP_ACT_ERRNO(EPROTONOSUPPORT), "socketpair", {masked(1, kTypeMask, static_cast<unsigned>(type))});
}

/// Only of the caller itself. A thread that names itself by its number is refused as well.
void close_priorities(Builder& builder) {
  const auto others = [](unsigned argument) { return scmp_arg_cmp{argument, SCMP_CMP_NE, 0, 0}; };
  for (const char* name : kOfAProcess) builder.rule(SCMP_ACT_ERRNO(EPERM), name, {others(0)});
  builder.rule(SCMP_ACT_ERRNO(EPERM), "setpriority", {masked(0, kLow32, PRIO_PROCESS), others(1)});
  builder.rule(SCMP_ACT_ERRNO(EPERM), "ioprio_set", {masked(0, kLow32, IOPRIO_WHO_PROCESS), others(1)});
  for (const unsigned which : {unsigned{PRIO_PGRP}, unsigned{PRIO_USER}})
    builder.rule(SCMP_ACT_ERRNO(EPERM), "setpriority", {masked(0, kLow32, which)});
  for (const unsigned which : {unsigned{IOPRIO_WHO_PGRP}, unsigned{IOPRIO_WHO_USER}})
    builder.rule(SCMP_ACT_ERRNO(EPERM), "ioprio_set", {masked(0, kLow32, which)});
  builder.rule(SCMP_ACT_ERRNO(EPERM), "prlimit64", {others(0), others(2)});
}

/// A descriptor that is open for reading is enough for these.
void close_flags(Builder& builder) {
  for (const std::uint64_t request : {std::uint64_t{FS_IOC_SETFLAGS}, std::uint64_t{FS_IOC_FSSETXATTR},
                                      std::uint64_t{FS_IOC_SETVERSION}, std::uint64_t{FS_IOC32_SETFLAGS}})
    builder.rule(SCMP_ACT_ERRNO(EPERM), "ioctl", {masked(1, kLow32, request & kLow32)});
}

/// By number, for libraries that do not know the names. A call of another kind runs on, and is killed there.
std::vector<sock_filter> close_newer(std::uint32_t arch) {
  const auto statement = [](int code, std::uint32_t k) {
    return sock_filter{.code = static_cast<std::uint16_t>(code), .jt = 0, .jf = 0, .k = k};
  };
  constexpr auto kRest = static_cast<std::uint8_t>(1 + 2 * kNewer.size());
  std::vector<sock_filter> code{statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
                                {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = kRest, .k = arch},
                                statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const Newer& call : kNewer) {
    code.push_back({.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = 1, .k = call.number});
    code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
  }
  return code;
}

}  // namespace

std::vector<std::uint8_t> host_filter(std::string_view machine, HostFilter what) {
  const auto arch = architecture(machine);
  if (!arch) return {};
  Builder builder(*arch);
  close_sockets(builder);
  close_all(builder, kReach);
  close_all(builder, kIpc);
  if (!what.signals_scoped) close_all(builder, kSignals);
  if (!what.attributes_served) close_all(builder, plan::kAttributeCalls);
  close_priorities(builder);
  close_flags(builder);
  return joined(close_newer(*arch), builder.program());
}

}  // namespace cordon::planner
