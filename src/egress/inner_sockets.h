// InnerSockets: TCP sockets of the sandbox's network namespace, made there before the target ran. What the broker
// connects with one ends inside, at what the target listens on: this is how the host gets in by a published port.
//
// No more can be made from outside, so each is used again: connect(2) with AF_UNSPEC makes it what it was. That throws
// away what is on its way; so a socket whose connection ended in order is only used again once the kernel has closed
// it, which it does when the other side has acknowledged everything, the end included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/fd.h"

namespace cordon::egress {

class InnerSockets {
 public:
  InnerSockets(std::vector<base::Fd> ipv4, std::vector<base::Fd> ipv6);

  /// `family`: AF_INET or AF_INET6, here and below.
  [[nodiscard]] bool has(int family) const;
  std::optional<base::Fd> take(int family);
  /// Resets what stands. One that cannot be used again is closed, and there is one less.
  void give_back(base::Fd socket, int family);
  /// What was sent is delivered first, until then at most.
  void give_back_once_delivered(base::Fd socket, int family, std::uint64_t now_ns, std::uint64_t until_ns);
  /// Of those that are still delivering, resets so many that began by then, the oldest first.
  void reclaim(std::size_t most, std::uint64_t by_ns);
  void sweep(std::uint64_t now_ns);
  /// Any that sweep() has to look at.
  [[nodiscard]] bool any_leaving() const { return !leaving_.empty(); }

 private:
  struct Leaving {
    base::Fd socket;
    int family = 0;
    std::uint64_t since_ns = 0, until_ns = 0;
  };
  [[nodiscard]] std::vector<base::Fd>& idle(int family);

  std::vector<base::Fd> ipv4_, ipv6_;
  std::vector<Leaving> leaving_;  ///< in the order in which they began
};

}  // namespace cordon::egress
