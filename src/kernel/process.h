// Processes: clone3, pidfds, waiting, signals, ids, prctl, capabilities, resource limits.
#pragma once

#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <span>

#include "kernel/errno.h"
#include "kernel/file.h"
#include "kernel/uapi.h"

namespace cordon::kernel {

/// clone3(2) (5.3), fork-like: answers 0 in the child. No stack may be shared (kCloneVm needs a stack of its own).
inline Sys<pid_t> clone3(CloneArgs& args) {
  const long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) return failed("clone3");
  return static_cast<pid_t>(pid);
}

/// clone3(), or clone(2) where a container's filter knows no clone3 (it answers ENOSYS). Of `args` flags, pidfd and
/// exit_signal count. The kernel's own call: on x86-64 and arm64 its first three arguments are the same.
inline Sys<pid_t> clone_process(CloneArgs& args) {
  auto made = clone3(args);
  if (made || made.error().code != ENOSYS) return made;
  const long pid = ::syscall(SYS_clone, args.flags | args.exit_signal, 0UL, args.pidfd, 0UL, 0UL);
  if (pid < 0) return failed("clone");
  return static_cast<pid_t>(pid);
}

/// clone(2) with a stack of its own, of which `stack_end` is the end: the child runs `entry(argument)`.
inline Sys<pid_t> clone_onto(int (*entry)(void*), void* stack_end, int flags, void* argument) {
  const pid_t pid = ::clone(entry, stack_end, flags, argument);
  if (pid < 0) return failed("clone");
  return pid;
}

inline Sys<void> unshare(std::uint64_t flags) {
  return done(::syscall(SYS_unshare, static_cast<unsigned long>(flags)), "unshare");
}

inline Sys<Fd> pidfd_open(pid_t pid, unsigned flags = 0) {
  const long fd = ::syscall(SYS_pidfd_open, pid, flags);
  if (fd < 0) return failed("pidfd_open");
  return Fd(static_cast<int>(fd));
}
inline Sys<void> pidfd_send_signal(FdView pidfd, int signal) {
  return done(::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0), "pidfd_send_signal");
}

/// Copies from another process' memory into `into`, at most as far as each remote part can be read
/// (process_vm_readv(2)).
inline Sys<std::size_t> read_memory(pid_t pid, std::span<const iovec> remote, std::span<std::byte> into) {
  const iovec local{.iov_base = into.data(), .iov_len = into.size()};
  const ssize_t n = ::process_vm_readv(pid, &local, 1, remote.data(), remote.size(), 0);
  if (n < 0) return failed("process_vm_readv");
  return static_cast<std::size_t>(n);
}

inline Sys<siginfo_t> waitid(idtype_t type, id_t id, int options) {
  siginfo_t info{};
  if (retry([&] { return ::waitid(type, id, &info, options); }) < 0) return failed("waitid");
  return info;
}

/// wait4(2) of any child; 0 where WNOHANG found none. `status` as the man page's macros read it.
inline Sys<pid_t> wait_any(int& status, int options) {
  const pid_t pid = static_cast<pid_t>(::wait4(-1, &status, options, nullptr));
  if (pid < 0) return failed("wait4");
  return pid;
}

/// poll(2); timeout in milliseconds, -1: none. EINTR is answered, not retried: the caller decides.
inline Sys<int> poll(std::span<pollfd> fds, int timeout_ms) {
  const int n = ::poll(fds.data(), fds.size(), timeout_ms);
  if (n < 0) return failed("poll");
  return n;
}

/// ppoll(2) with `mask` blocked meanwhile, for as long as `limit` says where there is one. EINTR is answered.
inline Sys<int> ppoll(std::span<pollfd> fds, const sigset_t& mask, const timespec* limit = nullptr) {
  const int n = ::ppoll(fds.data(), fds.size(), limit, &mask);
  if (n < 0) return failed("ppoll");
  return n;
}

