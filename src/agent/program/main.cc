// cordon-agent: lets a sandbox list the keys of the caller's ssh agent and sign with them, and nothing else. Static;
// started by the supervisor with the descriptors of records.h and nothing else: no arguments, no environment that it
// reads, standard streams on /dev/null.
//
// It locks itself up (confine/), tries the locks, says so, and serves until the control socket ends. What fails before
// that is said on the control socket, and nobody was served.
#include <sys/resource.h>

#include <cerrno>
#include <span>
#include <utility>

#include "agent/program/filter.h"
#include "agent/records.h"
#include "agent/relay.h"
#include "confine/confine.h"
#include "cordon_build_id.h"
#include "kernel/file.h"
#include "kernel/process.h"
#include "kernel/socket.h"

namespace cordon::agent {
namespace {

using kernel::Fd;
using kernel::FdView;
using kernel::Sys;

/// A message of each client and its answer, a list of the agent's, and the room between allocations; far above it.
constexpr std::uint64_t kMostMemory = 256ULL << 20;

/// poll(2) takes no more than may be open.
constexpr rlim64_t kDescriptors = 64;
static_assert(kDescriptors > Bounds().clients + 16);

Sys<void> raise_descriptors() {
  CORDON_TRY(rlimit64 limit, kernel::getrlimit(RLIMIT_NOFILE));
  if (limit.rlim_max < kDescriptors) return base::fail(kernel::Errno{EMFILE, "getrlimit"});
  limit.rlim_cur = kDescriptors;
  return kernel::setrlimit(RLIMIT_NOFILE, limit);
}

Sys<void> serve() {
  CORDON_OK(raise_descriptors());
  CORDON_OK(kernel::close_range(kFirstFreeFd, ~0U, 0));
  Sockets sockets{.control = FdView(kControlFd), .listener = Fd(kListenerFd), .agent = Fd(kAgentFd)};
  CORDON_TRY(const confine::Confined confined, confine::confine(relay_filter(), kMostMemory));
  Record ready = told(Told::kReady, CORDON_BUILD_ID, confined.landlock_abi);
  ready.counts[0] = confined.checks;
  return Relay(std::move(sockets), Bounds()).run(ready);
}

int run() {
  const auto served = serve();
  if (served) return 0;
  const Record record = told(Told::kFailed, served.error().call, static_cast<std::uint32_t>(served.error().code));
  static_cast<void>(kernel::send(FdView(kControlFd), std::as_bytes(std::span(&record, 1)), MSG_NOSIGNAL).has_value());
  return 1;
}

}  // namespace
}  // namespace cordon::agent

int main() { return cordon::agent::run(); }
