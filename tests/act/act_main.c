#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 4096);
  for (int i = 1; i < argc; ++i) {
    const struct act* act = lookup(argv[i]);
    if (act == NULL) {
      fprintf(stderr, "act: unknown act %s\n", argv[i]);
      return 2;
    }
    const char* operand = strchr(argv[i], '=');
    const int code = act->run(operand == NULL ? "" : operand + 1);
    if (code == 0) {
      printf("%s ALLOWED\n", argv[i]);
    } else {
      printf("%s DENIED %s\n", argv[i], errno_word(code));
    }
  }
  return 0;
}
