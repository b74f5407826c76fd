#include "support/require.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace cordon::test {

void require(bool held, const std::string& what) {
  if (held) return;
  std::fprintf(stderr, "test harness: %s (%s)\n", what.c_str(), std::strerror(errno));
  std::abort();
}

}  // namespace cordon::test
