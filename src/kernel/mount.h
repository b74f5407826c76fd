// The mount API by descriptor (open_tree and move_mount 5.2, mount_setattr 5.12), pivot_root.
#pragma once

#include <sys/mount.h>
#include <sys/syscall.h>

#include "kernel/errno.h"
#include "kernel/file.h"
#include "kernel/uapi.h"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

namespace cordon::kernel {

/// A detached copy of the mount at `path` below `directory` ("" with AT_EMPTY_PATH: of the descriptor itself).
inline Sys<Fd> open_tree(FdView directory, const char* path, unsigned flags) {
  const long fd = ::syscall(SYS_open_tree, directory.get(), path, flags | static_cast<unsigned>(O_CLOEXEC));
  if (fd < 0) return failed("open_tree");
  return Fd(static_cast<int>(fd));
}

inline Sys<void> move_mount(FdView from, const char* from_path, FdView to, const char* to_path, unsigned flags) {
  return done(::syscall(SYS_move_mount, from.get(), from_path, to.get(), to_path, flags), "move_mount");
}

inline Sys<void> mount_setattr(FdView directory, const char* path, unsigned flags, const MountAttr& attributes) {
  return done(::syscall(SYS_mount_setattr, directory.get(), path, flags, &attributes, sizeof attributes),
              "mount_setattr");
}

inline Sys<Fd> fsopen(const char* type) {
  const long fd = ::syscall(SYS_fsopen, type, kFsopenCloexec);
  if (fd < 0) return failed("fsopen");
  return Fd(static_cast<int>(fd));
}
inline Sys<void> fsconfig_string(FdView context, const char* key, const char* value) {
  return done(::syscall(SYS_fsconfig, context.get(), kFsconfigSetString, key, value, 0), "fsconfig");
}
inline Sys<void> fsconfig_flag(FdView context, const char* key) {
  return done(::syscall(SYS_fsconfig, context.get(), kFsconfigSetFlag, key, nullptr, 0), "fsconfig");
}
inline Sys<void> fsconfig_create(FdView context) {
  return done(::syscall(SYS_fsconfig, context.get(), kFsconfigCmdCreate, nullptr, nullptr, 0), "fsconfig");
}
inline Sys<Fd> fsmount(FdView context, std::uint64_t attributes) {
  const long fd = ::syscall(SYS_fsmount, context.get(), kFsmountCloexec, attributes);
  if (fd < 0) return failed("fsmount");
  return Fd(static_cast<int>(fd));
}

/// mount(2), for seeing it refused: mounts are made by descriptor.
inline Sys<void> mount(const char* type, const char* at) {
  return done(::mount("none", at, type, 0, nullptr), "mount");
}
inline Sys<void> pivot_root(const char* new_root, const char* put_old) {
  return done(::syscall(SYS_pivot_root, new_root, put_old), "pivot_root");
}
inline Sys<void> umount2(const char* path, int flags) { return done(::umount2(path, flags), "umount2"); }

}  // namespace cordon::kernel
