// Output: where a command's words go. Written at once and whole, straight to the descriptor: no buffer of ours can be
// left behind by a signal, and what was written before the target's own output stays before it.
//
// A write that fails is remembered and said by the caller's exit code (125): a JSON consumer must not take silence for
// success. With a closed pipe the write fails with EPIPE instead of killing this process.
#pragma once

#include <string_view>

#include "base/fd.h"

namespace cordon::cli {

class Output {
 public:
  Output() = default;
  Output(base::FdView out, base::FdView err) : out_(out), err_(err) {}

  void print(std::string_view text);  ///< standard output
  void say(std::string_view text);    ///< standard error

  /// A write to standard output failed.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  base::FdView out_{1}, err_{2};
  bool broken_ = false;
};

}  // namespace cordon::cli
