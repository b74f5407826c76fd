// What a warden that was killed itself leaves behind (the landlock engine): its children become ours, where we are a
// subreaper, and are ended here. Only for a program of its own: a library's host may have children of any kind.
#pragma once

#include <sys/types.h>

#include <set>

namespace cordon::enforce::supervise {

class Orphans {
 public:
  /// From now on orphans of our descendants become our children. Those that we have by now are none of the run's.
  static Orphans adopt();
  /// Kills every other child, and what becomes ours by that, until there is none.
  void end_all() const;

 private:
  std::set<pid_t> before_;
};

}  // namespace cordon::enforce::supervise
