// What the host room asks beside files: the kernel's name, extended attributes, a throw-away child, execution by
// descriptor, an address to bind.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstddef>
#include <ctime>
#include <span>

#include "kernel/errno.h"
#include "kernel/file.h"

namespace cordon::kernel {

inline Sys<utsname> uname() {
  utsname out{};
  if (::uname(&out) < 0) return failed("uname");
  return out;
}

/// getxattr(2), which follows links; ENODATA: no such attribute, ERANGE: it is there and longer than `into`.
inline Sys<std::size_t> getxattr(const char* path, const char* name, std::span<std::byte> into) {
  const ssize_t n = ::getxattr(path, name, into.data(), into.size());
  if (n < 0) return failed("getxattr");
  return static_cast<std::size_t>(n);
}

/// fgetxattr(2); an empty `into` asks for the size.
inline Sys<std::size_t> fgetxattr(FdView fd, const char* name, std::span<std::byte> into) {
  const ssize_t n = ::fgetxattr(fd.get(), name, into.data(), into.size());
  if (n < 0) return failed("fgetxattr");
  return static_cast<std::size_t>(n);
}
inline Sys<void> fsetxattr(FdView fd, const char* name, std::span<const std::byte> value) {
  return done(::fsetxattr(fd.get(), name, value.data(), value.size(), 0), "fsetxattr");
}
inline Sys<void> fremovexattr(FdView fd, const char* name) {
  return done(::fremovexattr(fd.get(), name), "fremovexattr");
}

/// The coarse wall clock, with which the kernel stamps files.
inline timespec coarse_time() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now;
}

/// fork(2), of a process that may have threads: the child calls nothing that allocates or locks, and ends by _exit.
inline Sys<pid_t> fork() {
  const pid_t pid = ::fork();
  if (pid < 0) return failed("fork");
  return pid;
}

/// execveat(2) of the descriptor itself.
inline Sys<void> execute_descriptor(FdView program, char* const argv[], char* const envp[]) {
  ::syscall(SYS_execveat, program.get(), "", argv, envp, AT_EMPTY_PATH);
  return failed("execveat");
}

/// A TCP socket bound to [::1] and a port of the kernel's choice.
inline Sys<Fd> bind_loopback6() {
  Fd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return failed("socket(AF_INET6)");
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) return failed("bind(::1)");
  return socket;
}

}  // namespace cordon::kernel
