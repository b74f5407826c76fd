// CHECK: a broken invariant of ours (never a user's mistake, never a host's refusal) ends the process at once.
//
// Three kinds of failure, never mixed (docs/architecture.md): Diagnostic for the user's mistake, Error for the host's
// refusal, CHECK for our bug.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace cordon::base {

[[noreturn]] inline void check_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "cordon: internal error at %s:%d: %s\n", file, line, what);
  std::abort();
}

}  // namespace cordon::base

#define CORDON_CHECK(condition)                                                     \
  do {                                                                              \
    if (!(condition)) ::cordon::base::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
