// Changes of modes, owners, times and extended attributes, made for the target (plan/attribute_calls.h).
//
// Landlock has no right for them, so that a target on the host's own file system could make them on any file of its
// user's. The filter hands each such call over; here the object is opened as the caller names it, once, and the change
// is made through that descriptor, and only where the object lies in what is granted for writing. What the caller
// changes in its memory meanwhile changes nothing. Nothing is done with more rights than the target has: as its user,
// and of its user's files alone.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "enforce/supervise/exec_gate.h"
#include "plan/plan.h"

namespace cordon::enforce::supervise {

class Attributes {
 public:
  /// Of a plan with serves_attributes.
  explicit Attributes(const plan::Plan& plan);

  static bool is_one(int number);

  /// Makes the change; the errno that the caller is to get, 0 where it was made.
  [[nodiscard]] int serve(const ExecListener& listener, const ExecListener::Call& call) const;

  /// `path` is one of these or lies below it.
  [[nodiscard]] bool is_granted(std::string_view path) const;

 private:
  std::vector<std::string> roots_;
  std::optional<uid_t> uid_;  ///< the target's, where root runs it as somebody else
  gid_t gid_ = 0;
};

}  // namespace cordon::enforce::supervise
