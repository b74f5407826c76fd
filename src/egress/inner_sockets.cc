#include "egress/inner_sockets.h"

#include <utility>

#include "kernel/net.h"

namespace cordon::egress {
namespace {

bool is_closed(kernel::FdView socket) {
  const auto state = kernel::tcp_state(socket);
  return !state || *state == TCP_CLOSE;
}

}  // namespace

InnerSockets::InnerSockets(std::vector<base::Fd> ipv4, std::vector<base::Fd> ipv6)
    : ipv4_(std::move(ipv4)), ipv6_(std::move(ipv6)) {}

std::vector<base::Fd>& InnerSockets::idle(int family) { return family == AF_INET ? ipv4_ : ipv6_; }

bool InnerSockets::has(int family) const { return !(family == AF_INET ? ipv4_ : ipv6_).empty(); }

std::optional<base::Fd> InnerSockets::take(int family) {
  std::vector<base::Fd>& from = idle(family);
  if (from.empty()) return std::nullopt;
  base::Fd out = std::move(from.back());
  from.pop_back();
  return out;
}

void InnerSockets::give_back(base::Fd socket, int family) {
  // The reset that it tells us of is forgotten by the next connect(2).
  if (kernel::disconnect(socket)) idle(family).push_back(std::move(socket));
}

void InnerSockets::give_back_once_delivered(base::Fd socket, int family, std::uint64_t now_ns, std::uint64_t until_ns) {
  if (is_closed(socket)) return give_back(std::move(socket), family);
  leaving_.push_back({std::move(socket), family, now_ns, until_ns});
}

void InnerSockets::reclaim(std::size_t most, std::uint64_t by_ns) {
  for (Leaving& one : leaving_) {
    if (most == 0 || one.since_ns > by_ns) break;
    one.until_ns = 0;
    --most;
  }
  if (!leaving_.empty() && leaving_.front().until_ns == 0) sweep(by_ns);
}

void InnerSockets::sweep(std::uint64_t now_ns) {
  std::vector<Leaving> stay;
  for (Leaving& one : leaving_) {
    if (is_closed(one.socket) || now_ns >= one.until_ns) {
      give_back(std::move(one.socket), one.family);
    } else {
      stay.push_back(std::move(one));
    }
  }
  leaving_ = std::move(stay);
}

}  // namespace cordon::egress
