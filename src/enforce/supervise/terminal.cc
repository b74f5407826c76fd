#include "enforce/supervise/terminal.h"

#include <unistd.h>

#include <cerrno>

#include "kernel/terminal.h"

namespace cordon::enforce::supervise {

std::optional<OwnTerminal> OwnTerminal::open() {
  auto terminal = kernel::open_controlling_terminal();
  if (!terminal) return std::nullopt;
  const pid_t group = ::getpgrp();
  std::optional<termios> settings;
  if (kernel::tcgetpgrp(*terminal).value_or(0) == group) {
    if (const auto now = kernel::tcgetattr(*terminal)) settings = *now;
  }
  return OwnTerminal(std::move(*terminal), group, settings);
}

pid_t OwnTerminal::foreground() const { return kernel::tcgetpgrp(terminal_).value_or(0); }

void OwnTerminal::give_to(pid_t group) const {
  // A terminal that hung up meanwhile has no foreground group: nothing is lost.
  static_cast<void>(kernel::tcsetpgrp(terminal_, group));
}

void OwnTerminal::restore(TargetEnd end) const {
  const pid_t now = foreground();
  if (now > 0 && now != our_group_) {
    const auto lives = kernel::kill(-now, 0);
    if (lives || lives.error().code != ESRCH) return;
    give_to(our_group_);
  }
  if (end == TargetEnd::kKilled && settings_ && foreground() == our_group_) {
    static_cast<void>(kernel::tcsetattr(terminal_, *settings_));
  }
}

}  // namespace cordon::enforce::supervise
