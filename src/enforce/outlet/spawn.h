// Starts one of the outlet's two programs: no arguments, no environment, standard streams on /dev/null, every other
// descriptor close-on-exec but those that it is given, no signal blocked or ignored, and a session of its own, so that
// no key and no signal to the caller's group reaches it.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::enforce::outlet {

/// A program that is not reaped yet; killed and waited for where it is left behind.
class Child {
 public:
  Child() = default;
  Child(base::Fd pidfd, pid_t pid) : pidfd_(std::move(pidfd)), pid_(pid) {}
  Child(Child&&) noexcept = default;
  Child& operator=(Child&& other) noexcept;
  ~Child() { end(); }

  [[nodiscard]] base::FdView pidfd() const { return pidfd_; }
  [[nodiscard]] pid_t pid() const { return pidfd_.valid() ? pid_ : -1; }
  [[nodiscard]] bool valid() const { return pidfd_.valid(); }
  /// Waits at most this long for it to go by itself, then kills it.
  void end(int patience_ms = 0);

 private:
  base::Fd pidfd_;
  pid_t pid_ = -1;
};

/// `fds[i]` becomes descriptor 3 + i.
base::Result<Child> spawn(base::FdView program, const std::string& name, std::span<const base::FdView> fds);

}  // namespace cordon::enforce::outlet
