// Dialer: connects to the first of a host's addresses that answers (happy eyeballs, RFC 8305): families take turns, the
// next address is tried when one has failed or has said nothing for a while, and the first connection wins.
//
// It dials exactly the addresses that it is given; they have passed the guard, and nothing is looked up in between. A
// connection whose two ends have one address has not left the machine: where that was not meant it is closed before a
// byte passes, whatever the guard knew of the machine's addresses when it was asked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "egress/inner_sockets.h"
#include "egress/poller.h"
#include "kernel/net.h"

namespace cordon::egress {

/// Sockets of second and further attempts are shared by all connections.
struct AttemptBudget {
  std::size_t extra = 128;
};

/// Whether the connection may end at this machine. At its own socket (a port of the range that the kernel picks from
/// may connect to itself) none may.
enum class OwnMachine : std::uint8_t { kRefused, kMeant };

struct Target {
  kernel::Endpoint to;
  OwnMachine own = OwnMachine::kRefused;
  friend bool operator==(const Target&, const Target&) = default;
};

class Dialer {
 public:
  enum class State : std::uint8_t { kUnderWay, kConnected, kFailed };

  /// `inner`: where the sockets come from, for a connection into the sandbox.
  Dialer(std::vector<Target> targets, Handle owner, std::uint64_t stagger_ns, Poller& poller, AttemptBudget& budget,
         InnerSockets* inner = nullptr);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  State start(std::uint64_t now_ns);
  State on_event(std::uint8_t part, std::uint64_t now_ns);
  State on_time(std::uint64_t now_ns);

  /// kConnected: the connection, watched by nobody.
  [[nodiscard]] kernel::Fd take() { return std::move(connected_); }
  /// kConnected: AF_INET or AF_INET6.
  [[nodiscard]] int family() const { return family_; }
  /// kFailed: why the last attempt failed.
  [[nodiscard]] int code() const { return code_; }
  /// kFailed: the last that turned out to be this machine, and was not to be.
  [[nodiscard]] const std::optional<kernel::Endpoint>& own() const { return own_; }

 private:
  static constexpr std::size_t kMostAtOnce = 4;
  struct Attempt {
    kernel::Fd socket;
    Watch watch;
    Target target;
    bool extra = false;
  };
  State try_next(std::uint64_t now_ns);
  [[nodiscard]] kernel::Sys<kernel::Fd> make_socket(int family);
  State begin(Attempt& attempt, std::uint8_t part);
  State connected(Attempt& attempt);
  void end(Attempt& attempt);
  [[nodiscard]] bool any_under_way() const;

  std::vector<Target> targets_;
  std::size_t next_ = 0;
  std::uint64_t next_at_ns_ = 0;
  Handle owner_;
  std::uint64_t stagger_ns_;
  Poller& poller_;
  AttemptBudget& budget_;
  InnerSockets* inner_;
  std::array<Attempt, kMostAtOnce> attempts_;
  kernel::Fd connected_;
  int family_ = 0;
  int code_ = 0;
  std::optional<kernel::Endpoint> own_;
};

/// Families in turns, the first address' family first; the order within a family stays.
std::vector<Target> interleaved(const std::vector<Target>& targets);

}  // namespace cordon::egress
