/* What can be done to files. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "act.h"

static int result(long answer) { return answer < 0 ? errno : 0; }

static int act_read(const char* path) {
  struct stat st;
  if (stat(path, &st) != 0) return errno;
  if (S_ISDIR(st.st_mode)) {
    DIR* directory = opendir(path);
    if (directory == NULL) return errno;
    errno = 0;
    const struct dirent* entry = readdir(directory);
    const int code = entry == NULL ? errno : 0;
    closedir(directory);
    return code;
  }
  const int fd = open(path, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return errno;
  char byte;
  const int code = result(read(fd, &byte, 1));
  close(fd);
  return code;
}

/* Nothing is written: whether it opens is the question. */
static int open_write(const char* path) {
  const int fd = open(path, O_WRONLY | O_NONBLOCK);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

/* Until the host has made it; half a minute at most. */
static int await_file(const char* path) {
  for (int i = 0; i < 3000; ++i) {
    if (access(path, F_OK) == 0) return 0;
    usleep(10000);
  }
  return ETIMEDOUT;
}

static int append(const char* path) {
  const int fd = open(path, O_WRONLY | O_APPEND);
  if (fd < 0) return errno;
  const int code = result(write(fd, "+", 1));
  close(fd);
  return code;
}

static int create(const char* path) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (fd < 0) return errno;
  const int code = result(write(fd, "made\n", 5));
  close(fd);
  return code;
}

static int act_unlink(const char* path) { return result(unlink(path)); }
static int act_mkdir(const char* path) { return result(mkdir(path, 0755)); }
static int act_rmdir(const char* path) { return result(rmdir(path)); }
static int act_stat(const char* path) {
  struct stat st;
  return result(lstat(path, &st));
}
static int act_truncate(const char* path) { return result(truncate(path, 0)); }
static int act_chmod(const char* path) { return result(chmod(path, 0777)); }
static int act_utime(const char* path) { return result(utimensat(AT_FDCWD, path, NULL, 0)); }
static int act_setxattr(const char* path) { return result(setxattr(path, "user.cordon", "1", 1, 0)); }
/* "CALL:PATH": a new file, or mode, with set-id bits. Allowed is what left them there. */
static int set_id(const char* operand) {
  enum { kMode = 06755 };
  char call[4096], path[4096];
  if (!split_operand(operand, call, path, sizeof call)) return EINVAL;
  struct {
    unsigned long long flags, mode, resolve;
  } how = {O_CREAT | O_WRONLY, kMode, 0};
  umask(0);
  long answer = -1;
  if (strcmp(call, "chmod") == 0) answer = syscall(SYS_fchmodat, AT_FDCWD, path, kMode);
  if (strcmp(call, "fchmodat2") == 0) answer = syscall(452, AT_FDCWD, path, kMode, 0);
  if (strcmp(call, "fchmod") == 0) answer = fchmod(open(path, O_RDONLY | O_CLOEXEC), kMode);
  if (strcmp(call, "fchmod-stdin") == 0) answer = fchmod(0, kMode);
  if (strcmp(call, "open") == 0) answer = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, kMode);
  if (strcmp(call, "openat2") == 0) answer = syscall(437, AT_FDCWD, path, &how, sizeof how);
  if (strcmp(call, "mknod") == 0) answer = mknod(path, S_IFREG | kMode, 0);
  if (strcmp(call, "mkdir") == 0) answer = mkdir(path, kMode);
  if (answer < 0) return errno;
  struct stat st;
  if ((strcmp(call, "fchmod-stdin") == 0 ? fstat(0, &st) : stat(path, &st)) != 0) return errno;
  return (st.st_mode & 06000) != 0 ? 0 : ENODATA;
}
static int act_mkfifo(const char* path) { return result(mkfifo(path, 0600)); }
static int act_mknod(const char* path) { return result(mknod(path, S_IFCHR | 0666, 0x103)); }

static int act_rename(const char* operand) {
  char from[4096], to[4096];
  if (!split_operand(operand, from, to, sizeof from)) return EINVAL;
  return result(rename(from, to));
}

static int act_exchange(const char* operand) {
  char from[4096], to[4096];
  if (!split_operand(operand, from, to, sizeof from)) return EINVAL;
  return result(renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE));
}

static int act_link(const char* operand) {
  char from[4096], to[4096];
  if (!split_operand(operand, from, to, sizeof from)) return EINVAL;
  return result(link(from, to));
}

static int act_symlink(const char* operand) {
  char from[4096], to[4096];
  if (!split_operand(operand, from, to, sizeof from)) return EINVAL;
  return result(symlink(from, to));
}

/* W^X: may a file's pages be mapped executable? */
static int mmap_exec(const char* path) {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return errno;
  void* map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  const int code = map == MAP_FAILED ? errno : 0;
  if (map != MAP_FAILED) munmap(map, 4096);
  close(fd);
  return code;
}

const struct act file_acts[] = {{"read", act_read},         {"open-write", open_write},
                                {"append", append},         {"await", await_file},
                                {"create", create},         {"unlink", act_unlink},
                                {"mkdir", act_mkdir},       {"rmdir", act_rmdir},
                                {"stat", act_stat},         {"truncate", act_truncate},
                                {"chmod", act_chmod},       {"utime", act_utime},
                                {"setxattr", act_setxattr}, {"mkfifo", act_mkfifo},
                                {"mknod", act_mknod},       {"rename", act_rename},
                                {"exchange", act_exchange}, {"set-id", set_id},
                                {"link", act_link},         {"symlink", act_symlink},
                                {"mmap-exec", mmap_exec},   {NULL, NULL}};
