#include "planner/filters.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "planner/evaluate_test.h"
#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

class Filters : public ::testing::TestWithParam<Machine> {
 protected:
  std::uint32_t call(const std::vector<std::uint8_t>& program, int number,
                     std::initializer_list<std::uint64_t> args = {}) {
    seccomp_data data{.nr = number, .arch = GetParam().audit, .instruction_pointer = 0, .args = {}};
    std::copy(args.begin(), args.end(), std::begin(data.args));
    return evaluate(program, data);
  }
  std::uint32_t call(const std::vector<std::uint8_t>& program, const char* name,
                     std::initializer_list<std::uint64_t> args = {}) {
    return call(program, number(name), args);
  }
  int number(const char* name) { return seccomp_syscall_resolve_name_rewrite(GetParam().scmp, name); }
  bool exists(const char* name) { return number(name) >= 0; }

  std::vector<std::uint8_t> calls_ = system_call_filter(GetParam().name, GroupSignals::kAllowed);
};

INSTANTIATE_TEST_SUITE_P(OnEachMachine, Filters, ::testing::ValuesIn(kMachines),
                         [](const auto& machine) { return std::string(machine.param.name); });

constexpr std::uint64_t kUpperHalf = 0x1'0000'0000;

TEST_P(Filters, ProgramsFitTheKernelsBound) {
  for (const auto& program : {calls_, exec_filter(GetParam().name, ExecFilter::kNone),
                              exec_filter(GetParam().name, ExecFilter::kNoneStrict)}) {
    EXPECT_FALSE(program.empty());
    EXPECT_EQ(program.size() % sizeof(sock_filter), 0U);
    EXPECT_LT(program.size() / sizeof(sock_filter), 4096U);
  }
}

TEST_P(Filters, OrdinaryCallsAreAllowed) {
  for (const char* name :
       {"read", "write", "openat", "execve", "execveat", "mmap", "futex", "ptrace", "prctl", "seccomp", "wait4",
        "memfd_create", "getrandom", "name_to_handle_at", "landlock_restrict_self", "kill"}) {
    EXPECT_EQ(call(calls_, name), kAllow) << name;
  }
  EXPECT_EQ(call(calls_, "clone", {SIGCHLD}), kAllow);
  EXPECT_EQ(call(calls_, "clone", {CLONE_VM | CLONE_THREAD | CLONE_SIGHAND}), kAllow);
  EXPECT_EQ(call(calls_, "unshare", {CLONE_FILES}), kAllow);
}

TEST_P(Filters, NamespacesAndMountsAreRefused) {
  for (const char* name : {"setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen",
                           "fsconfig", "fsmount", "fspick", "mount_setattr"}) {
    EXPECT_EQ(call(calls_, name), error(EPERM)) << name;
  }
  EXPECT_EQ(call(calls_, 467), error(EPERM)) << "open_tree_attr";
  EXPECT_EQ(call(calls_, "clone", {CLONE_NEWUSER | SIGCHLD}), error(EPERM));
  EXPECT_EQ(call(calls_, "clone", {CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | kUpperHalf}), error(EPERM));
  EXPECT_EQ(call(calls_, "unshare", {CLONE_NEWUSER}), error(EPERM));
  EXPECT_EQ(call(calls_, "unshare", {CLONE_NEWUSER | CLONE_NEWNET}), error(EPERM));
  EXPECT_EQ(call(calls_, "clone3"), error(ENOSYS));
}

TEST_P(Filters, TheMachineAndLargeSurfacesAreRefused) {
  for (const char* name : {"bpf", "perf_event_open", "kexec_load", "kexec_file_load", "init_module", "finit_module",
                           "delete_module", "swapon", "swapoff", "reboot", "acct", "quotactl", "open_by_handle_at"}) {
    EXPECT_EQ(call(calls_, name), error(EPERM)) << name;
  }
  EXPECT_EQ(call(calls_, 443), error(EPERM)) << "quotactl_fd";
  for (const char* name :
       {"userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl", "add_key", "request_key"}) {
    EXPECT_EQ(call(calls_, name), error(ENOSYS)) << name;
  }
}

