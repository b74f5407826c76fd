// Error: the host refused something. Made in kernel/ (from an errno), carried as a value, worded in report/.
#pragma once

#include <cstdint>
#include <string>

namespace cordon::base {

/// Position of a step in a Plan, from 1; 0 is "no step". A policy line, a plan step, a failure in the child and a
/// report line are one thing seen four times, and this is its name.
struct StepId {
  std::uint16_t value = 0;
  friend bool operator==(StepId, StepId) = default;
  friend auto operator<=>(StepId, StepId) = default;
};

struct Error {
  std::string operation;  ///< the system call or act, as the man page names it: "openat2"
  std::string subject;    ///< what it was done to, unquoted; may hold hostile bytes, quote() before printing
  int code = 0;           ///< errno, or 0 where the reason is not an errno
  StepId step;            ///< the plan step that failed, if any
  std::string detail;     ///< why, in words, where an errno does not say it

  friend bool operator==(const Error&, const Error&) = default;
};

/// "openat2 /etc/x: No such file or directory (ENOENT)", quoted.
std::string to_string(const Error& error);

/// "ENOENT" for 2; "errno 9999" for what has no name here.
std::string errno_name(int code);

}  // namespace cordon::base
