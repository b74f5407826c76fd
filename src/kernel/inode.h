// What stands about a file beside its content: extended attributes, mode, times, owner; and copying the content itself
// from one file to another without looking at it.
#pragma once

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <span>

#include "kernel/errno.h"
#include "kernel/file.h"

#ifndef SYS_fchmodat2  // 6.6
#define SYS_fchmodat2 452
#endif

namespace cordon::kernel {

/// flistxattr(2): names, each with its NUL; an empty `into` asks for the size.
inline Sys<std::size_t> flistxattr(FdView fd, std::span<char> into) {
  const ssize_t n = ::flistxattr(fd.get(), into.data(), into.size());
  if (n < 0) return failed("flistxattr");
  return static_cast<std::size_t>(n);
}

/// Of a descriptor opened with O_PATH too: fchmodat2(2), or through /proc where there is none.
inline Sys<void> chmod_object(FdView object, mode_t mode) {
  if (::syscall(SYS_fchmodat2, object.get(), "", mode, AT_EMPTY_PATH) == 0) return {};
  if (errno != ENOSYS && errno != EINVAL && errno != EPERM) return failed("fchmodat2");
  std::array<char, 40> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", object.get());
  return done(::chmod(path.data(), mode), "chmod");
}

/// utimensat(2) of the name itself, be it a link; "" is the descriptor.
inline Sys<void> set_times(FdView directory, const char* name, timespec accessed, timespec modified) {
  const std::array<timespec, 2> times{accessed, modified};
  if (*name == '\0') return done(::futimens(directory.get(), times.data()), "futimens");
  return done(::utimensat(directory.get(), name, times.data(), AT_SYMLINK_NOFOLLOW), "utimensat");
}

/// utimensat(2) of a descriptor that may have been opened with O_PATH, be it of a link (5.8; before that ENOENT).
inline Sys<void> set_object_times(FdView object, const std::array<timespec, 2>& times) {
  return done(::syscall(SYS_utimensat, object.get(), "", times.data(), AT_EMPTY_PATH), "utimensat");
}

/// setxattr(2) and removexattr(2) of a descriptor that may have been opened with O_PATH.
inline Sys<void> set_object_xattr(FdView object, const char* name, std::span<const std::byte> value, int flags) {
  std::array<char, 40> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", object.get());
  return done(::setxattr(path.data(), name, value.data(), value.size(), flags), "setxattr");
}
inline Sys<void> remove_object_xattr(FdView object, const char* name) {
  std::array<char, 40> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", object.get());
  return done(::removexattr(path.data(), name), "removexattr");
}

/// fchownat(2) of the name itself, be it a link.
inline Sys<void> change_owner(FdView directory, const char* name, uid_t uid, gid_t gid) {
  return done(::fchownat(directory.get(), name, uid, gid, AT_SYMLINK_NOFOLLOW), "fchownat");
}

inline Sys<void> syncfs(FdView fd) { return done(::syncfs(fd.get()), "syncfs"); }

/// ioctl(FICLONE): shares the blocks where the file system can.
inline Sys<void> clone_content(FdView from, FdView to) {
  return done(::ioctl(to.get(), FICLONE, from.get()), "ioctl(FICLONE)");
}
/// copy_file_range(2) from both offsets on; 0 at the end.
inline Sys<std::size_t> copy_file_range(FdView from, FdView to, std::size_t size) {
  const ssize_t n = retry([&] { return ::copy_file_range(from.get(), nullptr, to.get(), nullptr, size, 0); });
  if (n < 0) return failed("copy_file_range");
  return static_cast<std::size_t>(n);
}

}  // namespace cordon::kernel
