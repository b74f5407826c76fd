#include "egress/dialer.h"

#include <algorithm>
#include <utility>

namespace cordon::egress {

namespace {

/// One whose ends cannot be told is not known to have left the machine either.
bool ends_here(kernel::FdView socket, const kernel::Endpoint& to) {
  const auto local = kernel::local_endpoint(socket);
  return !local || (local->family == to.family && local->address == to.address);
}

bool is_own_end(kernel::FdView socket, const kernel::Endpoint& to) {
  const auto local = kernel::local_endpoint(socket);
  return !local || *local == to;
}

}  // namespace

std::vector<Target> interleaved(const std::vector<Target>& targets) {
  std::vector<Target> first, second, out;
  for (const Target& one : targets) (one.to.family == targets.front().to.family ? first : second).push_back(one);
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) out.push_back(first[i]);
    if (i < second.size()) out.push_back(second[i]);
  }
  return out;
}

Dialer::Dialer(std::vector<Target> targets, Handle owner, std::uint64_t stagger_ns, Poller& poller,
               AttemptBudget& budget, InnerSockets* inner)
    : targets_(interleaved(targets)),
      owner_(owner),
      stagger_ns_(stagger_ns),
      poller_(poller),
      budget_(budget),
      inner_(inner) {}

Dialer::~Dialer() {
  for (Attempt& attempt : attempts_) end(attempt);
}

Dialer::State Dialer::start(std::uint64_t now_ns) { return try_next(now_ns); }

bool Dialer::any_under_way() const {
  return std::ranges::any_of(attempts_, [](const Attempt& one) { return one.socket.valid(); });
}

void Dialer::end(Attempt& attempt) {
  if (attempt.extra) ++budget_.extra;
  attempt.extra = false;
  if (!attempt.socket.valid()) return;
  poller_.forget(attempt.socket, attempt.watch);
  if (inner_ != nullptr) inner_->give_back(std::move(attempt.socket), attempt.target.to.family);
  attempt.socket.reset();
}

kernel::Sys<kernel::Fd> Dialer::make_socket(int family) {
  if (inner_ == nullptr) return kernel::stream_socket(family);
  auto socket = inner_->take(family);
  if (!socket) return base::fail(kernel::Errno{EMFILE, "inner socket"});
  return std::move(*socket);
}

/// Tries addresses until one is under way or connected, or none is left.
Dialer::State Dialer::try_next(std::uint64_t now_ns) {
  while (next_ < targets_.size()) {
    const auto free = std::ranges::find_if(attempts_, [](const Attempt& one) { return !one.socket.valid(); });
    const bool extra = any_under_way();
    if (free == attempts_.end() || (extra && budget_.extra == 0)) return State::kUnderWay;
    free->extra = extra;
    if (extra) --budget_.extra;
    const auto part = static_cast<std::uint8_t>(free - attempts_.begin());
    next_at_ns_ = now_ns + stagger_ns_;
    free->target = targets_[next_++];
    const State state = begin(*free, part);
    if (state != State::kFailed) return state;
    end(*free);
  }
  return any_under_way() ? State::kUnderWay : State::kFailed;
}

Dialer::State Dialer::begin(Attempt& attempt, std::uint8_t part) {
  const kernel::Endpoint& to = attempt.target.to;
  auto socket = make_socket(to.family);
  if (!socket) {
    code_ = socket.error().code;
    return State::kFailed;
  }
  attempt.socket = std::move(*socket);
  const auto done = kernel::connect(attempt.socket, to);
  if (done) return connected(attempt);
  code_ = done.error().code;
  if (code_ != EINPROGRESS) return State::kFailed;
  const bool watched = poller_.watch(attempt.socket, {Owner::kAttempt, part, owner_}, EPOLLOUT, attempt.watch);
  return watched ? State::kUnderWay : State::kFailed;
}

/// kFailed leaves the attempt to be ended.
Dialer::State Dialer::connected(Attempt& attempt) {
  if (attempt.target.own == OwnMachine::kRefused && ends_here(attempt.socket, attempt.target.to)) {
    own_ = attempt.target.to;
    static_cast<void>(kernel::reset_on_close(attempt.socket).has_value());
    return State::kFailed;
  }
  if (attempt.target.own == OwnMachine::kMeant && is_own_end(attempt.socket, attempt.target.to)) {
    code_ = ECONNREFUSED;  // which is what a listener that is not there answers
    return State::kFailed;
  }
  poller_.forget(attempt.socket, attempt.watch);
  family_ = attempt.target.to.family;
  connected_ = std::move(attempt.socket);
  return State::kConnected;
}

Dialer::State Dialer::on_event(std::uint8_t part, std::uint64_t now_ns) {
  if (part >= attempts_.size() || !attempts_[part].socket.valid()) return State::kUnderWay;
  Attempt& attempt = attempts_[part];
  const auto error = kernel::pending_error(attempt.socket);
  code_ = error ? *error : error.error().code;
  if (code_ == 0 && connected(attempt) == State::kConnected) return State::kConnected;
  end(attempt);
  return try_next(now_ns);
}

Dialer::State Dialer::on_time(std::uint64_t now_ns) {
  return now_ns >= next_at_ns_ && next_ < targets_.size() ? try_next(now_ns) : State::kUnderWay;
}

}  // namespace cordon::egress
