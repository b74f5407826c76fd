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
#ifndef SYS_open_tree_attr  // 6.15
#define SYS_open_tree_attr 467
#endif

namespace cordon::kernel {

/// A detached copy of the mount at `path` below `directory` ("" with AT_EMPTY_PATH: of the descriptor itself).
inline Sys<Fd> open_tree(FdView directory, const char* path, unsigned flags) {
  const long fd = ::syscall(SYS_open_tree, directory.get(), path, flags | static_cast<unsigned>(O_CLOEXEC));
  if (fd < 0) return failed("open_tree");
  return Fd(static_cast<int>(fd));
}

/// As open_tree, with these attributes on every mount that was copied (AT_RECURSIVE) or on that one: one call where
/// there is one for it (6.15), two before.
inline Sys<Fd> open_tree_attr(FdView directory, const char* path, unsigned flags, const MountAttr& attributes) {
  const long fd = ::syscall(SYS_open_tree_attr, directory.get(), path, flags | static_cast<unsigned>(O_CLOEXEC),
                            &attributes, sizeof attributes);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  // Whatever it did not like, these two say it as older kernels do.
  CORDON_TRY(Fd tree, open_tree(directory, path, flags));
  const unsigned recursive = flags & kAtRecursive;
  if (::syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH | recursive, &attributes, sizeof attributes) < 0) {
    return failed("mount_setattr");
  }
  return tree;
}

inline Sys<void> move_mount(FdView from, const char* from_path, FdView to, const char* to_path, unsigned flags) {
  return done(::syscall(SYS_move_mount, from.get(), from_path, to.get(), to_path, flags), "move_mount");
}

/// A detached mount onto what `at` is, and onto a name, through no link in the last place.
inline Sys<void> attach(FdView mount, FdView at) {
  return move_mount(mount, "", at, "", kMoveMountFromEmptyPath | kMoveMountToEmptyPath);
}
inline Sys<void> attach_at(FdView mount, FdView directory, const char* name) {
  return move_mount(mount, "", directory, name, kMoveMountFromEmptyPath);
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
