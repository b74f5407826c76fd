#include "support/turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>

#include "support/require.h"

namespace cordon::test {

Turn::Turn(const char* name) {
  const std::string path = std::string("/var/tmp/cordon-test-") + name + ".lock";
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  require(lock_ >= 0 && ::flock(lock_, LOCK_EX) == 0, path);
}

Turn::~Turn() { ::close(lock_); }

}  // namespace cordon::test
