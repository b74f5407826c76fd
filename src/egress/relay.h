// Relay: two sockets joined, bytes both ways. Each direction ends on its own (half-close); an error of either side ends
// both by a reset, so that what was cut short never looks whole.
//
// Small traffic is copied through one buffer that all connections share; only what the other side does not take at once
// is held, at most kChunk bytes in each direction. After Bounds::splice_after_bytes a direction moves on to a pipe and
// splice(2), as long as the pool has one.
//
// The relay owns no socket; whoever calls pump() watches for what wanted() says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "kernel/net.h"
#include "kernel/socket.h"

namespace cordon::egress {

inline constexpr std::size_t kChunk = 32 * 1024;

/// Pipes of 256 KiB where the kernel grants them, made when first needed and used again when they are empty.
class PipePool {
 public:
  PipePool(std::size_t most, std::uint64_t after_bytes) : left_(most), after_bytes_(after_bytes) {}

  struct Lease {
    kernel::Pipe pipe;
    std::size_t size = 0;
  };
  std::optional<Lease> take();
  /// Only an empty one is used again.
  void give_back(Lease lease, bool empty);
  [[nodiscard]] std::uint64_t after_bytes() const { return after_bytes_; }

 private:
  std::size_t left_;
  std::uint64_t after_bytes_;
  std::vector<Lease> free_;
};

/// What pump() of all relays works with.
struct RelayShared {
  PipePool pipes;
  std::array<std::byte, kChunk> buffer{};
};

class Relay {
 public:
  enum class Side : std::uint8_t { kClient, kServer };
  enum class State : std::uint8_t { kGoing, kDone, kBroken };

  explicit Relay(RelayShared& shared) : shared_(shared) {}
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// Bytes to send to `side` before anything that the other sends. At most a head's worth.
  void preload(Side side, std::span<const std::byte> bytes);
  /// Nothing more than this many bytes is taken from the client.
  void limit_client(std::uint64_t bytes) { out_.budget = bytes; }

  /// What an event can have made possible: a side that became readable moves its own direction, one that became
  /// writable the other.
  enum class Turn : std::uint8_t { kBoth, kOut, kIn };
  State pump(kernel::FdView client, kernel::FdView server, Turn turn);

  /// This side is gone: what it has sent is still passed on, and nothing more is taken from the other.
  void only_deliver(Side from) { only_from_ = from; }
  /// Everything of that side's, its end included, has been passed on.
  [[nodiscard]] bool is_delivered() const { return only_from_ == Side::kServer ? in_.finished : all_is_out(); }

  /// epoll events that can take the relay further.
  [[nodiscard]] std::uint32_t wanted(Side side) const;

  struct Moved {
    std::uint64_t out = 0, in = 0;
  };
  /// Bytes that were passed on since the last call.
  Moved take_moved();
  [[nodiscard]] bool holds_bytes() const { return out_.waiting() || in_.waiting(); }
  [[nodiscard]] bool is_half_closed() const { return out_.ended || in_.ended; }

 private:
  struct Direction {
    std::vector<std::byte> held;
    std::size_t held_at = 0;
    std::optional<PipePool::Lease> lease;
    std::size_t piped = 0;
    std::uint64_t budget = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t total = 0, untold = 0;
    bool ended = false;     ///< the source has ended its stream
    bool finished = false;  ///< and the other side was told so
    [[nodiscard]] bool waiting() const { return held_at < held.size() || piped > 0; }
    [[nodiscard]] bool reads() const { return !ended && budget > 0 && !waiting(); }
  };
  enum class Step : std::uint8_t { kMoved, kBlocked, kBroken };

  Step step(Direction& direction, kernel::FdView from, kernel::FdView to);
  Step flush_held(Direction& direction, kernel::FdView to);
  Step copy(Direction& direction, kernel::FdView from, kernel::FdView to);
  Step splice(Direction& direction, kernel::FdView from, kernel::FdView to);
  Step flush_pipe(Direction& direction, kernel::FdView to);
  Step end_of(Direction& direction);
  bool run(Direction& direction, kernel::FdView from, kernel::FdView to);
  void release(Direction& direction);
  [[nodiscard]] bool all_is_out() const { return out_.finished || (out_.budget == 0 && !out_.waiting()); }

  std::optional<Side> only_from_;
  RelayShared& shared_;
  Direction out_, in_;  ///< from the client, to the client
};

}  // namespace cordon::egress
