#include "egress/relay.h"

#include <algorithm>
#include <utility>

#include "kernel/event.h"

namespace cordon::egress {
namespace {

constexpr int kRoundsPerTurn = 16;  // then the other connections have their turn
constexpr int kPipeBytes = 256 * 1024;

}  // namespace

std::optional<PipePool::Lease> PipePool::take() {
  if (!free_.empty()) {
    Lease lease = std::move(free_.back());
    free_.pop_back();
    return lease;
  }
  if (left_ == 0) return std::nullopt;
  auto pipe = kernel::pipe();
  if (!pipe) return std::nullopt;
  --left_;
  // Beyond the user's share of pipe pages the kernel refuses; the pipe then has its first size, or is tiny.
  const auto grown = kernel::set_pipe_size(pipe->write_end, kPipeBytes);
  return Lease{std::move(*pipe), grown ? *grown : std::size_t{4'096}};
}

void PipePool::give_back(Lease lease, bool empty) {
  if (empty) {
    free_.push_back(std::move(lease));
  } else {
    ++left_;
  }
}

Relay::~Relay() {
  release(out_);
  release(in_);
}

void Relay::release(Direction& direction) {
  if (direction.lease) shared_.pipes.give_back(std::move(*direction.lease), direction.piped == 0);
  direction.lease.reset();
}

void Relay::preload(Side side, std::span<const std::byte> bytes) {
  std::vector<std::byte>& held = side == Side::kServer ? out_.held : in_.held;
  held.insert(held.end(), bytes.begin(), bytes.end());
}

Relay::Step Relay::flush_held(Direction& direction, kernel::FdView to) {
  while (direction.held_at < direction.held.size()) {
    const auto sent = kernel::send(to, std::span(direction.held).subspan(direction.held_at));
    if (!sent) return sent.error().code == EAGAIN ? Step::kBlocked : Step::kBroken;
    direction.held_at += *sent;
    direction.untold += *sent;
  }
  direction.held = {};  // its memory too: most connections never hold anything again
  direction.held_at = 0;
  return Step::kMoved;
}

Relay::Step Relay::end_of(Direction& direction) {
  direction.ended = true;
  return Step::kMoved;
}

Relay::Step Relay::copy(Direction& direction, kernel::FdView from, kernel::FdView to) {
  const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, direction.budget));
  const auto got = kernel::receive(from, std::span(shared_.buffer).first(most));
  if (!got) return got.error().code == EAGAIN ? Step::kBlocked : Step::kBroken;
  if (*got == 0) return end_of(direction);
  direction.budget -= *got;
  direction.total += *got;
  const auto bytes = std::span(shared_.buffer).first(*got);
  const auto sent = kernel::send(to, bytes);
  if (!sent && sent.error().code != EAGAIN) return Step::kBroken;
  const std::size_t done = sent ? *sent : 0;
  direction.untold += done;
  // Less than there was room for: nothing more is there now, and its event will come.
  if (done == *got) return *got < most ? Step::kBlocked : Step::kMoved;
  direction.held.assign(bytes.begin() + static_cast<std::ptrdiff_t>(done), bytes.end());
  direction.held_at = 0;
  return Step::kBlocked;
}

Relay::Step Relay::flush_pipe(Direction& direction, kernel::FdView to) {
  while (direction.piped > 0) {
    const auto sent = kernel::splice(direction.lease->pipe.read_end, to, direction.piped);
    if (!sent) return sent.error().code == EAGAIN ? Step::kBlocked : Step::kBroken;
    direction.piped -= *sent;
    direction.untold += *sent;
  }
  return Step::kMoved;
}

Relay::Step Relay::splice(Direction& direction, kernel::FdView from, kernel::FdView to) {
  const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(direction.lease->size, direction.budget));
  const auto got = kernel::splice(from, direction.lease->pipe.write_end, most);
  if (!got) return got.error().code == EAGAIN ? Step::kBlocked : Step::kBroken;
  if (*got == 0) return end_of(direction);
  direction.budget -= *got;
  direction.total += *got;
  direction.piped += *got;
  return flush_pipe(direction, to);
}

Relay::Step Relay::step(Direction& direction, kernel::FdView from, kernel::FdView to) {
  if (const Step held = flush_held(direction, to); held != Step::kMoved) return held;
  if (const Step piped = flush_pipe(direction, to); piped != Step::kMoved) return piped;
  if (direction.ended) {
    if (!std::exchange(direction.finished, true) && !kernel::shutdown_write(to)) return Step::kBroken;
    return Step::kBlocked;
  }
  if (direction.budget == 0) return Step::kBlocked;
  if (!direction.lease && direction.total >= shared_.pipes.after_bytes()) direction.lease = shared_.pipes.take();
  return direction.lease ? splice(direction, from, to) : copy(direction, from, to);
}

/// False where the direction is broken.
bool Relay::run(Direction& direction, kernel::FdView from, kernel::FdView to) {
  for (int i = 0; i < kRoundsPerTurn; ++i) {
    const Step done = step(direction, from, to);
    if (done == Step::kBroken) return false;
    if (done == Step::kBlocked) return true;
  }
  return true;
}

Relay::State Relay::pump(kernel::FdView client, kernel::FdView server, Turn turn) {
  if (turn != Turn::kIn && only_from_ != Side::kServer && !run(out_, client, server)) return State::kBroken;
  if (turn != Turn::kOut && only_from_ != Side::kClient && !run(in_, server, client)) return State::kBroken;
  // A client whose one request was sent has nothing more to say: the answer's end is the end.
  return all_is_out() && in_.finished ? State::kDone : State::kGoing;
}

std::uint32_t Relay::wanted(Side side) const {
  const bool is_client = side == Side::kClient;
  const Direction& from = is_client ? out_ : in_;
  const Direction& to = is_client ? in_ : out_;
  const bool may_read = !only_from_ || *only_from_ == side;
  const bool may_write = !only_from_ || *only_from_ != side;
  const bool reads = may_read && from.reads();
  const bool writes = may_write && (to.waiting() || (to.ended && !to.finished));
  return (reads ? static_cast<std::uint32_t>(EPOLLIN) : 0U) | (writes ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
}

Relay::Moved Relay::take_moved() { return {std::exchange(out_.untold, 0), std::exchange(in_.untold, 0)}; }

}  // namespace cordon::egress
