#include "planner/host_filter.h"

#include <gtest/gtest.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "plan/attribute_calls.h"
#include "planner/evaluate_test.h"
#include "planner/filters.h"

namespace cordon::planner {
namespace {

constexpr std::uint64_t kUpperHalf = 0x1'0000'0000;

class HostReach : public ::testing::TestWithParam<Machine> {
 protected:
  std::uint32_t call(const std::vector<std::uint8_t>& program, int number,
                     std::initializer_list<std::uint64_t> args = {}) {
    seccomp_data data{.nr = number, .arch = GetParam().audit, .instruction_pointer = 0, .args = {}};
    std::copy(args.begin(), args.end(), std::begin(data.args));
    return evaluate(program, data);
  }
  std::uint32_t call(const char* name, std::initializer_list<std::uint64_t> args = {}) {
    return call(usual_, seccomp_syscall_resolve_name_rewrite(GetParam().scmp, name), args);
  }
  int number(const char* name) { return seccomp_syscall_resolve_name_rewrite(GetParam().scmp, name); }

  std::vector<std::uint8_t> usual_ = host_filter(GetParam().name, {.signals_scoped = true, .attributes_served = true});
  std::vector<std::uint8_t> least_ = host_filter(GetParam().name, {});
};

INSTANTIATE_TEST_SUITE_P(OnEachMachine, HostReach, ::testing::ValuesIn(kMachines),
                         [](const auto& machine) { return std::string(machine.param.name); });

TEST_P(HostReach, OrdinaryCallsGoOn) {
  ASSERT_FALSE(usual_.empty());
  for (const char* name : {"read", "write", "openat", "execve", "mmap", "futex", "kill", "tgkill", "pidfd_open",
                           "wait4", "fchmod", "utimensat", "flock", "inotify_init1"})
    EXPECT_EQ(call(name), kAllow) << name;
}

TEST_P(HostReach, NoSocketIsMadeButAPairThatIsJoinedForGood) {
  for (const unsigned family : {1U, 2U, 10U, 16U, 17U, 40U})  // unix, IPv4, IPv6, netlink, packet, vsock
    for (const unsigned type : {unsigned{SOCK_STREAM}, unsigned{SOCK_DGRAM}, unsigned{SOCK_RAW}})
      EXPECT_EQ(call("socket", {family, type, 0}), error(EAFNOSUPPORT)) << family;
  for (const unsigned type : {unsigned{SOCK_STREAM}, unsigned{SOCK_SEQPACKET},
                              unsigned{SOCK_STREAM} | unsigned{SOCK_CLOEXEC} | unsigned{SOCK_NONBLOCK}})
    EXPECT_EQ(call("socketpair", {AF_UNIX, type, 0}), kAllow) << type;
  for (const unsigned type :
       {unsigned{SOCK_DGRAM}, unsigned{SOCK_RAW}, unsigned{SOCK_RDM}, unsigned{SOCK_DGRAM} | unsigned{SOCK_CLOEXEC}})
    EXPECT_EQ(call("socketpair", {AF_UNIX, type, 0}), error(EPROTONOSUPPORT)) << type;
  EXPECT_EQ(call("socketpair", {AF_UNIX, SOCK_DGRAM | kUpperHalf, 0}), error(EPROTONOSUPPORT));
  EXPECT_EQ(call("socketpair", {AF_INET, SOCK_STREAM, 0}), error(EAFNOSUPPORT));
}

TEST_P(HostReach, OtherProcessesAreOutOfReach) {
  for (const char* name : {"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
                           "move_pages", "migrate_pages"})
    EXPECT_EQ(call(name), error(EPERM)) << name;
  EXPECT_EQ(call("prlimit64", {0, RLIMIT_NOFILE, 1, 0}), kAllow);
  EXPECT_EQ(call("prlimit64", {77, RLIMIT_NOFILE, 0, 1}), kAllow) << "a look";
  EXPECT_EQ(call("prlimit64", {77, RLIMIT_NOFILE, 1, 0}), error(EPERM));
  EXPECT_EQ(call("setpriority", {PRIO_PROCESS, 0, 5}), kAllow);
  EXPECT_EQ(call("setpriority", {PRIO_PROCESS, 77, 5}), error(EPERM));
  EXPECT_EQ(call("setpriority", {PRIO_PGRP, 0, 5}), error(EPERM));
  EXPECT_EQ(call("setpriority", {PRIO_USER | kUpperHalf, 0, 5}), error(EPERM));
  EXPECT_EQ(call("ioprio_set", {IOPRIO_WHO_PROCESS, 0, 0}), kAllow);
  EXPECT_EQ(call("ioprio_set", {IOPRIO_WHO_PROCESS, 77, 0}), error(EPERM));
  EXPECT_EQ(call("sched_setaffinity", {0, 8, 1}), kAllow);
  EXPECT_EQ(call("sched_setaffinity", {77, 8, 1}), error(EPERM));
}

TEST_P(HostReach, IpcObjectsAreClosed) {
  for (const char* name : {"shmget", "shmat", "semget", "semop", "msgget", "msgsnd", "mq_open"})
    EXPECT_EQ(call(name), error(EPERM)) << name;
}

TEST_P(HostReach, WithoutScopesNoSignalIsSent) {
  for (const char* name : {"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"}) {
    EXPECT_EQ(call(least_, number(name), {77, 9}), error(EPERM)) << name;
    EXPECT_EQ(call(name, {77, 9}), kAllow) << "the control: Landlock keeps them inside";
  }
}

TEST_P(HostReach, AttributesAreTheSupervisorsOrNobodys) {
  const auto served = exec_filter(GetParam().name, ExecFilter::kOpen, {}, Attributes::kServed);
  for (const char* name : plan::kAttributeCalls) {
    if (number(name) < 0) continue;
    EXPECT_EQ(call(least_, number(name)), error(EPERM)) << name;
    EXPECT_EQ(call(served, number(name)), SECCOMP_RET_USER_NOTIF) << name;
    EXPECT_EQ(call(exec_filter(GetParam().name, ExecFilter::kNone), number(name)), kAllow) << "the control";
  }
  for (const int newer : {452, 463, 466, 469}) EXPECT_EQ(call(usual_, newer), error(ENOSYS)) << newer;
  for (const std::uint64_t request : {std::uint64_t{FS_IOC_SETFLAGS}, FS_IOC_SETFLAGS | kUpperHalf})
    EXPECT_EQ(call("ioctl", {0, request}), error(EPERM));
  EXPECT_EQ(call("ioctl", {0, FS_IOC_GETFLAGS}), kAllow);
}

}  // namespace
}  // namespace cordon::planner
