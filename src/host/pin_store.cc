#include "host/pin_store.h"

#include <algorithm>

#include "host/host.h"
#include "kernel/file.h"
#include "kernel/process.h"

namespace cordon::host {
namespace {

/// Descriptors that the rest of a run needs beside the pins: sockets, pidfds, memfds, the plan, what was inherited.
constexpr std::uint64_t kReserved = 96;

std::size_t room_below(std::uint64_t limit) {
  if (limit == RLIM64_INFINITY) return PinStore::kNoSlot;
  return static_cast<std::size_t>(limit > 2 * kReserved ? limit - kReserved : limit / 2);
}

}  // namespace

PinStore::PinStore(std::size_t most) : most_(most) {
  const auto limit = kernel::getrlimit(RLIMIT_NOFILE);
  room_ = std::min(most_, room_below(limit ? limit->rlim_cur : 256));
}

void PinStore::raise_soft_limit() {
  raised_ = true;
  auto limit = kernel::getrlimit(RLIMIT_NOFILE);
  if (!limit || limit->rlim_cur >= limit->rlim_max) return;
  const plan::DescriptorLimit before{.soft = limit->rlim_cur, .hard = limit->rlim_max};
  limit->rlim_cur = limit->rlim_max;
  if (!kernel::setrlimit(RLIMIT_NOFILE, *limit)) return;
  limit_before_ = before;
  room_ = std::min(most_, room_below(limit->rlim_cur));
}

bool PinStore::make_room(Keep how) {
  if (held_ < room_) return true;
  if (!raised_) raise_soft_limit();
  if (held_ < room_) return true;
  complete_ = false;
  if (how == Keep::kIfRoom) return false;
  while (!may_go_.empty()) {
    Slot& slot = slots_[may_go_.back()];
    may_go_.pop_back();
    if (!slot.fd.valid() || slot.how == Keep::kFirst) continue;
    slot.fd.reset();
    --held_;
    return true;
  }
  return false;
}

std::size_t PinStore::keep(base::Fd fd, Keep how) {
  const std::lock_guard lock(mutex_);
  if (released_ || !make_room(how)) return kNoSlot;
  slots_.push_back({.fd = std::move(fd), .how = how});
  ++held_;
  if (how == Keep::kIfRoom) may_go_.push_back(slots_.size() - 1);
  return slots_.size() - 1;
}

void PinStore::promote(std::size_t slot) {
  const std::lock_guard lock(mutex_);
  if (slot < slots_.size()) slots_[slot].how = Keep::kFirst;
}

base::FdView PinStore::at(std::size_t slot) const {
  const std::lock_guard lock(mutex_);
  return slot < slots_.size() ? slots_[slot].fd.view() : base::FdView();
}

std::size_t PinStore::count() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

bool PinStore::complete() const {
  const std::lock_guard lock(mutex_);
  return complete_;
}

std::optional<plan::DescriptorLimit> PinStore::limit_before() const {
  const std::lock_guard lock(mutex_);
  return limit_before_;
}

namespace {

/// Neighbours in one call each: a run holds hundreds, and opened most of them one behind the other.
void close_all(std::vector<int> fds) {
  std::ranges::sort(fds);
  for (std::size_t i = 0; i < fds.size();) {
    std::size_t last = i;
    while (last + 1 < fds.size() && fds[last + 1] == fds[last] + 1) ++last;
    const auto closed = kernel::close_range(static_cast<unsigned>(fds[i]), static_cast<unsigned>(fds[last]), 0);
    for (; i <= last; ++i) {
      if (!closed) base::Fd(fds[i]).reset();  // before 5.9, or a filter of the host's
    }
  }
}

}  // namespace

void PinStore::release() {
  const std::lock_guard lock(mutex_);
  std::vector<int> fds;
  for (Slot& slot : slots_) {
    if (slot.fd.valid()) fds.push_back(slot.fd.release());
  }
  close_all(std::move(fds));
  slots_.clear();
  may_go_.clear();
  held_ = 0;
  released_ = true;
}

bool PinStore::released() const {
  const std::lock_guard lock(mutex_);
  return released_;
}

Pins::Pins() = default;
Pins::Pins(Pins&&) noexcept = default;
Pins& Pins::operator=(Pins&&) noexcept = default;
Pins::~Pins() = default;

std::size_t Pins::count() const {
  std::size_t all = 0;
  for (const auto& store : stores_) all += store->count();
  return all;
}

bool Pins::complete() const {
  return std::ranges::all_of(stores_, [](const auto& store) { return store->complete(); });
}

std::optional<plan::DescriptorLimit> Pins::limit_before() const {
  for (const auto& store : stores_) {
    if (store->limit_before()) return store->limit_before();
  }
  return std::nullopt;
}

void Pins::release() {
  for (const auto& store : stores_) store->release();
}

}  // namespace cordon::host
