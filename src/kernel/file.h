// Files, by descriptor: open, stat, read, write, directories.
#pragma once

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/fd.h"
#include "kernel/errno.h"
#include "kernel/uapi.h"

namespace cordon::kernel {

using base::Fd;
using base::FdView;

/// The directory that relative paths start from.
inline constexpr FdView kHere{AT_FDCWD};

/// openat2(2) (5.6). O_CLOEXEC is always added.
inline Sys<Fd> openat2(FdView directory, const char* path, OpenHow how) {
  how.flags |= O_CLOEXEC;
  const long fd = retry([&] { return ::syscall(SYS_openat2, directory.get(), path, &how, sizeof how); });
  if (fd < 0) return failed("openat2");
  return Fd(static_cast<int>(fd));
}

inline Sys<Fd> openat(FdView directory, const char* path, int flags, mode_t mode = 0) {
  const int fd = retry([&] { return ::openat(directory.get(), path, flags | O_CLOEXEC, mode); });
  if (fd < 0) return failed("openat");
  return Fd(fd);
}

/// statx(2) of `path` below `directory`; "" with AT_EMPTY_PATH is the descriptor itself.
inline Sys<struct ::statx> statx(FdView directory, const char* path, int flags) {
  struct ::statx out{};
  if (::syscall(SYS_statx, directory.get(), path, flags | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_BTIME, &out) < 0) {
    return failed("statx");
  }
  return out;
}

/// The kind of what is there (S_IFMT), by what is known of it: no file system's server is asked.
inline Sys<mode_t> type_at(FdView directory, const char* path) {
  struct ::statx facts{};
  if (::statx(directory.get(), path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &facts) != 0)
    return failed("statx");
  return static_cast<mode_t>(facts.stx_mode & S_IFMT);
}
inline Sys<struct ::statx> statx(FdView fd) { return statx(fd, "", AT_EMPTY_PATH); }

inline Sys<struct ::statfs> fstatfs(FdView fd) {
  struct ::statfs out{};
  if (retry([&] { return ::fstatfs(fd.get(), &out); }) < 0) return failed("fstatfs");
  return out;
}

/// As stat's st_dev, which is how a plan carries it.
inline std::uint64_t device_of(const struct ::statx& facts) {
  return ::makedev(facts.stx_dev_major, facts.stx_dev_minor);
}

inline Sys<struct ::statfs> statfs(const char* path) {
  struct ::statfs out{};
  if (retry([&] { return ::statfs(path, &out); }) < 0) return failed("statfs");
  return out;
}

inline Sys<std::size_t> read(FdView fd, std::span<std::byte> into) {
  const ssize_t n = retry([&] { return ::read(fd.get(), into.data(), into.size()); });
  if (n < 0) return failed("read");
  return static_cast<std::size_t>(n);
}

inline Sys<std::size_t> pread(FdView fd, std::span<std::byte> into, std::uint64_t offset) {
  const ssize_t n = retry([&] { return ::pread(fd.get(), into.data(), into.size(), static_cast<off_t>(offset)); });
  if (n < 0) return failed("pread");
  return static_cast<std::size_t>(n);
}

inline Sys<std::size_t> write(FdView fd, std::span<const std::byte> from) {
  const ssize_t n = retry([&] { return ::write(fd.get(), from.data(), from.size()); });
  if (n < 0) return failed("write");
  return static_cast<std::size_t>(n);
}

inline Sys<void> write_all(FdView fd, std::span<const std::byte> from) {
  while (!from.empty()) {
    auto n = write(fd, from);
    if (!n) return base::fail(n.error());
    from = from.subspan(*n);
  }
  return {};
}

inline Sys<void> pwrite_all(FdView fd, std::span<const std::byte> from, std::uint64_t offset) {
  while (!from.empty()) {
    const ssize_t n = retry([&] { return ::pwrite(fd.get(), from.data(), from.size(), static_cast<off_t>(offset)); });
    if (n < 0) return failed("pwrite");
    offset += static_cast<std::uint64_t>(n);
    from = from.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

/// readlinkat(2); answers the number of bytes, which fills `into` where the text was cut.
inline Sys<std::size_t> readlinkat(FdView directory, const char* path, std::span<char> into) {
  const ssize_t n = ::readlinkat(directory.get(), path, into.data(), into.size());
  if (n < 0) return failed("readlinkat");
  return static_cast<std::size_t>(n);
}

/// getcwd(2): the length without its NUL. A directory outside the root reads "(unreachable)…", without a leading '/'.
inline Sys<std::size_t> getcwd(std::span<char> into) {
  const long n = ::syscall(SYS_getcwd, into.data(), into.size());
  if (n < 0) return failed("getcwd");
  return static_cast<std::size_t>(n) - 1;
}

inline Sys<void> mkdirat(FdView directory, const char* path, mode_t mode) {
  return done(::mkdirat(directory.get(), path, mode), "mkdirat");
}
/// mknodat(2) of a socket that nobody listens on: a name that can be mounted on and is no file to whoever lists it.
inline Sys<void> make_socket(FdView directory, const char* path, mode_t mode) {
  return done(::mknodat(directory.get(), path, S_IFSOCK | mode, 0), "mknodat");
}
/// mknodat(2) of an empty regular file; EEXIST where the name is taken, by a link too.
inline Sys<void> make_file(FdView directory, const char* path, mode_t mode) {
  return done(::mknodat(directory.get(), path, S_IFREG | mode, 0), "mknodat");
}
/// linkat(2); AT_EMPTY_PATH of a descriptor that the caller opened itself: since 6.10, before for the mighty only.
inline Sys<void> linkat(FdView from, const char* old_path, FdView to, const char* new_path, int flags) {
  return done(::linkat(from.get(), old_path, to.get(), new_path, flags), "linkat");
}
inline Sys<void> symlinkat(const char* text, FdView directory, const char* path) {
  return done(::symlinkat(text, directory.get(), path), "symlinkat");
}
inline Sys<void> unlinkat(FdView directory, const char* path, int flags) {
  return done(::unlinkat(directory.get(), path, flags), "unlinkat");
}
inline Sys<void> renameat2(FdView from, const char* old_path, FdView to, const char* new_path, unsigned flags) {
  return done(::syscall(SYS_renameat2, from.get(), old_path, to.get(), new_path, flags), "renameat2");
}
inline Sys<void> chdir(const char* path) { return done(::chdir(path), "chdir"); }
inline Sys<void> fchdir(FdView directory) { return done(::fchdir(directory.get()), "fchdir"); }
inline Sys<void> fchmod(FdView fd, mode_t mode) { return done(::fchmod(fd.get(), mode), "fchmod"); }
inline Sys<void> fchown(FdView fd, uid_t uid, gid_t gid) { return done(::fchown(fd.get(), uid, gid), "fchown"); }
/// flock(2): the lock belongs to the open file and goes with its last descriptor.
inline Sys<void> flock(FdView fd, int operation) {
  return done(retry([&] { return ::flock(fd.get(), operation); }), "flock");
}
/// fcntl(2), F_GETLK: whose process lock on the file stands in the way; nothing where none does.
inline Sys<std::optional<pid_t>> lock_holder(FdView fd) {
  struct ::flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd.get(), F_GETLK, &lock) < 0) return failed("fcntl");
  return lock.l_type == F_UNLCK ? std::optional<pid_t>() : std::optional(lock.l_pid);
}
/// fcntl(2), F_SETLK and F_SETLKW: goes with the process, and with any descriptor of the file that it closes.
enum class Patience : std::uint8_t { kNone, kWait };
inline Sys<void> lock_file(FdView fd, Patience patience) {
  struct ::flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const int how = patience == Patience::kWait ? F_SETLKW : F_SETLK;
  return done(retry([&] { return ::fcntl(fd.get(), how, &lock); }), "fcntl");
}
inline Sys<void> fsync(FdView fd) { return done(::fsync(fd.get()), "fsync"); }
inline Sys<void> ftruncate(FdView fd, std::uint64_t size) {
  return done(::ftruncate(fd.get(), static_cast<off_t>(size)), "ftruncate");
}
inline Sys<void> faccessat2(FdView directory, const char* path, int mode, int flags) {
  return done(::syscall(SYS_faccessat2, directory.get(), path, mode, flags), "faccessat2");
}
/// As the real user and group; for hosts whose filters do not know faccessat2 (5.8).
inline Sys<void> faccessat(const char* path, int mode) {
  return done(::syscall(SYS_faccessat, AT_FDCWD, path, mode), "faccessat");
}

/// getdents64(2): raw records (struct dirent64) into `into`; 0 bytes at the end.
inline Sys<std::size_t> getdents64(FdView directory, std::span<std::byte> into) {
  const long n = ::syscall(SYS_getdents64, directory.get(), into.data(), into.size());
  if (n < 0) return failed("getdents64");
  return static_cast<std::size_t>(n);
}

/// getrandom(2) (3.17). At most 256 bytes, which never come in part.
inline Sys<void> getrandom(std::span<std::byte> into) {
  return done(retry([&] { return ::syscall(SYS_getrandom, into.data(), into.size(), 0); }), "getrandom");
}

inline Sys<Fd> memfd_create(const char* name, unsigned flags) {
  const long fd = ::syscall(SYS_memfd_create, name, flags | kMfdCloexec);
  if (fd < 0) return failed("memfd_create");
  return Fd(static_cast<int>(fd));
}
inline Sys<void> add_seals(FdView fd, int seals) {
  return done(::fcntl(fd.get(), F_ADD_SEALS, seals), "fcntl(F_ADD_SEALS)");
}
inline Sys<int> get_seals(FdView fd) {
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0) return failed("fcntl(F_GET_SEALS)");
  return seals;
}

