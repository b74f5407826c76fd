// The time of a run and when its limit is reached. Pure: the caller brings the time, in nanoseconds of CLOCK_MONOTONIC.
//
// It goes on while the supervisor is stopped (Ctrl-Z, a shell's `suspend`), as timeout(1)'s does. A target can have it
// stopped by stopping itself, and need not be idle meanwhile: a process of another group never saw the stop, and one
// that was stopped continues itself by a timer whose signal is SIGCONT. Init, which nobody stops, keeps the limit then.
#pragma once

#include <cstdint>
#include <optional>

namespace cordon::enforce::supervise {

class RunClock {
 public:
  explicit RunClock(std::uint64_t now_ns) : started_(now_ns) {}

  [[nodiscard]] std::uint64_t running_ns(std::uint64_t now_ns) const { return now_ns - started_; }

 private:
  std::uint64_t started_;
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
