#include "enforce/supervise/own_signals.h"

#include <unistd.h>

#include "enforce/supervise/process_file.h"
#include "kernel/event.h"
#include "kernel/process.h"

namespace cordon::enforce::supervise {
namespace {

Origin origin_of(const signalfd_siginfo& info) {
  // A terminal that hangs up tells its session's leader and nobody else: then it is for us to pass on.
  const bool hangup_for_us = info.ssi_signo == SIGHUP && ::getsid(0) == ::getpid();
  if (info.ssi_code > 0) return hangup_for_us ? Origin::kOutside : Origin::kKernel;
  // Below the kernel's own codes only kill, tkill and sigqueue are a request of somebody; timers and the like are ours.
  if (info.ssi_code != SI_USER && info.ssi_code != SI_TKILL && info.ssi_code != SI_QUEUE) return Origin::kKernel;
  return origin_of_sender(static_cast<pid_t>(info.ssi_pid), info.ssi_uid);
}

sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

}  // namespace

std::vector<int> OwnSignals::ignored_now() {
  std::vector<int> out;
  for (const int signal : SignalPolicy::handled()) {
    if (kernel::is_ignored(signal).value_or(false)) out.push_back(signal);
  }
  return out;
}

kernel::Sys<OwnSignals> OwnSignals::take() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : SignalPolicy::handled()) sigaddset(&handled, signal);
  std::vector<int> ignored = ignored_now();
  for (const int signal : ignored) sigdelset(&handled, signal);
  auto fd = kernel::signalfd(handled);
  if (!fd) return base::fail(fd.error());
  sigset_t at_once = handled;
  for (const int stop : {SIGTSTP, SIGTTIN, SIGTTOU}) sigdelset(&at_once, stop);
  sigset_t original;
  if (auto blocked = kernel::thread_sigmask(SIG_BLOCK, at_once, &original); !blocked) {
    return base::fail(blocked.error());
  }
  return OwnSignals(std::move(*fd), handled, original, std::move(ignored));
}

void OwnSignals::hold_stops() { static_cast<void>(kernel::thread_sigmask(SIG_BLOCK, handled_)); }

OwnSignals::~OwnSignals() {
  if (!fd_.valid()) return;
  while (next()) {
  }
  static_cast<void>(kernel::thread_sigmask(SIG_SETMASK, original_));
}

std::optional<OwnSignals::Arrived> OwnSignals::next() {
  const auto info = kernel::signalfd_read(fd_);
  if (!info || !*info) return std::nullopt;
  return Arrived{.signal = static_cast<int>((*info)->ssi_signo), .origin = origin_of(**info)};
}

bool OwnSignals::stop_is_pending() const {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && sigismember(&pending, SIGTSTP) == 1;
}

void OwnSignals::stop_ourselves(int signal) {
  static_cast<void>(::raise(signal));
  if (signal == SIGSTOP) return;
  // It waits, blocked; a SIGCONT that comes before the next line takes it back, as it should.
  const sigset_t set = only(signal);
  static_cast<void>(kernel::thread_sigmask(SIG_UNBLOCK, set));
  static_cast<void>(kernel::thread_sigmask(SIG_BLOCK, set));
}

}  // namespace cordon::enforce::supervise
