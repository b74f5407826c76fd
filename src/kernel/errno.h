// Sys<T>: what a system call answered. This room is the only reader of errno; each call stands once, typed, here.
//
// Everything in kernel/ is inline, allocates nothing and throws nothing, so that the launcher can use it as it is. A
// room that can allocate turns an Errno into a base::Error with error_at(), adding what the call was done to.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"

namespace cordon::kernel {

struct Errno {
  int code = 0;
  const char* call = "";  ///< as the man page names it
  friend bool operator==(const Errno& a, const Errno& b) { return a.code == b.code; }
};

template <class T>
using Sys = base::Result<T, Errno>;

/// The failure of the call that has just returned.
inline std::unexpected<Errno> failed(const char* call) { return std::unexpected(Errno{errno, call}); }

inline base::Error error_at(Errno errno_value, std::string_view subject, base::StepId step = {}) {
  return {.operation = errno_value.call, .subject = std::string(subject), .code = errno_value.code, .step = step};
}

/// For a call that answers 0 or -1.
inline Sys<void> done(long result, const char* call) {
  if (result < 0) return failed(call);
  return {};
}

/// Repeats a call that a signal interrupted.
template <class Call>
auto retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace cordon::kernel
