/* act container PROGRAM ARGS…: the filter that a stock container has where no capability opens more: no namespace, no
 * mount, clone3 unknown. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "act.h"

#define NUMBER {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)}
#define DENY(number, code) \
  {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)(number)}, { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (code) }

int run_in_container(char** argv) {
  struct sock_filter code[] = {
      NUMBER,
      DENY(SYS_clone3, ENOSYS),
      DENY(SYS_unshare, EPERM),
      DENY(SYS_setns, EPERM),
      DENY(SYS_mount, EPERM),
      DENY(SYS_umount2, EPERM),
      DENY(SYS_pivot_root, EPERM),
      DENY(SYS_open_tree, EPERM),
      DENY(SYS_move_mount, EPERM),
      DENY(SYS_fsopen, EPERM),
      DENY(SYS_fsconfig, EPERM),
      DENY(SYS_fsmount, EPERM),
      DENY(SYS_fspick, EPERM),
      DENY(SYS_mount_setattr, EPERM),
      DENY(SYS_keyctl, EPERM),
      DENY(SYS_add_key, EPERM),
      DENY(SYS_request_key, EPERM),
      DENY(SYS_bpf, EPERM),
      DENY(SYS_perf_event_open, EPERM),
      DENY(SYS_userfaultfd, EPERM),
      DENY(SYS_kcmp, EPERM),
      DENY(SYS_pidfd_getfd, EPERM),
      DENY(SYS_io_uring_setup, EPERM),
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_clone},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args)},
      /* As the default filter of Docker's: CLONE_NEW* of any kind. */
      {BPF_JMP | BPF_JSET | BPF_K, 0, 1,
       CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 3;
  execv(argv[0], argv);
  return 3;
}
