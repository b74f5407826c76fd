#include "enforce/supervise/shell_test.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "enforce/supervise/fixture_test.h"
#include "kernel/file.h"
#include "kernel/socket.h"

namespace cordon::enforce::supervise::testing {
namespace {

using Event = Shell::Event;

void say(base::FdView to, const Event& event) {
  static_cast<void>(kernel::write_all(to, std::as_bytes(std::span(&event, 1))));
}

void introduce(base::FdView to, pid_t job) {
  static_cast<void>(kernel::write_all(to, std::as_bytes(std::span(&job, 1))));
}

bool is_readable(base::FdView fd, int patience_ms) {
  pollfd one{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return poll(&one, 1, patience_ms) == 1;
}

termios settings() {
  termios now{};
  tcgetattr(0, &now);
  return now;
}

/// What `cordon run` is to its shell.
[[noreturn]] void be_the_job(const plan::Plan& plan, base::FdView events, Shell::Place place) {
  if (place != Shell::Place::kAlone) setpgid(0, 0);
  if (place == Shell::Place::kForeground) tcsetpgrp(0, getpid());
  for (const int signal_number : {SIGTTOU, SIGTTIN, SIGTSTP, SIGINT}) signal(signal_number, SIG_DFL);
  const termios before = settings();
  Options options;
  options.terminal = Terminal::kForeground;
  const auto outcome = run_to_end(plan, std::move(options));
  const termios after = settings();
  say(events, {.what = Event::What::kEnded,
               .by = outcome.ended_by,
               .code = outcome.exit_code,
               .killed_by = outcome.signal,
               .has_terminal = tcgetpgrp(0) == getpgrp(),
               .settings_as_before = before.c_lflag == after.c_lflag && before.c_iflag == after.c_iflag});
  _exit(0);
}

/// Job control as a shell does it: its own group takes the terminal when the job stops or ends.
[[noreturn]] void be_the_shell(const plan::Plan& plan, base::FdView commands, base::FdView events, Shell::Place place) {
  signal(SIGTTOU, SIG_IGN);
  signal(SIGTTIN, SIG_IGN);
  signal(SIGTSTP, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  setpgid(0, 0);
  tcsetpgrp(0, getpgrp());
  const pid_t job = fork();
  if (job == 0) be_the_job(plan, events, place);
  setpgid(job, job);
  if (place == Shell::Place::kForeground) tcsetpgrp(0, job);
  introduce(events, job);
  while (true) {
    int status = 0;
    if (waitpid(job, &status, WUNTRACED) != job) _exit(1);
    tcsetpgrp(0, getpgrp());
    if (!WIFSTOPPED(status)) _exit(0);
    say(events, {.what = Event::What::kStopped, .signal = WSTOPSIG(status)});
    char command = 0;
    if (read(commands.get(), &command, 1) != 1) _exit(0);
    if (command == 'f') tcsetpgrp(0, job);
    kill(-job, SIGCONT);
  }
}

}  // namespace

Shell::Shell(const plan::Plan& plan, Place place) {
  auto commands = kernel::pipe();
  auto events = kernel::pipe();
  EXPECT_TRUE(commands && events);
  int terminal = -1;
  std::fflush(nullptr);
  shell_ = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (shell_ == 0) {
    commands->write_end.reset();
    if (place != Place::kAlone) be_the_shell(plan, commands->read_end, events->write_end, place);
    introduce(events->write_end, getpid());
    be_the_job(plan, events->write_end, place);
  }
  terminal_ = base::Fd(terminal);
  commands_ = std::move(commands->write_end);
  events_ = std::move(events->read_end);
  EXPECT_EQ(kernel::read(events_, std::as_writable_bytes(std::span(&job_, 1))).value_or(0), sizeof job_);
}

Shell::~Shell() {
  kill(job_, SIGKILL);
  kill(shell_, SIGKILL);
  waitpid(shell_, nullptr, 0);
}

Event Shell::next(int patience_ms) {
  Event event;
  if (!is_readable(events_, patience_ms)) return {};
  EXPECT_EQ(kernel::read(events_, std::as_writable_bytes(std::span(&event, 1))).value_or(0), sizeof event);
  return event;
}

void Shell::command(char what) const { EXPECT_EQ(write(commands_.get(), &what, 1), 1); }

void Shell::type(std::string_view text) const {
  EXPECT_TRUE(kernel::write_all(terminal_, std::as_bytes(std::span(text))));
}

void Shell::resize(unsigned short rows, unsigned short columns) const {
  const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  EXPECT_EQ(ioctl(terminal_.get(), TIOCSWINSZ, &size), 0);
}

bool Shell::read_more(int patience_ms) {
  std::array<char, 1024> bytes{};
  if (!is_readable(terminal_, patience_ms)) return false;
  const auto n = kernel::read(terminal_, std::as_writable_bytes(std::span(bytes))).value_or(0);
  seen_.append(bytes.data(), n);
  return n != 0;
}

void Shell::expect(std::string_view text) {
  constexpr int kPatienceMs = 20'000;
  while (seen_.find(text) == std::string::npos) {
    ASSERT_TRUE(read_more(kPatienceMs)) << "no '" << text << "' in: " << seen_;
  }
  seen_.erase(0, seen_.find(text) + text.size());
}

bool Shell::stays_silent(std::string_view text, int patience_ms) {
  while (read_more(patience_ms)) {
    if (seen_.find(text) != std::string::npos) return false;
  }
  return true;
}

void Shell::forget() {
  while (read_more(50)) {
  }
  seen_.clear();
}

pid_t Shell::foreground_group() const {
  pid_t group = 0;
  EXPECT_EQ(ioctl(terminal_.get(), TIOCGPGRP, &group), 0);
  return group;
}

}  // namespace cordon::enforce::supervise::testing