inline Sys<Fd> signalfd(const sigset_t& mask) {
  const int fd = ::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) return failed("signalfd");
  return Fd(fd);
}
inline Sys<void> sigprocmask(int how, const sigset_t& mask, sigset_t* old = nullptr) {
  return done(::sigprocmask(how, &mask, old), "sigprocmask");
}
/// As sigprocmask, of the calling thread only.
inline Sys<void> thread_sigmask(int how, const sigset_t& mask, sigset_t* old = nullptr) {
  const int code = ::pthread_sigmask(how, &mask, old);
  if (code != 0) return base::fail(Errno{code, "pthread_sigmask"});
  return {};
}
/// True where the process ignores this signal.
inline Sys<bool> is_ignored(int signal) {
  struct sigaction action{};
  if (::sigaction(signal, nullptr, &action) < 0) return failed("sigaction");
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}
inline Sys<void> handle_signal(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  return done(::sigaction(signal, &action, nullptr), "sigaction");
}
inline Sys<Fd> timerfd_create() {
  const int fd = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (fd < 0) return failed("timerfd_create");
  return Fd(fd);
}
inline Sys<void> timerfd_settime(FdView timer, std::uint64_t after_ns) {
  const itimerspec when{.it_interval = {},
                        .it_value = {.tv_sec = static_cast<time_t>(after_ns / 1'000'000'000),
                                     .tv_nsec = static_cast<long>(after_ns % 1'000'000'000)}};
  return done(::timerfd_settime(timer.get(), 0, &when, nullptr), "timerfd_settime");
}
inline std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

inline Sys<void> prctl(int option, unsigned long a = 0, unsigned long b = 0, unsigned long c = 0, unsigned long d = 0) {
  return done(::prctl(option, a, b, c, d), "prctl");
}
inline Sys<int> prctl_get(int option, unsigned long a = 0) {
  const int value = ::prctl(option, a, 0UL, 0UL, 0UL);
  if (value < 0) return failed("prctl");
  return value;
}

using CapabilitySets = std::array<__user_cap_data_struct, 2>;
inline Sys<void> capset(const CapabilitySets& sets) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  return done(::syscall(SYS_capset, &header, sets.data()), "capset");
}
inline Sys<CapabilitySets> capget() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  CapabilitySets sets{};
  if (::syscall(SYS_capget, &header, sets.data()) < 0) return failed("capget");
  return sets;
}

inline Sys<void> setresgid(gid_t gid) { return done(::syscall(SYS_setresgid, gid, gid, gid), "setresgid"); }
inline Sys<void> setresuid(uid_t uid) { return done(::syscall(SYS_setresuid, uid, uid, uid), "setresuid"); }
/// Whom file access is done as. These calls answer the id before and never an error, so the id after is looked at.
inline Sys<void> setfsgid(gid_t gid) {
  ::syscall(SYS_setfsgid, gid);
  if (static_cast<gid_t>(::syscall(SYS_setfsgid, gid_t(-1))) != gid) return base::fail(Errno{EPERM, "setfsgid"});
  return {};
}
/// From 0 to another id: the capabilities that reach past file permissions are not effective until it is 0 again.
inline Sys<void> setfsuid(uid_t uid) {
  ::syscall(SYS_setfsuid, uid);
  if (static_cast<uid_t>(::syscall(SYS_setfsuid, uid_t(-1))) != uid) return base::fail(Errno{EPERM, "setfsuid"});
  return {};
}
inline Sys<void> setgroups(std::span<const gid_t> groups) {
  return done(::syscall(SYS_setgroups, groups.size(), groups.data()), "setgroups");
}

inline Sys<rlimit64> getrlimit(int resource) {
  rlimit64 value{};
  if (::syscall(SYS_prlimit64, 0, resource, nullptr, &value) < 0) return failed("getrlimit");
  return value;
}
inline Sys<void> setrlimit(int resource, rlimit64 value) {
  return done(::syscall(SYS_prlimit64, 0, resource, &value, nullptr), "setrlimit");
}

inline Sys<void> execve(const char* path, char* const argv[], char* const envp[]) {
  ::execve(path, argv, envp);
  return failed("execve");
}

}  // namespace cordon::kernel
