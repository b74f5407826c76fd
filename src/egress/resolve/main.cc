// cordon-resolve: turns names into addresses by the host's own resolver (getaddrinfo, with all of NSS behind it).
//
// A program of its own because NSS loads shared objects, opens files and talks to unix sockets, all of which the broker
// must not. It is dynamic and small, and sees nothing but admitted names (lookup_wire.h, which also says who starts
// it). Descriptor 3 is its socket. Each of a fixed number of threads takes a question, looks it up and answers; there
// is nothing that they share. It ends when the broker does.
//
// It gives up what it does not need: privileges, writing, executing. The view of files that it runs in is the
// supervisor's to make.
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "egress/lookup_wire.h"
#include "kernel/file.h"
#include "kernel/process.h"
#include "kernel/security.h"
#include "kernel/socket.h"

namespace cordon::egress {
namespace {

using kernel::FdView;
using kernel::Sys;

constexpr int kSocketFd = 3;
constexpr std::size_t kThreads = 8;

struct Freed {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

LookupStatus status_of(int code) {
  switch (code) {
    case 0:
      return LookupStatus::kOk;
    case EAI_NONAME:
    case EAI_NODATA:
      return LookupStatus::kNoSuchName;
    case EAI_AGAIN:
      return LookupStatus::kTryAgain;
    default:
      return LookupStatus::kFailure;
  }
}

void add(LookupAnswer& answer, const addrinfo& one) {
  LookupAddress& into = answer.addresses[answer.count];
  if (one.ai_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(one.ai_addr);
    std::memcpy(into.bytes.data(), &in->sin_addr, 4);
  } else if (one.ai_family == AF_INET6) {
    const auto* in = reinterpret_cast<const sockaddr_in6*>(one.ai_addr);
    if (in->sin6_scope_id != 0) return;  // of one link only: never dialled anyway
    into.family = 1;
    std::memcpy(into.bytes.data(), &in->sin6_addr, 16);
  } else {
    return;
  }
  ++answer.count;
}

/// getaddrinfo's order, which is the host's own preference (gai.conf), is kept.
LookupAnswer look_up(const LookupQuestion& question, const policy::network::HostName& name) {
  LookupAnswer answer{.id = question.id};
  if (kernel::monotonic_ns() >= question.until_ns) {
    answer.status = LookupStatus::kTooLate;
    return answer;
  }
  addrinfo hints{};
  hints.ai_family = question.family == LookupFamily::kIpv6 ? AF_INET6 : AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(name.str().c_str(), nullptr, &hints, &list);
  const std::unique_ptr<addrinfo, Freed> owner(list);
  answer.status = status_of(code);
  for (const addrinfo* one = list; one != nullptr && answer.count < kMostAddresses; one = one->ai_next)
    add(answer, *one);
  return answer;
}

/// Of the calling thread. Names are whole: with the host's search domains "a.example" could become
/// "a.example.corp.example", which no rule allowed. (A dot at the end would do that too, but hides /etc/hosts.)
void set_up_resolver() {
  ::res_init();
  _res.options &= ~static_cast<unsigned long>(RES_DEFNAMES | RES_DNSRCH);
  _res.retrans = 2;  // seconds
  _res.retry = 2;
}

void serve() {
  set_up_resolver();
  std::array<std::byte, sizeof(LookupQuestion) + 1> buffer;
  while (true) {
    const auto got = kernel::receive_message(FdView(kSocketFd), buffer, 0);
    if (!got || got->bytes == 0) return;
    LookupQuestion question;
    const auto name = name_in(std::span(buffer).first(got->bytes), question);
    if (!name) continue;
    const LookupAnswer answer = look_up(question, *name);
    if (!kernel::send_message(FdView(kSocketFd), std::as_bytes(std::span(&answer, 1)))) return;
  }
}

/// Reading stays open to NSS; making, changing and executing do not. An older kernel gives what it can.
Sys<void> give_up_writing() {
  const auto abi = kernel::landlock_query(kernel::kLandlockCreateRulesetVersion);
  if (!abi) return {};
  constexpr std::uint64_t kReading = kernel::kLandlockReadFile | kernel::kLandlockReadDir;
  kernel::LandlockRulesetAttr all{.handled_access_fs = ((kernel::kLandlockMakeSym << 1) - 1) & ~kReading};
  if (*abi >= 3) all.handled_access_fs |= kernel::kLandlockTruncate;
  CORDON_TRY(const kernel::Fd ruleset, kernel::landlock_create_ruleset(all, *abi));
  return kernel::landlock_restrict_self(ruleset);
}

Sys<void> confine() {
  CORDON_OK(kernel::prctl(PR_SET_DUMPABLE, 0));
  CORDON_OK(kernel::prctl(PR_SET_NO_NEW_PRIVS, 1));
  CORDON_OK(kernel::capset({}));
  CORDON_OK(kernel::setrlimit(RLIMIT_CORE, {0, 0}));
  CORDON_OK(kernel::close_range(kSocketFd + 1, ~0U, 0));
  return give_up_writing();
}

int run() {
  if (!confine()) return 1;
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < kThreads; ++i) threads.emplace_back(serve);
  serve();
  ::_exit(0);  // a lookup that is still under way interests nobody
}

}  // namespace
}  // namespace cordon::egress

int main() { return cordon::egress::run(); }
