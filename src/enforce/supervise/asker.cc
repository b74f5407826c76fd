#include "enforce/supervise/asker.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <span>

#include "enforce/supervise/socket_owner.h"
#include "kernel/event.h"
#include "kernel/process.h"
#include "kernel/terminal.h"

namespace cordon::enforce::supervise {
namespace {

using outlet::GateAnswer;

constexpr std::uint64_t kGraceNs = 500'000'000;
constexpr int kMostUnclear = 3;
constexpr int kWriteMs = 1'000;

enum class Source : std::uint64_t { kGrace, kTerminal };

/// The usual mode, whatever the target has made of it: lines, echoed, with the usual keys.
termios usual_mode(termios settings) {
  settings.c_iflag = BRKINT | ICRNL | IXON;
  settings.c_oflag = OPOST | ONLCR;
  settings.c_lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK;
  settings.c_cc[VINTR] = 3;
  settings.c_cc[VQUIT] = 28;
  settings.c_cc[VERASE] = 127;
  settings.c_cc[VKILL] = 21;
  settings.c_cc[VEOF] = 4;
  for (const int unused : {VEOL, VEOL2, VSUSP, VLNEXT, VREPRINT, VWERASE, VDISCARD})
    settings.c_cc[static_cast<std::size_t>(unused)] = _POSIX_VDISABLE;
  settings.c_cc[VSTART] = 17;
  settings.c_cc[VSTOP] = 19;
  return settings;
}

}  // namespace

base::Result<std::unique_ptr<Asker>> Asker::make(outlet::AtTerminal words, pid_t init) {
  std::unique_ptr<Asker> out(new Asker(std::move(words), init));
  auto epoll = kernel::epoll_create();
  if (!epoll) return base::fail(kernel::error_at(epoll.error(), "the questions"));
  auto grace = kernel::timerfd_create();
  if (!grace) return base::fail(kernel::error_at(grace.error(), "the questions"));
  out->epoll_ = std::move(*epoll);
  out->grace_ = std::move(*grace);
  const auto watched = kernel::epoll_add(out->epoll_, out->grace_, EPOLLIN, static_cast<std::uint64_t>(Source::kGrace));
  if (!watched) return base::fail(kernel::error_at(watched.error(), "the questions"));
  return out;
}

void Asker::add(outlet::Asked asked) {
  queue_.push_back(std::move(asked));
  if (!is_asking() && !open()) dismiss();
}

void Asker::gone(std::uint64_t id) {
  const auto found = std::ranges::find(queue_, id, &outlet::Asked::id);
  if (found == queue_.end()) return;
  const bool shown = is_asking() && found == queue_.begin();
  queue_.erase(found);
  if (!shown) return;
  static_cast<void>(say("\n"));
  if (queue_.empty()) return close();
  if (!show()) dismiss();
}

void Asker::dismiss() {
  for (const outlet::Asked& asked : queue_) answers_.push_back({asked.id, GateAnswer::kNo});
  queue_.clear();
  close();
}

/// Everything stands still before the terminal is touched.
bool Asker::open() {
  if (auto frozen = Frozen::below(init_)) frozen_.emplace(std::move(*frozen));
  return frozen_ && take_terminal() && show();
}

bool Asker::take_terminal() {
  auto terminal = kernel::open_controlling_terminal();
  if (!terminal || !kernel::set_nonblocking(*terminal)) return false;
  const pid_t group = kernel::tcgetpgrp(*terminal).value_or(0);
  const pid_t own = ::getpgrp();
  // A job in the background asks nobody: the terminal is somebody else's now.
  if (group != own && !frozen_->groups().contains(group)) return false;
  const auto before = kernel::tcgetattr(*terminal);
  if (!before) return false;
  terminal_ = std::move(*terminal);
  before_ = *before;
  foreground_ = group;
  if (group != own && !kernel::tcsetpgrp(terminal_, own)) return false;
  static_cast<void>(kernel::resume_output(terminal_).has_value());
  if (!kernel::tcsetattr_now(terminal_, usual_mode(*before))) return false;
  return kernel::epoll_add(epoll_, terminal_, EPOLLIN, static_cast<std::uint64_t>(Source::kTerminal)).has_value();
}

bool Asker::show() {
  listening_ = false;
  unclear_ = 0;
  const outlet::Asked& asked = queue_.front();
  const std::string program = program_of(init_, frozen_->processes(), asked.asker_port);
  return kernel::forget_typed(terminal_) && say(words_.question(asked, program)) &&
         kernel::timerfd_settime(grace_, kGraceNs).has_value();
}

bool Asker::say(std::string_view text) const {
  while (!text.empty()) {
    const auto sent = kernel::write(terminal_, std::as_bytes(std::span(text)));
    if (sent) {
      text.remove_prefix(*sent);
      continue;
    }
    std::array<pollfd, 1> room{pollfd{.fd = terminal_.get(), .events = POLLOUT, .revents = 0}};
    if (sent.error().code != EAGAIN || kernel::poll(room, kWriteMs).value_or(0) == 0) return false;
  }
  return true;
}

void Asker::service() {
  std::array<epoll_event, 2> events{};
  const auto got = kernel::epoll_wait(epoll_, events, 0);
  for (const epoll_event& event : std::span(events).first(got.value_or(0))) {
    if (static_cast<Source>(event.data.u64) == Source::kGrace) on_grace();
    if (static_cast<Source>(event.data.u64) == Source::kTerminal && is_asking()) on_key();
  }
}

void Asker::on_grace() {
  std::array<std::byte, 8> expirations{};
  static_cast<void>(kernel::read(grace_, expirations).has_value());
  if (!is_asking()) return;
  listening_ = true;
  if (!kernel::forget_typed(terminal_)) dismiss();
}

/// A whole line, as the terminal is in its usual mode.
void Asker::on_key() {
  std::array<char, 256> buffer{};
  const auto got = kernel::read(terminal_, std::as_writable_bytes(std::span(buffer)));
  if (!got && got.error().code == EAGAIN) return;
  if (!got) return dismiss();
  if (!listening_) return;
  if (*got == 0) return answer_first(GateAnswer::kNever);
  take_line({buffer.data(), *got});
}

void Asker::take_line(std::string_view line) {
  if (const auto answer = words_.answer(line)) return answer_first(*answer);
  if (++unclear_ >= kMostUnclear) return answer_first(GateAnswer::kNever);
  if (!say(words_.again)) dismiss();
}

/// What is on the screen was ours alone only if nothing of the run has run since: else a person may have answered
/// another question than ours.
void Asker::answer_first(GateAnswer answer) {
  const bool admits = answer == GateAnswer::kOnce || answer == GateAnswer::kRun;
  if (admits && !frozen_->holds()) {
    static_cast<void>(say(words_.disturbed));
    answers_.push_back({queue_.front().id, GateAnswer::kNever});
    queue_.pop_front();
    return dismiss();
  }
  answers_.push_back({queue_.front().id, answer});
  queue_.pop_front();
  if (queue_.empty()) return close();
  if (!show()) dismiss();
}

/// The terminal first, then those that read it.
void Asker::close() {
  if (terminal_.valid()) {
    static_cast<void>(kernel::epoll_remove(epoll_, terminal_).has_value());
    static_cast<void>(kernel::tcsetattr_now(terminal_, *before_).has_value());
    if (foreground_ != ::getpgrp()) static_cast<void>(kernel::tcsetpgrp(terminal_, foreground_).has_value());
    terminal_.reset();
  }
  const bool redraw = before_ && (before_->c_lflag & ICANON) == 0;
  before_.reset();
  frozen_.reset();
  if (redraw) static_cast<void>(kernel::kill(-foreground_, SIGWINCH).has_value());
}

}  // namespace cordon::enforce::supervise
