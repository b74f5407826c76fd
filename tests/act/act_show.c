/* What a program sees of itself and of the host, one line per fact: "show-fds 0 1 2". */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act.h"

extern char** environ;

static int show_fds(const char* operand) {
  (void)operand;
  printf("fds");
  for (int fd = 0; fd < 4096; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) printf(" %d", fd);
  }
  printf("\n");
  return 0;
}

static int show_environment(const char* operand) {
  (void)operand;
  for (char** entry = environ; *entry != NULL; ++entry) printf("env %s\n", *entry);
  return 0;
}

static int show_file(const char* path) {
  char line[8192];
  FILE* file = fopen(path, "re");
  if (file == NULL) return errno;
  while (fgets(line, sizeof line, file) != NULL) printf("| %s", line);
  fclose(file);
  return 0;
}

static int show_list(const char* path) {
  DIR* directory = opendir(path);
  if (directory == NULL) return errno;
  const struct dirent* entry;
  while ((entry = readdir(directory)) != NULL) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) printf("entry %s\n", entry->d_name);
  }
  closedir(directory);
  return 0;
}

static int show_ids(const char* operand) {
  (void)operand;
  printf("ids %u %u %u %u\n", getuid(), geteuid(), getgid(), getegid());
  return 0;
}

static int show_cwd(const char* operand) {
  (void)operand;
  char path[4096];
  if (getcwd(path, sizeof path) == NULL) return errno;
  printf("cwd %s\n", path);
  return 0;
}

static int show_core(const char* operand) {
  (void)operand;
  struct rlimit limit;
  if (getrlimit(RLIMIT_CORE, &limit) != 0) return errno;
  printf("core %llu %llu\n", (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
  return 0;
}

static int show_terminal(const char* operand) {
  (void)operand;
  struct winsize size = {0};
  printf("isatty %d %d %d\n", isatty(0), isatty(1), isatty(2));
  if (ioctl(0, TIOCGWINSZ, &size) == 0) printf("size %d %d\n", size.ws_row, size.ws_col);
  printf("foreground %d\n", tcgetpgrp(0) == getpgrp());
  return 0;
}

/* Names what opens for writing below a directory, this process's own files excepted. Opens, writes nothing. */
static int own(const char* path) {
  char self[64];
  snprintf(self, sizeof self, "/proc/%d", getpid());
  const size_t length = strlen(self);
  return (strncmp(path, self, length) == 0 && (path[length] == '/' || path[length] == 0)) ||
         strncmp(path, "/proc/self", 10) == 0 || strncmp(path, "/proc/thread-self", 17) == 0;
}

static void walk_writable(const char* path, int depth, int* seen) {
  struct stat st;
  if (depth > 12 || own(path) || lstat(path, &st) != 0 || S_ISLNK(st.st_mode)) return;
  if (!S_ISDIR(st.st_mode)) {
    const int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ++*seen;
    if (fd >= 0) {
      printf("writable %s\n", path);
      close(fd);
    }
    return;
  }
  DIR* directory = opendir(path);
  if (directory == NULL) return;
  const struct dirent* entry;
  while ((entry = readdir(directory)) != NULL) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char below[4096];
    if (snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below) {
      walk_writable(below, depth + 1, seen);
    }
  }
  closedir(directory);
}

static int show_writable(const char* path) {
  int seen = 0;
  walk_writable(path, 0, &seen);
  printf("looked-at %d\n", seen);
  return 0;
}

const struct act show_acts[] = {{"show-fds", show_fds},           {"show-env", show_environment},
                                {"show-file", show_file},         {"show-list", show_list},
                                {"show-ids", show_ids},           {"show-cwd", show_cwd},
                                {"show-core", show_core},         {"show-terminal", show_terminal},
                                {"show-writable", show_writable}, {NULL, NULL}};
