// Poller: epoll with tags that say whose descriptor an event belongs to. Level-triggered: what was not dealt with comes
// again, and nothing is lost by a bound on the work of one turn.
#pragma once

#include <cstdint>
#include <utility>

#include "egress/handle.h"
#include "kernel/event.h"

namespace cordon::egress {

enum class Owner : std::uint8_t { kControl, kResolver, kListener, kClient, kServer, kAttempt, kDnsConnection };

struct Tag {
  Owner owner = Owner::kControl;
  std::uint8_t part = 0;  ///< of kAttempt: which
  Handle handle;

  [[nodiscard]] std::uint64_t packed() const {
    return std::uint64_t{static_cast<std::uint8_t>(owner)} << 56 | std::uint64_t{part} << 48 |
           std::uint64_t{handle.generation} << 32 | handle.slot;
  }
  static Tag unpacked(std::uint64_t value) {
    return {static_cast<Owner>(value >> 56),
            static_cast<std::uint8_t>(value >> 48),
            {static_cast<std::uint32_t>(value), static_cast<std::uint16_t>(value >> 32)}};
  }
};

/// What a descriptor is watched for. Errors and hang-ups are always told while it is watched at all.
struct Watch {
  bool on = false;
  std::uint32_t events = 0;
};

class Poller {
 public:
  explicit Poller(kernel::Fd epoll) : epoll_(std::move(epoll)) {}

  /// False where the kernel refuses to watch: whoever asked gives the descriptor up.
  bool watch(kernel::FdView fd, Tag tag, std::uint32_t events, Watch& state) {
    if (state.on && state.events == events) return true;
    const auto done = state.on ? kernel::epoll_modify(epoll_, fd, events, tag.packed())
                               : kernel::epoll_add(epoll_, fd, events, tag.packed());
    state = {done.has_value(), events};
    return done.has_value();
  }
  void forget(kernel::FdView fd, Watch& state) {
    if (state.on) static_cast<void>(kernel::epoll_remove(epoll_, fd).has_value());
    state = {};
  }
  kernel::Sys<std::size_t> wait(std::span<epoll_event> into, int timeout_ms) {
    return kernel::epoll_wait(epoll_, into, timeout_ms);
  }

 private:
  kernel::Fd epoll_;
};

}  // namespace cordon::egress
