// Published ports, the host's side: a socket that listens at 127.0.0.1 and, where this host has IPv6, one at ::1, and
// at no other address. Made before anything of the run is, so that a port that is taken refuses it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/result.h"
#include "egress/config.h"
#include "plan/plan.h"

namespace cordon::enforce::outlet {

struct HostListener {
  base::Fd socket;
  egress::Listener listener;
};

/// Whether the hard limit of descriptors lets so many sockets of a pool be handed on. An Error names the first Publish
/// step, with EMFILE.
base::Result<void> check_descriptors(const plan::Plan& plan);

/// One or two for each Publish step, in their order. An Error names the step, and the address as its subject.
base::Result<std::vector<HostListener>> listen_on_host(const plan::Plan& plan);

/// A socket of a pool must be of another network than these, or what comes to a published port would stay on this host.
base::Result<void> check_inner(base::FdView socket, const std::vector<HostListener>& host, base::StepId step);

/// A pool is some hundreds of descriptors, and twice as many while the broker is started: as long as this lives, the
/// process may have as many as its hard limit says. What was started before or is started later has the usual limit.
class RoomForPool {
 public:
  RoomForPool() = default;
  RoomForPool(RoomForPool&& other) noexcept : before_(std::exchange(other.before_, std::nullopt)) {}
  RoomForPool& operator=(RoomForPool&& other) noexcept {
    std::swap(before_, other.before_);
    return *this;
  }
  ~RoomForPool() { give_back(); }
  void make();
  void give_back();

 private:
  std::optional<std::pair<std::uint64_t, std::uint64_t>> before_;  ///< soft and hard
};

}  // namespace cordon::enforce::outlet
