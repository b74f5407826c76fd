// The time of a run: how long it has been running, stops left out, and when its limit is reached. Pure: the caller
// brings the time, in nanoseconds of CLOCK_MONOTONIC.
//
// Only the supervisor's own stop (Ctrl-Z, a shell's `suspend`) stops the clock. A target that merely stops itself does
// not: it could otherwise run beyond its limit in a child while its first process sleeps.
#pragma once

#include <cstdint>
#include <optional>

namespace cordon::enforce::supervise {

class RunClock {
 public:
  explicit RunClock(std::uint64_t now_ns) : started_(now_ns) {}

  void stop(std::uint64_t now_ns) {
    if (!stopped_at_) stopped_at_ = now_ns;
  }
  void go(std::uint64_t now_ns) {
    if (stopped_at_) lost_ += now_ns - *stopped_at_;
    stopped_at_.reset();
  }

  [[nodiscard]] std::uint64_t running_ns(std::uint64_t now_ns) const {
    return stopped_at_.value_or(now_ns) - started_ - lost_;
  }
  [[nodiscard]] std::uint64_t wall_ns(std::uint64_t now_ns) const { return now_ns - started_; }

 private:
  std::uint64_t started_;
  std::uint64_t lost_ = 0;
  std::optional<std::uint64_t> stopped_at_;
};

/// limits.timeout: the target is asked to end (SIGTERM), and after a grace everything is killed.
class TimeLimit {
 public:
  static constexpr std::uint64_t kGraceNs = 2'000'000'000;
  enum class Act : std::uint8_t { kNothing, kAsk, kKill };

  /// `limit_ns` of 0: none.
  explicit TimeLimit(std::uint64_t limit_ns) {
    if (limit_ns != 0) next_ = limit_ns;
  }

  /// What is due after this much running time; each act is answered once.
  Act due(std::uint64_t running_ns) {
    if (!next_ || running_ns < *next_) return Act::kNothing;
    if (reached_) {
      next_.reset();
      return Act::kKill;
    }
    reached_ = true;
    next_ = running_ns + kGraceNs;
    return Act::kAsk;
  }

  /// The running time at which due() has something to say.
  [[nodiscard]] std::optional<std::uint64_t> next() const { return next_; }
  [[nodiscard]] bool reached() const { return reached_; }

 private:
  std::optional<std::uint64_t> next_;
  bool reached_ = false;
};

}  // namespace cordon::enforce::supervise
