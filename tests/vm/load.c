// What tries to use up a machine, and says how far it came. Static: the guest has no libraries for it.
//   hog MIB      takes that much memory and touches it
//   forks N      starts N processes and keeps them until the last was tried
//   bomb         starts processes for ever
//   burn MS      uses that much CPU time
//   wait         until its standard input ends
//   look         what it can do to control groups
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int hog(long mib) {
  for (long i = 0; i < mib; ++i) {
    char* piece = malloc(1 << 20);
    if (piece == NULL) return 1;
    memset(piece, (int)i + 1, 1 << 20);
  }
  printf("took %ld MiB\n", mib);
  return 0;
}

static int forks(long n) {
  long had = 0;
  for (long i = 0; i < n; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      pause();
      _exit(0);
    }
    if (pid > 0) ++had;
  }
  printf("had %ld processes\n", had);
  fflush(stdout);
  return 0;
}

static int bomb(void) {
  signal(SIGTERM, SIG_IGN);
  while (fork() >= -1) {
  }
  return 0;
}

static int burn(long ms) {
  struct timespec used;
  do {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < ms);
  printf("burnt %ld ms\n", ms);
  return 0;
}

static int wait_for_end(void) {
  char byte;
  printf("waiting\n");
  fflush(stdout);
  while (read(0, &byte, 1) > 0) {
  }
  printf("over\n");
  return 0;
}

static int look(void) {
  const int file = open("/sys/fs/cgroup/cgroup.procs", O_WRONLY);
  printf("cgroup.procs: %s\n", file >= 0 ? "opened" : "refused");
  mkdir("/tmp/c", 0700);
  printf("mount: %s\n", mount("none", "/tmp/c", "cgroup2", 0, NULL) == 0 ? "mounted" : "refused");
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const long number = argc > 2 ? atol(argv[2]) : 0;
  if (strcmp(argv[1], "hog") == 0) return hog(number);
  if (strcmp(argv[1], "forks") == 0) return forks(number);
  if (strcmp(argv[1], "bomb") == 0) return bomb();
  if (strcmp(argv[1], "burn") == 0) return burn(number);
  if (strcmp(argv[1], "wait") == 0) return wait_for_end();
  if (strcmp(argv[1], "look") == 0) return look();
  return 2;
}
