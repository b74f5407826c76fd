#include "enforce/outlet/published.h"

#include <sys/resource.h>

#include <cerrno>
#include <string>
#include <utility>

#include "kernel/net.h"
#include "kernel/process.h"

namespace cordon::enforce::outlet {
namespace {

using policy::network::Family;

kernel::Endpoint loopback(Family family, std::uint16_t port) {
  if (family == Family::kIpv4) return {AF_INET, {127, 0, 0, 1}, port};
  kernel::Endpoint out{AF_INET6, {}, port};
  out.address.back() = 1;
  return out;
}

/// Beside a pool's, in the supervisor while it starts the broker, and in the broker.
constexpr std::uint64_t kOtherDescriptors = 180;

bool is_absent(int code) { return code == EAFNOSUPPORT || code == EADDRNOTAVAIL; }

}  // namespace

base::Result<void> check_descriptors(const plan::Plan& plan) {
  std::uint64_t pooled = 0;
  base::StepId publish;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto* pool = std::get_if<plan::step::SocketPool>(&plan.steps[i].act);
    if (pool != nullptr) pooled += pool->count;
    const bool is_port = std::holds_alternative<plan::step::Publish>(plan.steps[i].act);
    if (is_port && publish == base::StepId{}) publish = {static_cast<std::uint16_t>(i + 1)};
  }
  const auto limit = kernel::getrlimit(RLIMIT_NOFILE);
  const std::uint64_t needed = 2 * pooled + kOtherDescriptors;  // twice while the broker is started
  if (pooled == 0 || !limit || limit->rlim_max >= needed) return {};
  return base::fail(base::Error{.operation = "getrlimit",
                                .subject = std::to_string(limit->rlim_max),
                                .code = EMFILE,
                                .step = publish,
                                .detail = std::to_string(needed) + " are needed"});
}

base::Result<std::vector<HostListener>> listen_on_host(const plan::Plan& plan) {
  std::vector<HostListener> out;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto* publish = std::get_if<plan::step::Publish>(&plan.steps[i].act);
    if (publish == nullptr) continue;
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
      const bool ipv6 = family == Family::kIpv6;
      auto socket = kernel::listening_socket(loopback(family, publish->port));
      if (!socket && ipv6 && is_absent(socket.error().code)) continue;
      if (!socket) {
        auto error = kernel::error_at(socket.error(), (ipv6 ? "[::1]:" : "127.0.0.1:") + std::to_string(publish->port));
        error.step = {static_cast<std::uint16_t>(i + 1)};
        return base::fail(std::move(error));
      }
      out.push_back({std::move(*socket), {egress::ListenerRole::kPublished, family}});
    }
  }
  return out;
}

base::Result<void> check_inner(base::FdView socket, const std::vector<HostListener>& host, base::StepId step) {
  const auto wrong = [&](int code) {
    return base::fail(base::Error{.operation = "verify",
                                  .subject = "the sandbox's network",
                                  .code = code,
                                  .step = step,
                                  .detail = "a socket to come in by is not of it"});
  };
  if (host.empty()) return wrong(0);
  const auto inside = kernel::network_of(socket);
  const auto outside = kernel::network_of(host.front().socket);
  // Before Linux 5.14 no socket says so.
  if (!inside && inside.error().code == ENOPROTOOPT) return {};
  if (!inside || !outside) return wrong(inside ? outside.error().code : inside.error().code);
  return *inside == *outside ? base::Result<void>(wrong(0)) : base::Result<void>();
}

void RoomForPool::make() {
  if (before_) return;
  const auto limit = kernel::getrlimit(RLIMIT_NOFILE);
  if (!limit || limit->rlim_cur >= limit->rlim_max) return;
  if (kernel::setrlimit(RLIMIT_NOFILE, {.rlim_cur = limit->rlim_max, .rlim_max = limit->rlim_max}))
    before_.emplace(limit->rlim_cur, limit->rlim_max);
}

void RoomForPool::give_back() {
  if (!before_) return;
  static_cast<void>(
      kernel::setrlimit(RLIMIT_NOFILE, {.rlim_cur = before_->first, .rlim_max = before_->second}).has_value());
  before_.reset();
}

}  // namespace cordon::enforce::outlet
