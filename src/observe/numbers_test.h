// For this room's tests: the numbers of the watched calls on the machine that we run on. In the product libseccomp
// tells them, in the planner.
#pragma once

#include <sys/syscall.h>

#include <string_view>
#include <vector>

#include "plan/path_calls.h"
#include "plan/plan.h"

namespace cordon::observe::testing {

inline std::vector<plan::WatchedCall> native_calls(plan::Watching watching) {
  struct Named {
    std::string_view name;
    long number;
  };
  static const std::vector<Named> known = {
#ifdef SYS_execve
      {"execve", SYS_execve},
#endif
#ifdef SYS_execveat
      {"execveat", SYS_execveat},
#endif
#ifdef SYS_set_tid_address
      {"set_tid_address", SYS_set_tid_address},
#endif
#ifdef SYS_exit_group
      {"exit_group", SYS_exit_group},
#endif
#ifdef SYS_open
      {"open", SYS_open},
#endif
#ifdef SYS_openat
      {"openat", SYS_openat},
#endif
#ifdef SYS_openat2
      {"openat2", SYS_openat2},
#endif
#ifdef SYS_creat
      {"creat", SYS_creat},
#endif
#ifdef SYS_stat
      {"stat", SYS_stat},
#endif
#ifdef SYS_lstat
      {"lstat", SYS_lstat},
#endif
#ifdef SYS_access
      {"access", SYS_access},
#endif
#ifdef SYS_readlink
      {"readlink", SYS_readlink},
#endif
#ifdef SYS_statfs
      {"statfs", SYS_statfs},
#endif
#ifdef SYS_getxattr
      {"getxattr", SYS_getxattr},
#endif
#ifdef SYS_lgetxattr
      {"lgetxattr", SYS_lgetxattr},
#endif
#ifdef SYS_listxattr
      {"listxattr", SYS_listxattr},
#endif
#ifdef SYS_llistxattr
      {"llistxattr", SYS_llistxattr},
#endif
#ifdef SYS_newfstatat
      {"newfstatat", SYS_newfstatat},
#endif
#ifdef SYS_statx
      {"statx", SYS_statx},
#endif
#ifdef SYS_faccessat
      {"faccessat", SYS_faccessat},
#endif
#ifdef SYS_faccessat2
      {"faccessat2", SYS_faccessat2},
#endif
#ifdef SYS_readlinkat
      {"readlinkat", SYS_readlinkat},
#endif
#ifdef SYS_name_to_handle_at
      {"name_to_handle_at", SYS_name_to_handle_at},
#endif
#ifdef SYS_getxattrat
      {"getxattrat", SYS_getxattrat},
#endif
#ifdef SYS_listxattrat
      {"listxattrat", SYS_listxattrat},
#endif
#ifdef SYS_file_getattr
      {"file_getattr", SYS_file_getattr},
#endif
#ifdef SYS_inotify_add_watch
      {"inotify_add_watch", SYS_inotify_add_watch},
#endif
#ifdef SYS_fanotify_mark
      {"fanotify_mark", SYS_fanotify_mark},
#endif
#ifdef SYS_rename
      {"rename", SYS_rename},
#endif
#ifdef SYS_renameat
      {"renameat", SYS_renameat},
#endif
#ifdef SYS_renameat2
      {"renameat2", SYS_renameat2},
#endif
#ifdef SYS_mkdir
      {"mkdir", SYS_mkdir},
#endif
#ifdef SYS_mkdirat
      {"mkdirat", SYS_mkdirat},
#endif
#ifdef SYS_rmdir
      {"rmdir", SYS_rmdir},
#endif
#ifdef SYS_unlink
      {"unlink", SYS_unlink},
#endif
#ifdef SYS_unlinkat
      {"unlinkat", SYS_unlinkat},
#endif
#ifdef SYS_truncate
      {"truncate", SYS_truncate},
#endif
#ifdef SYS_mknod
      {"mknod", SYS_mknod},
#endif
#ifdef SYS_mknodat
      {"mknodat", SYS_mknodat},
#endif
#ifdef SYS_chmod
      {"chmod", SYS_chmod},
#endif
#ifdef SYS_fchmodat
      {"fchmodat", SYS_fchmodat},
#endif
#ifdef SYS_fchmodat2
      {"fchmodat2", SYS_fchmodat2},
#endif
#ifdef SYS_chown
      {"chown", SYS_chown},
#endif
#ifdef SYS_lchown
      {"lchown", SYS_lchown},
#endif
#ifdef SYS_fchownat
      {"fchownat", SYS_fchownat},
#endif
#ifdef SYS_utime
      {"utime", SYS_utime},
#endif
#ifdef SYS_utimes
      {"utimes", SYS_utimes},
#endif
#ifdef SYS_utimensat
      {"utimensat", SYS_utimensat},
#endif
#ifdef SYS_futimesat
      {"futimesat", SYS_futimesat},
#endif
#ifdef SYS_setxattr
      {"setxattr", SYS_setxattr},
#endif
#ifdef SYS_lsetxattr
      {"lsetxattr", SYS_lsetxattr},
#endif
#ifdef SYS_removexattr
      {"removexattr", SYS_removexattr},
#endif
#ifdef SYS_lremovexattr
      {"lremovexattr", SYS_lremovexattr},
#endif
#ifdef SYS_setxattrat
      {"setxattrat", SYS_setxattrat},
#endif
#ifdef SYS_removexattrat
      {"removexattrat", SYS_removexattrat},
#endif
#ifdef SYS_file_setattr
      {"file_setattr", SYS_file_setattr},
#endif
#ifdef SYS_link
      {"link", SYS_link},
#endif
#ifdef SYS_linkat
      {"linkat", SYS_linkat},
#endif
#ifdef SYS_symlink
      {"symlink", SYS_symlink},
#endif
#ifdef SYS_symlinkat
      {"symlinkat", SYS_symlinkat},
#endif
#ifdef SYS_bind
      {"bind", SYS_bind},
#endif
#ifdef SYS_connect
      {"connect", SYS_connect},
#endif
#ifdef SYS_chdir
      {"chdir", SYS_chdir},
#endif
#ifdef SYS_sendto
      {"sendto", SYS_sendto},
#endif
#ifdef SYS_sendmsg
      {"sendmsg", SYS_sendmsg},
#endif
#ifdef SYS_sendmmsg
      {"sendmmsg", SYS_sendmmsg},
#endif
  };
  std::vector<plan::WatchedCall> out;
  for (std::uint16_t row = 0; const plan::PathCall& call : plan::calls_of(watching)) {
    long number = call.number;
    for (const Named& one : known) {
      if (one.name == call.name) number = one.number;
    }
    if (number >= 0) out.push_back({.number = static_cast<std::uint32_t>(number), .row = row});
    ++row;
  }
  return out;
}

}  // namespace cordon::observe::testing
