// Output: where a command's words go. Written at once and whole, straight to the descriptor: no buffer of ours can be
// left behind by a signal, and what was written before the target's own output stays before it.
//
// A write that fails is remembered and said by the caller's exit code (125): a JSON consumer must not take silence for
// success. With a closed pipe the write fails with EPIPE instead of killing this process.
//
// While a run is streamed its events must not wait for their reader, or the run's time limit and signals would wait
// with them: emit() takes an event and never blocks, flush() passes on what the reader has room for, and where
// is_full() says so the caller stops taking the target's output. What is printed later comes after all of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "cli/sink.h"

namespace cordon::cli {

class Output {
 public:
  Output() = default;
  Output(base::FdView out, base::FdView err) : out_(out), err_(err) {}

  void print(std::string_view text);  ///< standard output
  void say(std::string_view text);    ///< standard error

  void emit(std::string_view event);  ///< standard output, later
  void flush();
  [[nodiscard]] bool is_full() const { return pending_.size() - sent_ >= kMostPending; }
  /// To be polled for POLLOUT while there is something to flush; else no descriptor.
  [[nodiscard]] base::FdView waiting_for() const;

  /// From now on a reader that takes nothing for this long has gone away. Without it one is waited for.
  void lose_patience(int milliseconds) { patience_ms_ = milliseconds; }

  /// A write to standard output failed.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  static constexpr std::size_t kMostPending = std::size_t{1} << 20U;

  void flush_all();

  base::FdView out_{1}, err_{2};
  std::optional<Sink> sink_;  ///< from the first emit() on
  std::string pending_;
  std::size_t sent_ = 0;  ///< of pending_
  int patience_ms_ = -1;
  bool broken_ = false;
};

}  // namespace cordon::cli
