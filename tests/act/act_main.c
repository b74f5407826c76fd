#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "act.h"

int split_operand(const char* operand, char* first, char* second, unsigned long size) {
  const char* colon = strrchr(operand, ':');
  if (colon == NULL || (unsigned long)(colon - operand) >= size || strlen(colon) >= size) return 0;
  memcpy(first, operand, (unsigned long)(colon - operand));
  first[colon - operand] = 0;
  strcpy(second, colon + 1);
  return 1;
}

const char* errno_word(int code) {
  const char* name = strerrorname_np(code);
  return name != NULL ? name : "unknown";
}

static const struct act* find(const struct act* table, const char* name, unsigned long length) {
  for (; table->name != NULL; ++table) {
    if (strlen(table->name) == length && memcmp(table->name, name, length) == 0) return table;
  }
  return NULL;
}

static const struct act* lookup(const char* word) {
  const unsigned long length = strcspn(word, "=");
  const struct act* const tables[] = {file_acts, process_acts, kernel_acts, show_acts};
  for (unsigned i = 0; i < sizeof tables / sizeof *tables; ++i) {
    const struct act* found = find(tables[i], word, length);
    if (found != NULL) return found;
  }
  return NULL;
}

/* act without=NUMBER PROGRAM ARGS…: runs a program for which the host denies one system call, as a container's profile
 * may. Compared is the number alone: that is all that these tests need. */
static int run_without(const char* number, char** argv) {
  struct sock_filter code[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0}, /* seccomp_data.nr */
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)atol(number)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 3;
  execv(argv[0], argv);
  return 3;
}

static int try_one(const char* word) {
  const struct act* act = lookup(word);
  if (act == NULL) {
    fprintf(stderr, "act: unknown act %s\n", word);
    return 2;
  }
  const char* operand = strchr(word, '=');
  const int code = act->run(operand == NULL ? "" : operand + 1);
  if (code == 0) {
    printf("%s ALLOWED\n", word);
  } else {
    printf("%s DENIED %s\n", word, errno_word(code));
  }
  return 0;
}

/* act from=FILE: one act a line, where they are more than a command line or a manifest holds. */
static int try_from(const char* path) {
  char line[16384];
  FILE* file = fopen(path, "re");
  if (file == NULL) {
    fprintf(stderr, "act: %s cannot be read\n", path);
    return 2;
  }
  int code = 0;
  while (code == 0 && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = 0;
    code = try_one(line);
  }
  fclose(file);
  return code;
}

int main(int argc, char** argv) {
  if (argc > 2 && strncmp(argv[1], "without=", 8) == 0) return run_without(argv[1] + 8, argv + 2);
  if (argc > 2 && strcmp(argv[1], "container") == 0) return run_in_container(argv + 2);
  setvbuf(stdout, NULL, _IOLBF, 4096);
  for (int i = 1; i < argc; ++i) {
    const int code = strncmp(argv[i], "from=", 5) == 0 ? try_from(argv[i] + 5) : try_one(argv[i]);
    if (code != 0) return code;
  }
  return 0;
}