TEST_P(Filters, TypingIntoTheTerminalIsRefusedWhateverTheUpperHalfSays) {
  for (const std::uint64_t request :
       {std::uint64_t{0x5412}, std::uint64_t{0x541c}, std::uint64_t{0x540c}, std::uint64_t{0x5423}}) {
    EXPECT_EQ(call(calls_, "ioctl", {0, request}), error(EPERM));
    EXPECT_EQ(call(calls_, "ioctl", {0, request | kUpperHalf}), error(EPERM));
  }
  EXPECT_EQ(call(calls_, "ioctl", {0, 0x5401}), kAllow) << "TCGETS";
  EXPECT_EQ(call(calls_, "ioctl", {0, 0x5413}), kAllow) << "TIOCGWINSZ";
}

TEST_P(Filters, OnlyThePlainPersonalitiesAreAllowed) {
  for (const std::uint64_t plain : {0x0ULL, 0x8ULL, 0x20000ULL, 0x20008ULL, 0xffffffffULL, ~0ULL}) {
    EXPECT_EQ(call(calls_, "personality", {plain}), kAllow) << plain;
  }
  for (const std::uint64_t other : {0x1ULL, 0x40000ULL, 0x100000ULL, 0x20040ULL, 0xfffffffeULL, 0x7fffffffULL}) {
    EXPECT_EQ(call(calls_, "personality", {other}), error(EPERM)) << other;
  }
}

TEST_P(Filters, SocketsAreOfFourFamiliesAndThreeProtocols) {
  for (const std::uint64_t type : {std::uint64_t{SOCK_STREAM}, std::uint64_t{SOCK_DGRAM}}) {
    EXPECT_EQ(call(calls_, "socket", {AF_UNIX, type, 0}), kAllow);
    EXPECT_EQ(call(calls_, "socketpair", {AF_UNIX, type, 0}), kAllow);
    for (const std::uint64_t family : {std::uint64_t{AF_INET}, std::uint64_t{AF_INET6}}) {
      for (const std::uint64_t protocol : {0UL, 6UL, 17UL}) {
        EXPECT_EQ(call(calls_, "socket", {family, type, protocol}), kAllow) << protocol;
      }
      for (const std::uint64_t protocol : {1UL, 33UL, 132UL, 136UL, 255UL, 262UL}) {
        EXPECT_EQ(call(calls_, "socket", {family, type, protocol}), error(EPROTONOSUPPORT)) << protocol;
      }
    }
  }
  EXPECT_EQ(call(calls_, "socket", {AF_NETLINK, SOCK_RAW, 0}), kAllow);
  EXPECT_EQ(call(calls_, "socket", {AF_NETLINK, SOCK_RAW, 15}), error(EAFNOSUPPORT)) << "uevents";
  for (std::uint64_t family = 0; family < 64; ++family) {
    if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK) continue;
    EXPECT_EQ(call(calls_, "socket", {family, SOCK_STREAM, 0}), error(EAFNOSUPPORT)) << family;
    EXPECT_EQ(call(calls_, "socket", {family | kUpperHalf, SOCK_STREAM, 0}), error(EAFNOSUPPORT)) << family;
    EXPECT_EQ(call(calls_, "socketpair", {family, SOCK_STREAM, 0}), error(EAFNOSUPPORT)) << family;
  }
  EXPECT_EQ(call(calls_, "socket", {AF_INET | kUpperHalf, SOCK_STREAM, 262 | kUpperHalf}), error(EPROTONOSUPPORT));
}

TEST_P(Filters, TheCoreLimitCannotBeRaisedAgain) {
  EXPECT_EQ(call(calls_, "prlimit64", {0, RLIMIT_CORE, 0x1000, 0}), error(EPERM));
  EXPECT_EQ(call(calls_, "prlimit64", {0, RLIMIT_CORE | kUpperHalf, kUpperHalf, 0}), error(EPERM));
  EXPECT_EQ(call(calls_, "prlimit64", {0, RLIMIT_CORE, 0, 0x1000}), kAllow) << "reading it";
  EXPECT_EQ(call(calls_, "prlimit64", {0, RLIMIT_NOFILE, 0x1000, 0}), kAllow);
  if (exists("setrlimit")) {
    EXPECT_EQ(call(calls_, "setrlimit", {RLIMIT_CORE}), error(EPERM));
    EXPECT_EQ(call(calls_, "setrlimit", {RLIMIT_NOFILE}), kAllow);
  }
}

