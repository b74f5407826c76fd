// The signals of a foreground run: blocked for its time, taken from a descriptor, and stopping ourselves as they would.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "enforce/supervise/signal_policy.h"
#include "kernel/errno.h"

namespace cordon::enforce::supervise {

class OwnSignals {
 public:
  /// Blocks what SignalPolicy handles, less what the process ignores (nohup, background jobs): that stays ignored.
  /// Stops keep their effect until hold_stops(): while the launcher is waited for, it and we stop together.
  static kernel::Sys<OwnSignals> take();
  /// Of the signals that take() would block, those that the process ignores.
  static std::vector<int> ignored_now();
  void hold_stops();

  OwnSignals(OwnSignals&&) noexcept = default;
  OwnSignals& operator=(OwnSignals&&) = delete;
  /// Forgets what is still pending and restores the mask.
  ~OwnSignals();

  struct Arrived {
    int signal = 0;
    Origin origin = Origin::kUnknown;
  };
  std::optional<Arrived> next();

  /// Stops this process as the unhandled signal would, and returns when it was continued. In an orphaned process group
  /// the kernel does not stop for TSTP, TTIN and TTOU: then it returns at once.
  void stop_ourselves(int signal);

  /// Ctrl-Z has come again since we were continued (a SIGCONT takes back the stops from before it).
  [[nodiscard]] bool stop_is_pending() const;

  [[nodiscard]] base::FdView fd() const { return fd_; }
  /// What the process ignored when this began.
  [[nodiscard]] const std::vector<int>& ignored() const { return ignored_; }

 private:
  OwnSignals(base::Fd fd, const sigset_t& handled, const sigset_t& original, std::vector<int> ignored)
      : fd_(std::move(fd)), handled_(handled), original_(original), ignored_(std::move(ignored)) {}
  base::Fd fd_;
  sigset_t handled_, original_;
  std::vector<int> ignored_;
};

}  // namespace cordon::enforce::supervise
