#include "enforce/supervise/signal_policy.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

namespace cordon::enforce::supervise {
namespace {

using What = Reaction::What;

constexpr std::array kHandled = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGTSTP,
                                 SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2, SIGCONT};
constexpr std::array kRequests = {SIGINT, SIGTERM, SIGHUP};
constexpr std::array kStops = {SIGTSTP, SIGTTIN, SIGTTOU};

bool is_one_of(std::span<const int> set, int signal) { return std::ranges::find(set, signal) != set.end(); }

}  // namespace

std::span<const int> SignalPolicy::handled() { return kHandled; }

Reaction SignalPolicy::on_signal(int signal, Origin origin, std::uint64_t running_ns) {
  if (origin == Origin::kInside) return {};
  const bool asks = is_one_of(kRequests, signal);
  if (!executed_) {
    if (is_one_of(kStops, signal)) return {What::kStop, signal};
    return asks || signal == SIGQUIT ? Reaction{What::kEnd, signal} : Reaction{};
  }
  if (origin == Origin::kKernel) {
    const bool second = signal == SIGINT && std::exchange(interrupted_, true);
    return second && keys_ == Keys::kSecondEnds ? Reaction{What::kEnd, signal} : Reaction{};
  }
  if (asks) return request(signal, running_ns);
  // A stop passed on late would stop a target that was continued meanwhile, for nobody to continue it.
  if (is_one_of(kStops, signal) && origin == Origin::kUnknown) return {};
  return {What::kForward, signal};
}

Reaction SignalPolicy::request(int signal, std::uint64_t running_ns) {
  if (requested_ == 0) {
    requested_ = signal;
    requested_at_ = running_ns;
    deadline_ = running_ns + kPatienceNs;
    return {What::kForward, signal};
  }
  if (running_ns - requested_at_ < kSameRequestNs) return {};
  deadline_.reset();
  return {What::kEnd, signal};
}

Reaction SignalPolicy::due(std::uint64_t running_ns) {
  if (!deadline_ || running_ns < *deadline_) return {};
  deadline_.reset();
  return {What::kEnd, requested_};
}

}  // namespace cordon::enforce::supervise