/// fcntl(F_GETFL): access mode and status flags.
inline Sys<int> open_flags(FdView fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0) return failed("fcntl(F_GETFL)");
  return flags;
}
/// The same open file at a number of at least `lowest`.
inline Sys<Fd> duplicate(FdView fd, int lowest) {
  const int number = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, lowest);
  if (number < 0) return failed("fcntl(F_DUPFD_CLOEXEC)");
  return Fd(number);
}
/// fcntl(F_GETFD).
inline Sys<int> descriptor_flags(FdView fd) {
  const int flags = ::fcntl(fd.get(), F_GETFD);
  if (flags < 0) return failed("fcntl(F_GETFD)");
  return flags;
}
inline Sys<void> set_cloexec(FdView fd, bool on) {
  return done(::fcntl(fd.get(), F_SETFD, on ? FD_CLOEXEC : 0), "fcntl(F_SETFD)");
}
inline Sys<void> set_nonblocking(FdView fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0) return failed("fcntl(F_GETFL)");
  return done(::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK), "fcntl(F_SETFL)");
}

/// Closes first..last, or with kCloseRangeCloexec marks them (5.11).
inline Sys<void> close_range(unsigned first, unsigned last, unsigned flags) {
  return done(::syscall(SYS_close_range, first, last, flags), "close_range");
}

}  // namespace cordon::kernel
