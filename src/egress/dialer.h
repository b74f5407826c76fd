// Dialer: connects to the first of a host's addresses that answers (happy eyeballs, RFC 8305): families take turns, the
// next address is tried when one has failed or has said nothing for a while, and the first connection wins.
//
// It dials exactly the addresses that it is given; they have passed the guard, and nothing is looked up in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "egress/poller.h"
#include "kernel/net.h"

namespace cordon::egress {

/// Sockets of second and further attempts are shared by all connections.
struct AttemptBudget {
  std::size_t extra = 128;
};

class Dialer {
 public:
  enum class State : std::uint8_t { kUnderWay, kConnected, kFailed };

  Dialer(std::vector<kernel::Endpoint> endpoints, Handle owner, std::uint64_t stagger_ns, Poller& poller,
         AttemptBudget& budget);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  State start(std::uint64_t now_ns);
  State on_event(std::uint8_t part, std::uint64_t now_ns);
  State on_time(std::uint64_t now_ns);

  /// kConnected: the connection, watched by nobody.
  [[nodiscard]] kernel::Fd take() { return std::move(connected_); }
  /// kFailed: why the last attempt failed.
  [[nodiscard]] int code() const { return code_; }

 private:
  static constexpr std::size_t kMostAtOnce = 4;
  struct Attempt {
    kernel::Fd socket;
    Watch watch;
    bool extra = false;
  };
  State try_next(std::uint64_t now_ns);
  State begin(Attempt& attempt, std::uint8_t part, const kernel::Endpoint& to);
  void end(Attempt& attempt);
  [[nodiscard]] bool any_under_way() const;

  std::vector<kernel::Endpoint> endpoints_;
  std::size_t next_ = 0;
  std::uint64_t next_at_ns_ = 0;
  Handle owner_;
  std::uint64_t stagger_ns_;
  Poller& poller_;
  AttemptBudget& budget_;
  std::array<Attempt, kMostAtOnce> attempts_;
  kernel::Fd connected_;
  int code_ = 0;
};

/// Families in turns, the first address' family first; the order within a family stays.
std::vector<kernel::Endpoint> interleaved(const std::vector<kernel::Endpoint>& endpoints);

}  // namespace cordon::egress
