// Notices that the target listens on a TCP port which nobody outside can reach: once, and for who wants to be told
// (a person who starts a server, and finds nothing at its address). A hint, as /proc tells it; no decision rests on it.
//
// It has no clock of its own: whoever wakes the loop anyway (the broker's heartbeat does, twice a second) calls look().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include "plan/plan.h"

namespace cordon::enforce::supervise {

/// Of a text such as /proc/net/tcp, the lowest port that somebody listens on, of those that a person would have chosen:
/// from 1,024 on and below those that the kernel picks. Not one of `own`. Pure.
std::optional<std::uint16_t> lowest_listener(std::string_view table, const std::set<std::uint16_t>& own);

class ListenerWatch {
 public:
  using Call = std::function<void(std::uint16_t)>;

  /// An empty `call`: it never looks.
  ListenerWatch(const plan::Plan& plan, Call call);
  /// `init`: whose network it is.
  void look(pid_t init, std::uint64_t now_ns);

 private:
  Call call_;
  std::set<std::uint16_t> own_;  ///< the broker's
  std::uint64_t next_ns_ = 0;
  int looks_left_ = 600;  ///< some minutes: what starts later was not started by who waits for it
};

}  // namespace cordon::enforce::supervise
