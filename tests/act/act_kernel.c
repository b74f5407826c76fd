/* System calls that a confined program has no business with. Most are made so that they change nothing where allowed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "act.h"

static int result(long answer) { return answer < 0 ? errno : 0; }

/* In a child, because success would change this process. */
static int tried_in_child(int (*attempt)(void)) {
  const pid_t pid = fork();
  if (pid < 0) return errno;
  if (pid == 0) _exit(attempt());
  int status;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int unshare_user(void) { return result(unshare(CLONE_NEWUSER)); }
static int unshare_mount(void) { return result(unshare(CLONE_NEWNS)); }
static int act_unshare(const char* what) {
  return tried_in_child(strcmp(what, "mount") == 0 ? unshare_mount : unshare_user);
}

static int clone_user(const char* operand) {
  (void)operand;
  const long pid = syscall(SYS_clone, CLONE_NEWUSER | 17 /* SIGCHLD */, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  if (pid < 0) return errno;
  waitpid((pid_t)pid, NULL, 0);
  return 0;
}
static int clone3_user(const char* operand) {
  (void)operand;
  struct {
    unsigned long long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
  } args = {.flags = CLONE_NEWUSER, .exit_signal = 17};
  const long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid == 0) _exit(0);
  if (pid < 0) return errno;
  waitpid((pid_t)pid, NULL, 0);
  return 0;
}

static int act_setns(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  return result(setns(fd, 0));
}

/* "/tmp" and the like: any directory. */
static int mount_tmpfs(const char* path) { return result(mount("cordon", path, "tmpfs", 0, NULL)); }
static int act_umount(const char* path) { return result(umount2(path, MNT_DETACH)); }
static int remount_writable(const char* path) { return result(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL)); }
static int act_open_tree(const char* path) {
  return result(syscall(428 /* open_tree */, AT_FDCWD, path, 1 | O_CLOEXEC));
}
static int act_fsopen(const char* type) { return result(syscall(430 /* fsopen */, type, 1)); }
static int set_attributes(const char* path) {
  const unsigned long long attr[4] = {0, 1, 0, 0};
  return result(syscall(442 /* mount_setattr */, AT_FDCWD, path, 0, attr, sizeof attr));
}
static int act_chroot(const char* path) { return result(chroot(path)); }
static int pivot(const char* path) { return result(syscall(SYS_pivot_root, path, path)); }

static int act_bpf(const char* operand) {
  (void)operand;
  unsigned attr[32] = {2 /* array */, 4, 4, 1};
  return result(syscall(SYS_bpf, 0, attr, sizeof attr));
}
static int perf(const char* operand) {
  (void)operand;
  unsigned attr[32] = {1 /* software */, sizeof attr};
  return result(syscall(SYS_perf_event_open, attr, 0, -1, -1, 0));
}
static int act_keyctl(const char* operand) {
  (void)operand;
  return result(syscall(SYS_keyctl, 0 /* get id */, -3 /* session */, 0));
}
static int add_key(const char* operand) {
  (void)operand;
  return result(syscall(SYS_add_key, "user", "cordon", "x", 1, -2));
}
static int io_uring(const char* operand) {
  (void)operand;
  unsigned params[30] = {0};
  return result(syscall(SYS_io_uring_setup, 1, params));
}
static int userfaultfd(const char* operand) {
  (void)operand;
  return result(syscall(SYS_userfaultfd, 1 /* user mode only */));
}
static int file_handle(const char* operand) {
  (void)operand;
  char handle[16] = {8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
  const int root = open("/", O_RDONLY | O_CLOEXEC);
  return result(syscall(SYS_open_by_handle_at, root, handle, O_RDONLY));
}
static int swap(const char* operand) {
  (void)operand;
  return result(syscall(SYS_swapon, "/nonexistent", 0));
}
static int load_module(const char* operand) {
  (void)operand;
  return result(syscall(SYS_init_module, NULL, 0, ""));
}
static int act_reboot(const char* operand) {
  (void)operand;
  return result(syscall(SYS_reboot, 0, 0, 0, NULL)); /* wrong magic: EINVAL where the call itself is open */
}
/* The size of the kernel's log: as much of a secret as its text, to the kernel. */
static int kernel_log(const char* operand) {
  (void)operand;
  return result(syscall(SYS_syslog, 10, NULL, 0));
}
static int act_setuid(const char* id) { return result(setuid((uid_t)atoi(id))); }
static int act_setgid(const char* id) { return result(setgid((gid_t)atoi(id))); }
static int sethostname_act(const char* name) { return result(sethostname(name, strlen(name))); }
static int raise_core(const char* operand) {
  (void)operand;
  const struct rlimit want = {4096, 4096};
  return result(setrlimit(RLIMIT_CORE, &want));
}

/* A call by its number, all arguments zero. */
static int by_number(const char* number) { return result(syscall(atol(number), 0, 0, 0, 0, 0, 0)); }

#if defined(__x86_64__)
/* getpid through the 32-bit gate and through the x32 numbers: a filter that checks no architecture lets both by. */
static int gate32(void) {
  int answer;
  __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20) : "memory");
  return answer < 0 ? -answer : 0;
}
static int gate_x32(void) { return result(syscall(0x40000000 + SYS_getpid)); }
static int act_i386(const char* operand) {
  (void)operand;
  return tried_in_child(gate32);
}
static int act_x32(const char* operand) {
  (void)operand;
  return tried_in_child(gate_x32);
}
#else
static int act_i386(const char* operand) { return (void)operand, ENOSYS; }
static int act_x32(const char* operand) { return (void)operand, ENOSYS; }
#endif

const struct act kernel_acts[] = {{"unshare", act_unshare},
                                  {"clone-user", clone_user},
                                  {"clone3-user", clone3_user},
                                  {"setns", act_setns},
                                  {"mount", mount_tmpfs},
                                  {"umount", act_umount},
                                  {"remount", remount_writable},
                                  {"open-tree", act_open_tree},
                                  {"fsopen", act_fsopen},
                                  {"mount-setattr", set_attributes},
                                  {"chroot", act_chroot},
                                  {"pivot-root", pivot},
                                  {"bpf", act_bpf},
                                  {"perf", perf},
                                  {"keyctl", act_keyctl},
                                  {"add-key", add_key},
                                  {"io-uring", io_uring},
                                  {"userfaultfd", userfaultfd},
                                  {"file-handle", file_handle},
                                  {"swapon", swap},
                                  {"init-module", load_module},
                                  {"reboot", act_reboot},
                                  {"kernel-log", kernel_log},
                                  {"setuid", act_setuid},
                                  {"setgid", act_setgid},
                                  {"sethostname", sethostname_act},
                                  {"raise-core", raise_core},
                                  {"call", by_number},
                                  {"i386", act_i386},
                                  {"x32", act_x32},
                                  {NULL, NULL}};
