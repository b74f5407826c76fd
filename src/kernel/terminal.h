// The controlling terminal: its foreground process group and its line settings.
#pragma once

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>

#include "kernel/errno.h"
#include "kernel/file.h"

namespace cordon::kernel {

/// /dev/tty, without taking a terminal as the controlling one; ENXIO where there is none.
inline Sys<Fd> open_controlling_terminal() { return openat(kHere, "/dev/tty", O_RDWR | O_NOCTTY); }

/// 0 where the group belongs to another pid namespace.
inline Sys<pid_t> tcgetpgrp(FdView terminal) {
  const pid_t group = ::tcgetpgrp(terminal.get());
  if (group < 0) return failed("tcgetpgrp");
  return group;
}
/// Stops the caller with SIGTTOU where it is in the background and does not block or ignore that signal.
inline Sys<void> tcsetpgrp(FdView terminal, pid_t group) {
  return done(retry([&] { return ::tcsetpgrp(terminal.get(), group); }), "tcsetpgrp");
}
inline Sys<termios> tcgetattr(FdView terminal) {
  termios settings{};
  if (::tcgetattr(terminal.get(), &settings) < 0) return failed("tcgetattr");
  return settings;
}
/// After the output written so far was sent.
inline Sys<void> tcsetattr(FdView terminal, const termios& settings) {
  return done(retry([&] { return ::tcsetattr(terminal.get(), TCSADRAIN, &settings); }), "tcsetattr");
}

/// At once, however much output waits.
inline Sys<void> tcsetattr_now(FdView terminal, const termios& settings) {
  return done(retry([&] { return ::tcsetattr(terminal.get(), TCSANOW, &settings); }), "tcsetattr");
}
/// Throws away what was typed and not read yet.
inline Sys<void> forget_typed(FdView terminal) { return done(::tcflush(terminal.get(), TCIFLUSH), "tcflush"); }
/// Ends a Ctrl-S, whoever it came from.
inline Sys<void> resume_output(FdView terminal) { return done(::tcflow(terminal.get(), TCOON), "tcflow"); }

/// Columns and rows; ENOTTY for what is no terminal.
inline Sys<winsize> window_size(FdView terminal) {
  winsize size{};
  if (::ioctl(terminal.get(), TIOCGWINSZ, &size) < 0) return failed("ioctl(TIOCGWINSZ)");
  return size;
}
inline bool is_terminal(FdView fd) { return ::isatty(fd.get()) == 1; }

inline Sys<void> kill(pid_t pid, int signal) { return done(::kill(pid, signal), "kill"); }

}  // namespace cordon::kernel
