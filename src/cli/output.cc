#include "cli/output.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <span>

#include "kernel/file.h"
#include "kernel/process.h"

namespace cordon::cli {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// False where the reader took nothing for that long, or is gone.
bool wait_for_room(base::FdView fd, int patience_ms) {
  std::array<pollfd, 1> room{pollfd{.fd = fd.get(), .events = POLLOUT, .revents = 0}};
  while (true) {
    const auto ready = kernel::poll(room, patience_ms);
    if (ready) return *ready != 0;
    if (ready.error().code != EINTR) return false;
  }
}

bool write_with_patience(const Sink& sink, std::string_view text, int patience_ms) {
  while (!text.empty()) {
    const auto taken = sink.write(bytes_of(text));
    if (!taken) return false;
    if (*taken == 0 && !wait_for_room(sink.fd(), patience_ms)) return false;
    text.remove_prefix(*taken);
  }
  return true;
}

}  // namespace

void Output::print(std::string_view text) {
  flush_all();
  if (text.empty() || broken_) return;
  const bool written =
      sink_ ? write_with_patience(*sink_, text, patience_ms_) : kernel::write_all(out_, bytes_of(text)).has_value();
  if (!written) broken_ = true;
}

void Output::say(std::string_view text) {
  if (text.empty()) return;
  // Where even standard error is gone there is nobody left to tell.
  if (patience_ms_ < 0) {
    static_cast<void>(kernel::write_all(err_, bytes_of(text)));
  } else {
    static_cast<void>(write_with_patience(Sink(err_), text, patience_ms_));
  }
}

void Output::emit(std::string_view event) {
  if (!sink_) sink_.emplace(out_);
  if (!broken_) pending_ += event;
}

void Output::flush() {
  while (sent_ < pending_.size() && !broken_) {
    const auto taken = sink_->write(bytes_of(std::string_view(pending_).substr(sent_)));
    if (!taken) broken_ = true;
    if (!taken || *taken == 0) break;
    sent_ += *taken;
  }
  if (!broken_ && sent_ < pending_.size() / 2) return;
  pending_.erase(0, broken_ ? pending_.size() : sent_);
  sent_ = 0;
}

void Output::flush_all() {
  while (true) {
    flush();
    if (pending_.empty()) return;
    if (!wait_for_room(sink_->fd(), patience_ms_)) broken_ = true;
  }
}

base::FdView Output::waiting_for() const { return pending_.empty() ? base::FdView(-1) : sink_->fd(); }

}  // namespace cordon::cli
