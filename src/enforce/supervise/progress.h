// How far a run has come, from what launcher, init and child say; and what its Outcome is. Pure.
//
// Fail closed: a message out of its order, a check that does not hold, a silent end each become the Outcome's
// setup_error, and must_kill() tells the loop to end the run before the target starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "enforce/launch/protocol.h"
#include "plan/outcome.h"
#include "plan/plan.h"

namespace cordon::enforce::supervise {

/// How a process ended, as wait(2) tells; neither set: unknown (somebody else reaped it).
struct ProcessEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
  bool core_dumped = false;
  static ProcessEnd from_wait_status(int status);
  friend bool operator==(const ProcessEnd&, const ProcessEnd&) = default;
};

/// Whether the supervisor is asked about calls of this run: by a filter that a listener comes of.
bool is_notified(const plan::Plan& plan);

class Progress {
 public:
  explicit Progress(const plan::Plan& plan);

  /// `has_fd`: a descriptor came with it.
  void on_control(const launch::Message& message, bool has_fd);
  void on_control_closed();
  /// kTimeLimit: init has ended the run for its time limit, because we were stopped or stalled.
  void on_life(const launch::Message& message);

  /// Something of the supervisor's own failed before the target was executed.
  void fail_setup(base::Error error);

  /// The run is being killed by us; the first reason counts, and one that comes after the target's end does not.
  void killed(plan::EndedBy reason, int signal);
  /// A promise lapsed while the run went on; to be told before killed(kLapse).
  void lapsed(plan::Lapse lapse);
  /// One that lapsed at some time while it ran, and was seen at the end.
  void found_lapsed(plan::Lapse lapse) { outcome_.lapses.push_back(std::move(lapse)); }
  /// What the run's control group counted; `init` is how init ended.
  void used(plan::LimitsUse use, const ProcessEnd& init);
  /// The time limit was reached while the target ran.
  void timed_out();

  /// Setup failed, and the child may not have noticed yet.
  [[nodiscard]] bool must_kill() const { return must_kill_; }
  /// The control socket was closed before kReady: the child is dead, and if it is not, it must be.
  [[nodiscard]] bool is_silent() const { return silent_; }
  [[nodiscard]] bool listens_are_done() const { return listens_ == 0; }
  [[nodiscard]] bool is_ready() const { return ready_; }
  [[nodiscard]] bool was_killed() const { return killed_.has_value(); }
  [[nodiscard]] bool is_executed() const { return outcome_.executed; }
  [[nodiscard]] bool mounts_are_done() const { return target_started_ || outcome_.setup_error.has_value(); }
  [[nodiscard]] bool target_has_ended() const { return target_end_.has_value(); }

  /// Init is gone, and with it every process of the run; both sockets were read to their ends.
  plan::Outcome finish(const ProcessEnd& init, std::uint64_t wall_ms);

 private:
  void step_failed(const launch::Message& message);
  void verified(const launch::Message& message);
  void ready();
  void explain_silence(const ProcessEnd& init);
  void fail_protocol(std::string detail);
  void lapse();

  bool notified_;
  std::size_t listens_;  ///< sockets that have not come yet
  plan::Outcome outcome_;
  bool mounts_came_;  ///< from the beginning where there are none
  bool target_started_ = false;
  bool listener_came_ = false;
  bool ready_ = false;
  bool must_kill_ = false;
  bool silent_ = false;
  std::optional<base::Error> not_held_;
  std::optional<ProcessEnd> target_end_;
  bool out_of_memory_ = false;  ///< the kernel killed all of the run at its limit
  std::optional<plan::EndedBy> killed_;
  int killed_signal_ = 0;
};

}  // namespace cordon::enforce::supervise
