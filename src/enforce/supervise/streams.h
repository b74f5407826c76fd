// The target's standard streams: which descriptors it gets, and what comes out of its pipes.
#pragma once

#include <cstddef>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "enforce/launch/start.h"
#include "enforce/supervise/supervise.h"

namespace cordon::enforce::supervise {

/// The read end of one of the target's output pipes.
class Output {
 public:
  Output() = default;
  explicit Output(base::Fd pipe, OnChunk on_chunk) : pipe_(std::move(pipe)), on_chunk_(std::move(on_chunk)) {}

  enum class State : std::uint8_t { kOpen, kEnded };
  /// Hands on what is there, up to a bound, so that neither stream starves the other.
  State hand_on();
  /// When no process of the run is left: everything that is still in the pipe. Does not wait for its end, since a
  /// process outside may have been given the write end.
  void drain();

  [[nodiscard]] base::FdView fd() const { return pipe_; }
  [[nodiscard]] bool is_open() const { return pipe_.valid(); }
  void close() { pipe_.reset(); }

 private:
  /// Bytes handed on; 0 at the end of the pipe or where nothing is there now: then `ended` tells which.
  std::size_t one_chunk(bool& ended);

  base::Fd pipe_;
  OnChunk on_chunk_;
  std::vector<std::byte> buffer_;
};

/// The descriptors for the launcher, and those that have to live until it has them.
struct ChildStreams {
  launch::Streams views;
  Output out, error;
  std::vector<base::Fd> held;  ///< to be closed when the launcher has started
};
base::Result<ChildStreams> make_streams(Options& options);

}  // namespace cordon::enforce::supervise
