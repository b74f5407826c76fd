/* What can be done with programs, processes, sockets and the terminal. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "act.h"

static int result(long answer) { return answer < 0 ? errno : 0; }

/* Runs `execute` in a child; the errno of a failed exec comes back through a close-on-exec pipe. */
static int in_child(void (*execute)(const char*), const char* operand) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  const pid_t pid = fork();
  if (pid < 0) return errno;
  if (pid == 0) {
    const int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
      dup2(null, 1);
      dup2(null, 2);
    }
    execute(operand);
    const int code = errno;
    if (write(ends[1], &code, sizeof code) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  int code = 0;
  if (read(ends[0], &code, sizeof code) != (ssize_t)sizeof code) code = 0;
  close(ends[0]);
  int status;
  waitpid(pid, &status, 0);
  return code;
}

static void do_execve(const char* path) {
  char* const argv[] = {(char*)path, NULL};
  execv(path, argv);
}
static void do_execveat(const char* path) {
  char* const argv[] = {(char*)path, NULL};
  char* const envp[] = {NULL};
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd >= 0) syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
}
static void do_memfd(const char* path) {
  char* const argv[] = {(char*)path, NULL};
  char* const envp[] = {NULL};
  const int from = open(path, O_RDONLY | O_CLOEXEC);
  if (from < 0) return;
  const int fd = (int)syscall(SYS_memfd_create, "payload", 1U);
  char buffer[65536];
  for (ssize_t n; (n = read(from, buffer, sizeof buffer)) > 0;) {
    if (write(fd, buffer, (size_t)n) != n) return;
  }
  syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
}
static int act_exec(const char* path) { return in_child(do_execve, path); }
static int act_execveat(const char* path) { return in_child(do_execveat, path); }
static int exec_memfd(const char* path) { return in_child(do_memfd, path); }

/* An exec from another thread than the first, and one without fork: the program itself is replaced. */
static int exec_self(const char* path) {
  do_execve(path);
  return errno;
}
static void* exec_in_thread(void* path) {
  do_execve(path);
  return (void*)(long)errno;
}
static int exec_thread(const char* path) {
  pthread_t thread;
  void* answer = NULL;
  const int code = pthread_create(&thread, NULL, exec_in_thread, (void*)path);
  if (code != 0) return code;
  pthread_join(thread, &answer);
  return (int)(long)answer;
}

static int act_fork(const char* operand) {
  (void)operand;
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  if (pid < 0) return errno;
  int status;
  waitpid(pid, &status, 0);
  return 0;
}
static void* nothing(void* argument) { return argument; }
static int act_thread(const char* operand) {
  (void)operand;
  pthread_t thread;
  const int code = pthread_create(&thread, NULL, nothing, NULL);
  if (code == 0) pthread_join(thread, NULL);
  return code;
}

static int act_kill(const char* pid) { return result(kill(atoi(pid), SIGKILL)); }
static int act_stop(const char* pid) { return result(kill(atoi(pid), SIGSTOP)); }
static int act_signal0(const char* pid) { return result(kill(atoi(pid), 0)); }
/* To the own process group, which outside of a sandbox is that of the caller's pipeline. */
static int signal_group(const char* operand) {
  (void)operand;
  signal(SIGUSR1, SIG_IGN);
  return result(kill(0, SIGUSR1));
}

/* Less time for a process or a group. */
static int renice(const char* pid) { return result(setpriority(PRIO_PROCESS, (id_t)atoi(pid), 3)); }
static int renice_group(const char* operand) {
  (void)operand;
  return result(setpriority(PRIO_PGRP, 0, 3));
}
static int renice_user(const char* operand) {
  (void)operand;
  return result(setpriority(PRIO_USER, 0, 3));
}
static int io_idle(const char* pid) { return result(syscall(SYS_ioprio_set, 1, atoi(pid), 3 << 13)); }
static int io_idle_group(const char* operand) {
  (void)operand;
  return result(syscall(SYS_ioprio_set, 2, 0, 3 << 13));
}
static int only_idle(const char* pid) {
  const struct sched_param none = {0};
  return result(sched_setscheduler(atoi(pid), SCHED_IDLE, &none));
}
static int one_processor(const char* pid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  return result(sched_setaffinity(atoi(pid), sizeof set, &set));
}
static int limit_files(const char* pid) {
  const struct rlimit few = {64, 64};
  return result(prlimit(atoi(pid), RLIMIT_NOFILE, &few, NULL));
}

static int act_ptrace(const char* pid) {
  if (ptrace(PTRACE_SEIZE, atoi(pid), 0, 0) != 0) return errno;
  ptrace(PTRACE_DETACH, atoi(pid), 0, 0);
  return 0;
}
static int read_memory(const char* pid) {
  char byte;
  struct iovec local = {&byte, 1}, remote = {(void*)0x400000, 1};
  const long answer = process_vm_readv(atoi(pid), &local, 1, &remote, 1, 0);
  return answer < 0 && errno != EFAULT ? errno : 0;
}
static int take_descriptor(const char* pid) {
  const int pidfd = (int)syscall(SYS_pidfd_open, atoi(pid), 0);
  if (pidfd < 0) return errno;
  return result(syscall(SYS_pidfd_getfd, pidfd, 0, 0));
}

