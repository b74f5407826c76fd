// Sink: a descriptor of the caller's that is written to without ever waiting for its reader.
//
// The caller's descriptor is shared with other processes, so its O_NONBLOCK is left as it is. A pipe or a terminal is
// opened once more through /proc/self/fd, which makes an open file of our own; a socket is asked call by call; a
// regular file has no reader to wait for. Where none of that can be (a pipe of another user's), poll(2) is asked first,
// and then at most as much is written as a pipe that has room takes at once.
#pragma once

#include <cstddef>
#include <span>

#include "base/fd.h"
#include "kernel/errno.h"

namespace cordon::cli {

class Sink {
 public:
  explicit Sink(base::FdView given);

  /// Bytes taken; 0 where the reader has to read first.
  kernel::Sys<std::size_t> write(std::span<const std::byte> bytes) const;

  /// To be polled for POLLOUT.
  [[nodiscard]] base::FdView fd() const { return own_.valid() ? own_.view() : given_; }

 private:
  enum class Kind : std::uint8_t { kOwn, kSocket, kFile, kPolled };
  base::FdView given_;
  base::Fd own_;
  Kind kind_ = Kind::kPolled;
};

}  // namespace cordon::cli
