// cordon-broker: the one way out of a sandbox, as a program of its own. Static; started by the supervisor with the
// descriptors of config.h and nothing else: no arguments, no environment that it reads, standard streams on /dev/null.
//
// It takes its configuration from a sealed memfd, locks itself up (confine/), tries the locks, says so, and serves
// until the control socket ends. What fails before that is said on the control socket, and nobody was served.
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <csignal>
#include <span>
#include <utility>

#include "confine/confine.h"
#include "cordon_build_id.h"
#include "egress/broker.h"
#include "egress/config.h"
#include "egress/program/filter.h"
#include "kernel/event.h"
#include "kernel/file.h"
#include "kernel/process.h"
#include "kernel/system.h"

namespace cordon::egress {
namespace {

using kernel::Errno;
using kernel::Fd;
using kernel::FdView;
using kernel::Sys;

/// Far above what the largest bounds need (12 MiB and 64 KiB a connection), so that only a fault of ours meets it.
constexpr std::uint64_t kMostMemory = 6ULL << 30;

Sys<Config> read_config() {
  const Fd memory(kConfigFd);
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  CORDON_TRY(const int seals, kernel::get_seals(memory));
  if ((seals & kSeals) != kSeals) return base::fail(Errno{EPERM, "fcntl(F_GET_SEALS)"});
  CORDON_TRY(auto facts, kernel::statx(memory));
  if (facts.stx_size == 0 || facts.stx_size > kMostConfigBytes) return base::fail(Errno{EFBIG, "configuration"});
  std::vector<std::byte> bytes(facts.stx_size);
  CORDON_TRY(const std::size_t got, kernel::pread(memory, bytes, 0));
  auto config = decode_config(std::span(bytes).first(got));
  if (!config) return base::fail(Errno{EINVAL, "configuration"});
  return std::move(*config);
}

/// As many descriptors as may be had; answers how many.
Sys<std::uint64_t> raise_descriptors() {
  CORDON_TRY(rlimit64 limit, kernel::getrlimit(RLIMIT_NOFILE));
  limit.rlim_cur = limit.rlim_max;
  CORDON_OK(kernel::setrlimit(RLIMIT_NOFILE, limit));
  return limit.rlim_cur;
}

std::size_t sockets_of(const Config& config) { return config.listeners.size() + config.inner_ipv4 + config.inner_ipv6; }

BrokerSockets take_sockets(const Config& config, kernel::Routes routes) {
  BrokerSockets out{Fd(kControlFd), Fd(kResolverFd), {}, std::move(routes), {}, {}};
  int next = kFirstListenerFd;
  for (std::size_t i = 0; i < config.listeners.size(); ++i) out.listeners.emplace_back(next++);
  for (std::size_t i = 0; i < config.inner_ipv4; ++i) out.inner_ipv4.emplace_back(next++);
  for (std::size_t i = 0; i < config.inner_ipv6; ++i) out.inner_ipv6.emplace_back(next++);
  return out;
}

Sys<void> serve() {
  CORDON_TRY(Config config, read_config());
  CORDON_OK(kernel::close_range(kFirstListenerFd + static_cast<unsigned>(sockets_of(config)), ~0U, 0));
  CORDON_TRY(const std::uint64_t descriptors, raise_descriptors());
  const std::uint64_t connections = connections_for(config.bounds, sockets_of(config), descriptors);
  if (connections == 0) return base::fail(Errno{EMFILE, "getrlimit"});
  CORDON_TRY(kernel::Routes routes, kernel::Routes::open());
  BrokerSockets sockets = take_sockets(config, std::move(routes));
  CORDON_TRY(Fd epoll, kernel::epoll_create());
  CORDON_TRY(const utsname system, kernel::uname());
  CORDON_TRY(const confine::Confined confined, confine::confine(broker_filter(), kMostMemory));
  const Ready ready{.checks = confined.checks,
                    .landlock_abi = confined.landlock_abi,
                    .connections = static_cast<std::uint32_t>(connections),
                    .build_id = CORDON_BUILD_ID};
  Broker broker(std::move(config), std::move(sockets), std::move(epoll), connections, system.nodename);
  return broker.run(ready);
}

int run() {
  static_cast<void>(kernel::set_cloexec(FdView(kControlFd), true).has_value());
  const auto served = serve();
  if (served) return 0;
  const auto bytes = encode(Failed{served.error().code, served.error().call});
  static_cast<void>(kernel::send(FdView(kControlFd), bytes).has_value());  // its end says the same
  return 1;
}

}  // namespace
}  // namespace cordon::egress

int main() { return cordon::egress::run(); }