// Where a mode stands, and what makes open take one.
TEST_P(Filters, SetIdBitsAreRefusedInEveryMode) {
  struct Made {
    const char* name;
    int number;  ///< where the library has no name for it
    std::vector<std::uint64_t> before;
  };
  const std::vector<Made> all{{"chmod", -1, {0}},
                              {"fchmod", -1, {0}},
                              {"creat", -1, {0}},
                              {"mknod", -1, {0}},
                              {"fchmodat", -1, {0, 0}},
                              {"fchmodat2", 452, {0, 0}},
                              {"mknodat", -1, {0, 0}},
                              {"open", -1, {0, O_CREAT | O_WRONLY}},
                              {"open", -1, {0, O_TMPFILE | O_WRONLY}},
                              {"openat", -1, {0, 0, O_CREAT | O_WRONLY | kUpperHalf}},
                              {"openat", -1, {0, 0, O_TMPFILE | O_WRONLY}}};
  for (const Made& one : all) {
    const int nr = exists(one.name) ? number(one.name) : one.number;
    if (nr < 0) continue;  // not on this machine
    const auto with = [&](std::uint64_t mode) {
      seccomp_data data{.nr = nr, .arch = GetParam().audit, .instruction_pointer = 0, .args = {}};
      std::ranges::copy(one.before, std::begin(data.args));
      data.args[one.before.size()] = mode;
      return evaluate(calls_, data);
    };
    for (const std::uint64_t mode : {04755ULL, 02755ULL, 06777ULL, 04000ULL, 0104644ULL, 04755ULL | kUpperHalf}) {
      EXPECT_EQ(with(mode), error(EPERM)) << one.name << " " << std::oct << mode;
    }
    for (const std::uint64_t mode : {0ULL, 0644ULL, 01777ULL, 0100644ULL, 0x7777'0000'0000'01edULL}) {
      EXPECT_EQ(with(mode), kAllow) << one.name << " " << std::oct << mode;
    }
  }
}

TEST_P(Filters, AnOpenThatMakesNothingHasNoMode) {
  EXPECT_EQ(call(calls_, "openat", {0, 0, O_RDWR, 06777}), kAllow);
  EXPECT_EQ(call(calls_, "openat", {0, 0, O_RDONLY | O_DIRECTORY, 06777}), kAllow);
  if (exists("open")) {
    EXPECT_EQ(call(calls_, "open", {0, O_RDWR | O_TRUNC, 06777}), kAllow);
  }
  EXPECT_EQ(call(calls_, "mkdirat", {0, 0, 02755}), kAllow) << "the kernel takes no set-id bit from it";
  EXPECT_EQ(call(calls_, 437), error(ENOSYS)) << "openat2, whose mode stands in memory";
}

TEST_P(Filters, TheKernelsLogIsNotRead) { EXPECT_EQ(call(calls_, "syslog", {3}), error(EPERM)); }

TEST_P(Filters, InitIsNotStarved) {
  for (const char* name : {"prlimit64", "sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"}) {
    EXPECT_EQ(call(calls_, name, {1}), error(EPERM)) << name;
    EXPECT_EQ(call(calls_, name, {1 | kUpperHalf}), error(EPERM)) << name;
    EXPECT_EQ(call(calls_, name, {0}), kAllow) << name;
    EXPECT_EQ(call(calls_, name, {2}), kAllow) << name;
  }
  EXPECT_EQ(call(calls_, "setpriority", {0, 1}), error(EPERM));
  EXPECT_EQ(call(calls_, "ioprio_set", {1, 1}), error(EPERM));
  EXPECT_EQ(call(calls_, "prlimit64", {1, RLIMIT_CORE, 0x1000, 0}), error(EPERM));
}

TEST_P(Filters, TheGroupThatIsSharedWithTheHostIsNotReniced) {
  for (const std::uint64_t high : {std::uint64_t{0}, kUpperHalf}) {
    EXPECT_EQ(call(calls_, "setpriority", {1 | high, 0 | high}), error(EPERM)) << "its group";
    EXPECT_EQ(call(calls_, "setpriority", {2 | high, 0}), error(EPERM)) << "its user";
    EXPECT_EQ(call(calls_, "ioprio_set", {2 | high, 0 | high}), error(EPERM)) << "its group";
    EXPECT_EQ(call(calls_, "ioprio_set", {3 | high, 1000}), error(EPERM)) << "its user";
  }
  EXPECT_EQ(call(calls_, "setpriority", {0, 0}), kAllow);
  EXPECT_EQ(call(calls_, "setpriority", {1, 7}), kAllow) << "a group of the sandbox's own";
  EXPECT_EQ(call(calls_, "ioprio_set", {1, 0}), kAllow);
  EXPECT_EQ(call(calls_, "ioprio_set", {2, 7}), kAllow);
}

TEST_P(Filters, SignalsToTheGroupAreRefusedWhereNoDomainKeepsThemInside) {
  const auto closed = system_call_filter(GetParam().name, GroupSignals::kRefused);
  EXPECT_EQ(call(closed, "kill", {0, 15}), error(EPERM));
  EXPECT_EQ(call(closed, "kill", {kUpperHalf, 15}), error(EPERM));
  EXPECT_EQ(call(closed, 424, {3, 15, 0, 4}), error(EPERM)) << "pidfd_send_signal to a group";
  for (const std::uint64_t pid : {std::uint64_t{2}, std::uint64_t{0xffffffff}, ~std::uint64_t{0}, ~std::uint64_t{6}}) {
    EXPECT_EQ(call(closed, "kill", {pid, 15}), kAllow) << pid;
  }
  EXPECT_EQ(call(closed, 424, {3, 15, 0, 0}), kAllow);
  EXPECT_EQ(call(calls_, "kill", {0, 15}), kAllow) << "where a domain does";
  EXPECT_EQ(call(calls_, 424, {3, 15, 0, 4}), kAllow) << "likewise";
}

TEST_P(Filters, CallsNewerThanTheNewestReviewedOneDoNotExist) {
  EXPECT_EQ(call(calls_, static_cast<int>(kNewestReviewedCall)), kAllow);
  for (const std::uint32_t above : {1U, 2U, 100U, 0x10000U}) {
    EXPECT_EQ(call(calls_, static_cast<int>(kNewestReviewedCall + above)), error(ENOSYS)) << above;
  }
}

TEST_P(Filters, OtherArchitecturesAreKilled) {
  for (const auto& program : {calls_, exec_filter(GetParam().name, ExecFilter::kNone)}) {
    for (const std::uint32_t arch :
         std::initializer_list<std::uint32_t>{AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64}) {
      if (arch == GetParam().audit) continue;
      for (const int nr : {0, 11, 59, 102, 221, 5000}) {
        EXPECT_EQ(evaluate(program, {.nr = nr, .arch = arch, .instruction_pointer = 0, .args = {}}), kKill) << nr;
      }
    }
  }
}

TEST_P(Filters, ExecNoneAsksForBothExecsAndNothingElse) {
  const auto program = exec_filter(GetParam().name, ExecFilter::kNone);
  EXPECT_EQ(call(program, "execve"), kNotify);
  EXPECT_EQ(call(program, "execveat"), kNotify);
  for (const char* name : {"clone", "clone3", "read", "mount", "memfd_create", "prctl"}) {
    EXPECT_EQ(call(program, name), kAllow) << name;
  }
}

TEST_P(Filters, ExecNoneStrictAllowsThreadsAndNoProcesses) {
  const auto program = exec_filter(GetParam().name, ExecFilter::kNoneStrict);
  EXPECT_EQ(call(program, "execve"), kNotify);
  EXPECT_EQ(call(program, "execveat"), kNotify);
  for (const char* name : {"fork", "vfork"}) {
    if (!exists(name)) continue;
    EXPECT_EQ(call(program, name), error(EPERM)) << name;
  }
  EXPECT_EQ(call(program, "clone", {SIGCHLD}), error(EPERM));
  EXPECT_EQ(call(program, "clone", {CLONE_VM | CLONE_VFORK | SIGCHLD}), error(EPERM));
  EXPECT_EQ(call(program, "clone", {CLONE_VM | CLONE_SIGHAND | CLONE_THREAD}), kAllow);
  EXPECT_EQ(call(program, "clone3"), error(ENOSYS));
  EXPECT_EQ(call(program, "memfd_create", {0, 0}), error(EPERM));
  EXPECT_EQ(call(program, "memfd_create", {0, 1}), error(EPERM));
  EXPECT_EQ(call(program, "memfd_create", {0, 8 | 1}), kAllow);
}

TEST_P(Filters, AListOfProgramsRefusesFilesInMemoryAndNoExec) {
  const auto program = exec_list_filter(GetParam().name);
  EXPECT_EQ(call(program, "memfd_create", {0, 0}), error(EPERM));
  EXPECT_EQ(call(program, "memfd_create", {0, 8 | 1}), error(EPERM)) << "a loader maps a sealed one as well";
  for (const char* name : {"execve", "execveat", "clone", "read"}) EXPECT_EQ(call(program, name), kAllow) << name;
}

TEST(FiltersX32, CallsOfTheX32KindAreKilled) {
  const auto program = system_call_filter("x86_64", GroupSignals::kRefused);
  for (const std::uint32_t nr : {0U, 59U, 165U, 520U}) {
    const seccomp_data data{
        .nr = static_cast<int>(0x40000000U | nr), .arch = AUDIT_ARCH_X86_64, .instruction_pointer = 0, .args = {}};
    EXPECT_EQ(evaluate(program, data), kKill) << nr;
    EXPECT_EQ(evaluate(exec_filter("x86_64", ExecFilter::kNone), data), kKill) << nr;
  }
}

TEST(FiltersUnknown, AMachineWithoutATableHasNoFilter) {
  EXPECT_TRUE(system_call_filter("riscv64", GroupSignals::kRefused).empty());
  EXPECT_TRUE(exec_filter("", ExecFilter::kNone).empty());
}

using testing::FakeHost;
using testing::must_plan;
using testing::PolicyMaker;
using testing::steps_of;

std::vector<plan::step::Filter> filters_of(FakeHost& host, policy::ExecMode mode) {
  host.program("/home/me/run", "ELF", 1000);
  return steps_of<plan::step::Filter>(must_plan(host.plan(PolicyMaker("/home/me/run").exec(mode).policy)));
}

TEST(FilterSteps, OnlyAClosedExecHasAListener) {
  FakeHost host = FakeHost::debian();
  const auto all = filters_of(host, policy::ExecMode::kAll);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "system-calls");
  EXPECT_FALSE(all[0].notify);
  EXPECT_EQ(all[0].flags, 0U);
  const auto none = filters_of(host, policy::ExecMode::kNone);
  ASSERT_EQ(none.size(), 2U);
  EXPECT_EQ(none[1].name, "exec");
  EXPECT_TRUE(none[1].notify);
  const auto list = filters_of(host, policy::ExecMode::kList);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1].name, "exec-list");
  EXPECT_FALSE(list[1].notify);
  EXPECT_EQ(none[1].flags, SECCOMP_FILTER_FLAG_NEW_LISTENER) << "nobody said that it waits killably";
}

