// The launcher's voice: messages on the control socket. Verified marks are collected and sent many at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "enforce/launch/protocol.h"
#include "kernel/errno.h"
#include "kernel/file.h"

namespace cordon::enforce::launch {

class Channel {
 public:
  explicit Channel(kernel::FdView socket) : socket_(socket) {}

  /// Sends what was collected and then this. A supervisor that is gone is a failure: nothing may run without one.
  kernel::Sys<void> send(Message message, kernel::FdView fd = {});

  /// Collects one mark; false where it does not hold.
  bool verified(Check check, std::uint16_t step, bool held, int code);
  /// Ends the process as fail_step() does if a mark did not hold.
  void must_have_held();

  /// Says which step failed, and ends the process. Whoever calls this has not started the target.
  [[noreturn]] void fail_step(std::uint16_t step, kernel::Errno why);
  [[noreturn]] void refuse_plan(const char* why, std::uint16_t step = 0);

 private:
  [[noreturn]] void end(Message message, const char* text);
  kernel::Sys<void> flush(std::size_t count, kernel::FdView fd);

  kernel::FdView socket_;
  std::array<Message, kMostPerDatagram> collected_{};
  std::size_t count_ = 0;
  bool all_held_ = true;
  std::uint16_t failed_step_ = 0;
};

}  // namespace cordon::enforce::launch
