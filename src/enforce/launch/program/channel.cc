#include "enforce/launch/program/channel.h"

#include <cstdlib>

namespace cordon::enforce::launch {

using kernel::Errno;
using kernel::FdView;
using kernel::Sys;

Sys<void> Channel::flush(std::size_t count, FdView fd) {
  count_ = 0;
  auto sent = kernel::send_message(socket_, std::as_bytes(std::span(collected_).first(count)), fd);
  if (!sent) return base::fail(sent.error());
  return {};
}

Sys<void> Channel::send(Message message, FdView fd) {
  collected_[count_++] = message;  // verified() leaves room for one
  return flush(count_, fd);
}

bool Channel::verified(Check check, std::uint16_t step, bool held, int code) {
  if (all_held_ && !held) failed_step_ = step;
  all_held_ = all_held_ && held;
  collected_[count_++] = {.kind = Kind::kVerified, .step = step, .check = check, .code = code, .held = held ? 1U : 0U};
  // A mark that is lost is not a promise that is lost: all_held_ decides, and kReady fails on the same socket.
  if (count_ == kMostPerDatagram - 1 && !flush(count_, {})) all_held_ = false;
  return held;
}

void Channel::must_have_held() {
  if (!all_held_) fail_step(failed_step_, {EPERM, "verification"});
}

void Channel::end(Message message, const char* text) {
  std::strncpy(message.text.data(), text, message.text.size() - 1);
  static_cast<void>(send(message).has_value());  // nobody is left to tell: the end of the process says it
  std::_Exit(1);
}

void Channel::fail_step(std::uint16_t step, Errno why) {
  end({.kind = Kind::kStepFailed, .step = step, .code = why.code}, why.call);
}

void Channel::refuse_plan(const char* why, std::uint16_t step) { end({.kind = Kind::kPlanRefused, .step = step}, why); }

}  // namespace cordon::enforce::launch
