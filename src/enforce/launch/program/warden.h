// The warden: what init is where there is no pid namespace (the landlock engine).
//
// It is a child subreaper, so that whatever the target leaves behind becomes its child. When the target has ended, or
// the supervisor's end of the life socket is closed, it kills what is left until nothing is, removes the run's private
// directory, and exits: its end is the end of the run. Where Landlock scopes signals (ABI 6) it stands in a domain of
// its own around the target's: one kill(-1) then reaches everything of the run at once, and nothing else.
//
// Nobody restarts it: where it is killed itself, what the target has put into another session lives on. The supervisor
// kills the target, and the report names what that engine cannot hold.
#pragma once

#include "enforce/launch/program/tree.h"

namespace cordon::enforce::launch {

bool has_warden(const View& opening_or_plan);

class Warden {
 public:
  /// Before anything is started, for what is started stands in the warden's domain as well.
  Sys<void> prepare(const View& plan);
  /// Makes the run's own directory, and adds its rules.
  Sys<void> make_private_directory(Tree& tree, const View& plan, const Record& record);
  /// Instead of init's disarm(): keeps what ending the run needs, and no more.
  Sys<void> disarm(std::span<const std::byte> plan);
  /// Everything of the run, and its directory, is gone when this returns.
  void end_run() const;
  /// Of a run in which nothing was started.
  void remove_private_directory() const;

 private:
  void kill_all() const;

  bool scoped_ = false;
  bool other_ids_ = false;  ///< root runs the target as somebody else
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  Fd parent_;  ///< of the private directory
  std::array<char, plan::wire::kLongestName + 1> name_{};
};

/// In the private directory, beside what rules name: opens before Landlock is in force, and not after.
inline constexpr const char* kUnnamed = "unnamed";

}  // namespace cordon::enforce::launch
