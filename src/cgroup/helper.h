// Helper: a running cordon-scope (scope/main.cc). It is in the scope that it asked for, and keeps it: when the Helper
// goes, or this process dies, it ends, and the manager takes the scope away once nothing is left in it.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::cgroup {

class Helper {
 public:
  /// Asks the manager behind `socket` for the scope `name` and waits until the helper is in it.
  static base::Result<Helper> start(const std::string& socket, const std::string& name);

  Helper() = default;
  Helper(Helper&&) noexcept = default;
  Helper& operator=(Helper&&) noexcept;
  ~Helper() { end(); }

  [[nodiscard]] bool valid() const { return pidfd_.valid(); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Moves a process into the group "run" of the scope by the manager, which may where we may not.
  base::Result<void> attach(pid_t pid);

 private:
  base::Result<void> hear(const char* operation);
  void end();

  base::Fd socket_, pidfd_;
  pid_t pid_ = 0;
};

}  // namespace cordon::cgroup
