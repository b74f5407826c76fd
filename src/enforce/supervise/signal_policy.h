// What becomes of a signal that reaches the supervisor of a foreground run. Pure: no signal is sent here.
//
//   a key (Ctrl-C, Ctrl-Z, Ctrl-\), a hangup      the kernel sent it to the target's group too: nothing to do; where
//                                                 Keys say so the second Ctrl-C ends the run
//   kill(1), a service manager, a CI runner       passed on; of INT, TERM and HUP only the first, and the second one,
//   or
//                                                 ten seconds after the first, ends the run
//   a process of the run itself (kill 0)          nothing: whom it wanted to reach it has reached
//
// Until the target is executed there is nobody to pass a signal on to: a request to end ends the run at once, and a
// stop stops the supervisor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace cordon::enforce::supervise {

enum class Origin : std::uint8_t {
  kKernel,   ///< a key or the terminal
  kOutside,  ///< a process that is not of the run
  kInside,   ///< a process of the run, by kill(0, …) to its group, which is ours as well
  kUnknown,  ///< the sender is gone already
};

struct Reaction {
  enum class What : std::uint8_t { kNothing, kForward, kEnd, kStop };
  What what = What::kNothing;
  int signal = 0;
  friend bool operator==(const Reaction&, const Reaction&) = default;
};

/// Whom the keys are for.
enum class Keys : std::uint8_t {
  kTarget,      ///< an editor or a prompt that lives on after Ctrl-C
  kSecondEnds,  ///< a target that does not end by the first Ctrl-C is ended by the second
};

class SignalPolicy {
 public:
  explicit SignalPolicy(Keys keys = Keys::kTarget) : keys_(keys) {}

  static constexpr std::uint64_t kPatienceNs = 10'000'000'000;
  /// Senders that signal a process and then its group (timeout(1)), or TERM and HUP together (systemd), ask once.
  static constexpr std::uint64_t kSameRequestNs = 50'000'000;

  /// The signals that a foreground run takes into its own hands.
  static std::span<const int> handled();

  /// From now on there is a target to pass signals on to.
  void executed() { executed_ = true; }

  Reaction on_signal(int signal, Origin origin, std::uint64_t running_ns);

  /// The ten seconds; kEnd is answered once.
  Reaction due(std::uint64_t running_ns);
  [[nodiscard]] std::optional<std::uint64_t> next() const { return deadline_; }
  /// The first request to end; 0 where there was none.
  [[nodiscard]] int requested() const { return requested_; }

 private:
  Reaction request(int signal, std::uint64_t running_ns);

  Keys keys_;
  bool interrupted_ = false;
  bool executed_ = false;
  int requested_ = 0;
  std::uint64_t requested_at_ = 0;
  std::optional<std::uint64_t> deadline_;
};

}  // namespace cordon::enforce::supervise
