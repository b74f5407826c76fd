#include "enforce/supervise/frozen.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <span>

#include "enforce/supervise/process_file.h"
#include "kernel/event.h"
#include "kernel/process.h"

namespace cordon::enforce::supervise {
namespace {

constexpr std::uint64_t kMostNs = 2'000'000'000;
constexpr std::size_t kMostProcesses = 4'096;

using Table = std::map<pid_t, ProcessStat>;

/// Parents before their children.
std::vector<pid_t> descendants(const Table& all, pid_t init) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& [pid, stat] : all) children.emplace(stat.parent, pid);
  std::vector<pid_t> out = {init};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto [first, last] = children.equal_range(out[i]);
    for (auto one = first; one != last; ++one) out.push_back(one->second);
  }
  out.erase(out.begin());
  return out;
}

Table table() {
  Table out;
  for (const pid_t pid : all_processes())
    if (const auto stat = process_stat(pid)) out.emplace(pid, *stat);
  return out;
}

bool is_stopped(const ThreadState& thread) { return thread.state == 'T' || thread.state == 't'; }
bool is_over(const ThreadState& thread) { return thread.state == 'Z' || thread.state == 'X'; }

/// The threads of a process that could ever run again. A first thread that has ended says nothing of the others.
std::vector<ThreadState> living(pid_t pid) {
  std::vector<ThreadState> out = thread_states(pid);
  std::erase_if(out, is_over);
  return out;
}

bool is_gone(base::FdView pidfd) {
  std::array<pollfd, 1> ended{pollfd{.fd = pidfd.get(), .events = POLLIN, .revents = 0}};
  return kernel::poll(ended, 0).value_or(1) != 0;
}

}  // namespace

std::optional<Frozen> Frozen::below(pid_t init) {
  Frozen out;
  const std::uint64_t until = kernel::monotonic_ns() + kMostNs;
  while (kernel::monotonic_ns() < until) {
    // Without a fork meanwhile the round has seen everybody, and nobody hopped from child to child ahead of it. All
    // rested at one moment then if, looked at again, none has run since.
    const auto starts = starts_so_far();
    const Round round = out.stop_once(init);
    const bool whole = starts && starts == starts_so_far();
    if (round == Round::kSettled && whole && out.holds()) return out;
    if (out.stopped_.size() > kMostProcesses) break;
    std::array<pollfd, 0> nothing{};
    static_cast<void>(kernel::poll(nothing, 1).has_value());
  }
  return std::nullopt;
}

Frozen::Round Frozen::stop_once(pid_t init) {
  const Table all = table();
  processes_ = descendants(all, init);
  groups_.clear();
  resting_.clear();
  Round round = Round::kSettled;
  for (const pid_t pid : processes_) {
    const ProcessStat& stat = all.at(pid);
    groups_.insert(stat.group);
    auto threads = living(pid);
    const bool at_rest = std::ranges::all_of(threads, is_stopped);
    // One that waits for a disk stops before it does anything else, once it was told to.
    const bool busy =
        std::ranges::any_of(threads, [](const ThreadState& one) { return !is_stopped(one) && one.state != 'D'; });
    if (!threads.empty()) resting_.emplace_back(pid, std::move(threads));
    if (at_rest || (!busy && was_told(pid))) continue;
    round = Round::kMoving;
    stop(pid, stat.parent);
  }
  return round;
}

bool Frozen::holds() const {
  return std::ranges::all_of(resting_, [](const auto& one) { return living(one.first) == one.second; });
}

bool Frozen::was_told(pid_t pid) const {
  return std::ranges::find(stopped_, pid, &std::pair<pid_t, base::Fd>::first) != stopped_.end();
}

/// Where it does not work, the next round knows better.
void Frozen::stop(pid_t pid, pid_t parent) {
  const auto known = std::ranges::find(stopped_, pid, &std::pair<pid_t, base::Fd>::first);
  if (known != stopped_.end()) {
    static_cast<void>(kernel::pidfd_send_signal(known->second, SIGSTOP).has_value());
    return;
  }
  auto pidfd = kernel::pidfd_open(pid);
  if (!pidfd) return;
  const auto now = process_stat(pid);
  if (!now || now->parent != parent || is_gone(*pidfd)) return;
  if (kernel::pidfd_send_signal(*pidfd, SIGSTOP)) stopped_.emplace_back(pid, std::move(*pidfd));
}

Frozen::~Frozen() {
  for (auto one = stopped_.rbegin(); one != stopped_.rend(); ++one)
    static_cast<void>(kernel::pidfd_send_signal(one->second, SIGCONT).has_value());
}

}  // namespace cordon::enforce::supervise
