// The janitor's process, as its supervisor sees it.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::enforce::hold {

class Janitor {
 public:
  /// It reads the journal (named `name` in the registry) when it has to, and shares its lock.
  static base::Result<Janitor> start(base::FdView registry, base::FdView journal, const std::string& name);

  Janitor(Janitor&&) noexcept = default;
  Janitor& operator=(Janitor&&) noexcept = default;
  /// Where done() was not called it does its work now, and is waited for.
  ~Janitor();

  base::Result<void> init_is_born(base::FdView init_pidfd);
  /// There is nothing left to do.
  void done();

 private:
  Janitor() = default;
  base::Fd socket_, pidfd_;
};

}  // namespace cordon::enforce::hold
