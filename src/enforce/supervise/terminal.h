// The controlling terminal of a foreground run: kept as it was found, lent to the target.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <cstdint>
#include <optional>

#include "base/fd.h"

namespace cordon::enforce::supervise {

class OwnTerminal {
 public:
  /// Nothing where the process has no controlling terminal. SIGTTOU must be blocked or ignored from here to the end.
  static std::optional<OwnTerminal> open();

  [[nodiscard]] pid_t our_group() const { return our_group_; }
  /// The group that has the terminal; 0 where that cannot be told.
  [[nodiscard]] pid_t foreground() const;
  void give_to(pid_t group) const;

  enum class TargetEnd : std::uint8_t { kByItself, kKilled };
  /// After the last process of the run: takes the terminal back from a group that is gone, and where the target had no
  /// chance to do so itself, restores the line settings. Never takes it from a group that lives: that is the shell's.
  void restore(TargetEnd end) const;

 private:
  OwnTerminal(base::Fd terminal, pid_t our_group, std::optional<termios> settings)
      : terminal_(std::move(terminal)), our_group_(our_group), settings_(settings) {}
  base::Fd terminal_;
  pid_t our_group_;
  std::optional<termios> settings_;  ///< from the start, if we were in the foreground then
};

}  // namespace cordon::enforce::supervise
