// Run::Loop: the calls that the run is notified of.
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "enforce/supervise/loop.h"
#include "kernel/event.h"
#include "kernel/process.h"

namespace cordon::enforce::supervise {

base::Result<void> Run::Loop::take_listener(base::Fd fd) {
  auto listener = ExecListener::adopt(std::move(fd));
  if (!listener) return base::fail(kernel::error_at(listener.error(), "the seccomp listener"));
  listener_.emplace(std::move(*listener));
  return watch(Source::kListener, listener_->fd());
}

base::Result<void> Run::Loop::on_listener(std::uint32_t events) {
  if ((events & EPOLLIN) == 0) {  // the last process under the filter is gone
    static_cast<void>(kernel::epoll_remove(epoll_, listener_->fd()));
    listener_.reset();
    return {};
  }
  const auto call = listener_->receive();
  if (!call) return base::fail(kernel::error_at(call.error(), "the seccomp listener"));
  // Its caller may have said kReady before the call: read after it, the control socket tells whether this is the probe.
  CORDON_OK(on_control());
  return *call ? answer(**call) : base::Result<void>();
}

/// A run that is watched waits for us at every call, so the way there and back is short: while nothing else happens the
/// listener is waited for by itself. That spares a call for each, and only so does the synchronous wake-up reach us:
/// the kernel then changes from the caller to us and back on one processor, which it does not through an epoll set.
base::Result<void> Run::Loop::serve_calls() {
  if (!listener_ || !progress_.is_executed()) return {};
  static_cast<void>(kernel::epoll_remove(epoll_, listener_->fd()));  // else whatever it has is there twice
  while (listener_) {
    std::array ready{pollfd{.fd = listener_->fd().get(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = epoll_.get(), .events = POLLIN, .revents = 0}};
    const auto count = kernel::poll(ready, -1);
    if (!count && count.error().code != EINTR)
      return base::fail(kernel::error_at(count.error(), "the seccomp listener"));
    if (!count) break;
    if (ready[1].revents != 0) {
      // The table of mounts tells of a change once, and whoever asks the set has been told: it is read here.
      CORDON_OK(on_mounts());
      break;
    }
    CORDON_OK(on_listener(static_cast<std::uint32_t>(ready[0].revents)));
  }
  return listener_ ? watch(Source::kListener, listener_->fd()) : base::Result<void>();
}

base::Result<void> Run::Loop::answer(const ExecListener::Call& call) {
  if (attributes_ && Attributes::is_one(call.number)) return serve_attributes(call);
  using Verdict = ExecGate::Verdict;
  const Verdict verdict = call.is_exec() ? gate_.judge(call.pid) : Verdict::kLetBy;
  const bool goes_on = verdict == Verdict::kContinue || verdict == Verdict::kLetBy;
  const bool recorded = verdict == Verdict::kRefuse;
  std::string path;
  if (recorded && gate_.has_room()) path = listener_->read_path(call);
  const bool observed = observe(call, verdict);
  const auto accepted = goes_on ? listener_->let_through(call) : listener_->refuse(call);
  if (!accepted) return base::fail(kernel::error_at(accepted.error(), "the seccomp listener"));
  if (!*accepted) return {};  // its caller is gone, or was interrupted and will ask again
  if (observed) observer_->keep();
  if (verdict == Verdict::kContinue) gate_.continued();
  if (recorded) gate_.has_room() ? gate_.record(call.pid, path) : gate_.count();
  return {};
}

base::Result<void> Run::Loop::serve_attributes(const ExecListener::Call& call) {
  const bool observed = observe(call, ExecGate::Verdict::kLetBy);
  const auto accepted = listener_->made(call, attributes_->serve(*listener_, call));
  if (!accepted) return base::fail(kernel::error_at(accepted.error(), "the seccomp listener"));
  if (*accepted && observed) observer_->keep();
  return {};
}

/// What the launcher calls before its own execve is none of the target's.
bool Run::Loop::observe(const ExecListener::Call& call, ExecGate::Verdict verdict) {
  const bool launches = verdict == ExecGate::Verdict::kContinue;
  if (!observer_ || (!launches && !gate_.was_used())) return false;
  observe::Call seen{.pid = call.pid, .number = call.number};
  std::ranges::copy(call.arguments, seen.arguments.begin());
  using observe::Fate;
  const bool refused = verdict == ExecGate::Verdict::kRefuse;
  observer_->look(seen, launches ? Fate::kLaunches : (refused ? Fate::kRefused : Fate::kGoesOn));
  return true;
}

}  // namespace cordon::enforce::supervise