static int act_tcp(const char* operand) {
  char host[64], port[64];
  if (!split_operand(operand, host, port, sizeof host)) return EINVAL;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
  inet_pton(AF_INET, host, &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int code = result(connect(fd, (struct sockaddr*)&to, sizeof to));
  close(fd);
  return code;
}

/* connect on a datagram socket sends nothing: it asks the routing table. */
static int act_udp(const char* operand) {
  char host[64], port[64];
  if (!split_operand(operand, host, port, sizeof host)) return EINVAL;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
  inet_pton(AF_INET, host, &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int code = result(connect(fd, (struct sockaddr*)&to, sizeof to));
  close(fd);
  return code;
}

/* A server and its client, both ours, on the loopback. */
static int own_server(const char* operand) {
  (void)operand;
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof at;
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (server < 0 || client < 0) return errno;
  if (bind(server, (struct sockaddr*)&at, sizeof at) != 0 || listen(server, 1) != 0 ||
      getsockname(server, (struct sockaddr*)&at, &size) != 0) {
    return errno;
  }
  return result(connect(client, (struct sockaddr*)&at, sizeof at));
}

static int unix_connect(const char* name, int abstract) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  if (strlen(name) >= sizeof to.sun_path - 1) return ENAMETOOLONG;
  strcpy(to.sun_path + abstract, name);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)abstract + strlen(name));
  const int code = result(connect(fd, (struct sockaddr*)&to, size));
  close(fd);
  return code;
}
static int act_unix(const char* path) { return unix_connect(path, 0); }
static int act_abstract(const char* name) { return unix_connect(name, 1); }

static int act_socket(const char* operand) {
  int family = 0, type = 0, protocol = 0;
  if (sscanf(operand, "%d,%d,%d", &family, &type, &protocol) != 3) return EINVAL;
  const int fd = socket(family, type, protocol);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

/* Pushes a byte into the terminal's input. The request goes through a raw call so that all 64 bits arrive. */
static int terminal_push(unsigned long request) {
  const char byte = '#';
  const int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
  return result(syscall(SYS_ioctl, fd >= 0 ? fd : 0, request, &byte));
}
static int act_tiocsti(const char* operand) {
  (void)operand;
  return terminal_push(0x5412);
}
static int tiocsti_high(const char* operand) {
  (void)operand;
  return terminal_push(0x100005412UL);
}
static int act_tioclinux(const char* operand) {
  (void)operand;
  return terminal_push(0x541c);
}

static int act_tiocexcl(const char* operand) {
  (void)operand;
  return terminal_push(0x540cUL);
}
/* The line discipline that eats everything, N_NULL. */
static int act_tiocsetd(const char* operand) {
  const int null_discipline = 27;
  (void)operand;
  const int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
  return result(syscall(SYS_ioctl, fd >= 0 ? fd : 0, 0x5423UL, &null_discipline));
}

static int act_sleep(const char* seconds) {
  sleep((unsigned)atoi(seconds));
  return 0;
}

/* A daemon that will not go: two forks, a session of its own, all signals ignored. The operand marks its argv. */
static int act_daemon(const char* marker) {
  const pid_t pid = fork();
  if (pid < 0) return errno;
  if (pid > 0) {
    int status;
    waitpid(pid, &status, 0);
    return 0;
  }
  setsid();
  if (fork() > 0) _exit(0);
  for (int number = 1; number < 65; ++number) signal(number, SIG_IGN);
  (void)marker;
  for (int fd = 0; fd < 3; ++fd) close(fd);
  for (;;) sleep(60);
}

static int act_exit(const char* code) {
  fflush(stdout);
  _exit(atoi(code));
}
static int act_die(const char* number) {
  fflush(stdout);
  signal(atoi(number), SIG_DFL);
  raise(atoi(number));
  return EAGAIN;
}

const struct act process_acts[] = {{"exec", act_exec},
                                   {"execveat", act_execveat},
                                   {"exec-memfd", exec_memfd},
                                   {"exec-self", exec_self},
                                   {"exec-thread", exec_thread},
                                   {"fork", act_fork},
                                   {"thread", act_thread},
                                   {"kill", act_kill},
                                   {"stop", act_stop},
                                   {"signal0", act_signal0},
                                   {"signal-group", signal_group},
                                   {"renice", renice},
                                   {"renice-group", renice_group},
                                   {"renice-user", renice_user},
                                   {"io-idle", io_idle},
                                   {"io-idle-group", io_idle_group},
                                   {"only-idle", only_idle},
                                   {"one-processor", one_processor},
                                   {"limit-files", limit_files},
                                   {"ptrace", act_ptrace},
                                   {"read-memory", read_memory},
                                   {"take-descriptor", take_descriptor},
                                   {"tcp", act_tcp},
                                   {"udp", act_udp},
                                   {"own-server", own_server},
                                   {"unix", act_unix},
                                   {"abstract", act_abstract},
                                   {"socket", act_socket},
                                   {"tiocsti", act_tiocsti},
                                   {"tiocsti-high", tiocsti_high},
                                   {"tioclinux", act_tioclinux},
                                   {"tiocexcl", act_tiocexcl},
                                   {"tiocsetd", act_tiocsetd},
                                   {"sleep", act_sleep},
                                   {"daemon", act_daemon},
                                   {"exit", act_exit},
                                   {"die", act_die},
                                   {NULL, NULL}};