/// What the planned filter says of a signal to the own group.
std::uint32_t answer_to_group_signal(int landlock_abi) {
  FakeHost host = FakeHost::debian();
  host.facts.landlock_abi = landlock_abi;
  const auto filters = filters_of(host, policy::ExecMode::kAll);
  const seccomp_data data{.nr = seccomp_syscall_resolve_name_rewrite(SCMP_ARCH_X86_64, "kill"),
                          .arch = AUDIT_ARCH_X86_64,
                          .instruction_pointer = 0,
                          .args = {0, 15}};
  return evaluate(filters.at(0).program, data);
}

TEST(FilterSteps, TheFilterKeepsGroupSignalsInsideWhereLandlockDoesNot) {
  EXPECT_EQ(answer_to_group_signal(5), error(EPERM));
  EXPECT_EQ(answer_to_group_signal(6), kAllow);
}

// With neither, the signal leaves: that is said as a part of the layer of processes, and --strict refuses it.
TEST(FilterSteps, WithoutFilterAndScopeTheGroupsSignalsAreADegradation) {
  const auto degraded = [](int landlock_abi) {
    FakeHost host = FakeHost::debian();
    host.facts.landlock_abi = landlock_abi;
    host.facts.feature(plan::Feature::kSeccompFilter).state = plan::Availability::kNo;
    host.program("/home/me/run", "ELF", 1000);
    const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/run").exec(policy::ExecMode::kAll).policy));
    return std::ranges::any_of(plan.degradations, [](const plan::Degradation& one) {
      return one.layer == plan::Layer::kProcesses && one.state == plan::LayerState::kDegraded &&
             one.what.contains("kill(0");
    });
  };
  EXPECT_TRUE(degraded(5));
  EXPECT_FALSE(degraded(6));
}

TEST(FilterSteps, WaitingKillablyIsAskedForWhereTheHostSaysSo) {
  FakeHost host = FakeHost::debian();
  host.facts.feature(plan::Feature::kNotificationKillable).state = plan::Availability::kYes;
  const auto none = filters_of(host, policy::ExecMode::kNone);
  EXPECT_EQ(none[1].flags, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
}

}  // namespace
}  // namespace cordon::planner
