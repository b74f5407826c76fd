// cordon-resolve: turns names into addresses by the host's own resolver (getaddrinfo, with all of NSS behind it).
//
// A program of its own because NSS loads shared objects, opens files and talks to unix sockets, all of which the broker
// must not. It is dynamic and small, and sees nothing but admitted names (lookup_wire.h, which also says who starts
// it). Descriptor 3 is its socket. Each of a fixed number of threads takes a question, looks it up and answers; there
// is nothing that they share. It ends when the broker does.
//
// It gives up what it does not need: privileges, writing, executing, and by Landlock every file but those of name
// service.
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
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

/// Where NSS and its modules look: what they load, what they are told, and the sockets and tables of the services that
/// they ask (which a directory's right shows by name; connecting is not Landlock's).
constexpr std::array kShown = {"/usr",
                               "/lib",
                               "/lib64",
                               "/etc/ld.so.cache",
                               "/etc/host.conf",
                               "/etc/gai.conf",
                               "/etc/services",
                               "/etc/protocols",
                               "/etc/ssl/openssl.cnf",
                               "/nix/store",
                               "/gnu/store",
                               "/run/systemd",
                               "/run/nscd",
                               "/run/resolvconf",
                               "/run/NetworkManager",
                               "/run/avahi-daemon",
                               "/var/lib/sss",
                               "/dev/null",
                               "/dev/urandom"};
/// What a host's tools replace when its network changes.
constexpr const char* kSettings = "/etc/resolv.conf";
constexpr std::array kReplaced = {"/etc/hosts", kSettings, "/etc/nsswitch.conf"};

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

/// What a file was when it was read: one that was written anew in its place is another. Equal where neither is there.
struct Edition {
  std::uint64_t inode = 0, size = 0;
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  friend bool operator==(const Edition&, const Edition&) = default;
};

Edition edition_of(const char* path) {
  const auto file = kernel::openat(kernel::kHere, path, O_PATH);
  if (!file) return {};
  const auto facts = kernel::statx(*file);
  if (!facts) return {};
  return {facts->stx_ino, facts->stx_size, facts->stx_ctime.tv_sec, facts->stx_ctime.tv_nsec};
}

/// Of the calling thread. Names are whole: with the host's search domains "a.example" could become
/// "a.example.corp.example", which no rule allowed. (A dot at the end would do that too, but hides /etc/hosts.)
void set_up_resolver() {
  ::res_init();
  _res.options &= ~static_cast<unsigned long>(RES_DEFNAMES | RES_DNSRCH);
  _res.retrans = 2;  // seconds
  _res.retry = 2;
}

Sys<void> show(FdView ruleset, const char* path) {
  const auto place = kernel::openat(kernel::kHere, path, O_PATH);
  if (!place) return {};  // not on this host
  CORDON_TRY(const auto facts, kernel::statx(*place));
  constexpr std::uint64_t kDirectory = kernel::kLandlockReadFile | kernel::kLandlockReadDir;
  return kernel::landlock_add_path(ruleset, *place,
                                   S_ISDIR(facts.stx_mode) ? kDirectory : std::uint64_t{kernel::kLandlockReadFile});
}

/// Reading what names need stays open; all other reading, making, changing and executing do not. Then that is tried.
/// A kernel without Landlock gives nothing of it: what is left is that nothing can be gained.
Sys<void> narrow_the_view() {
  const auto abi = kernel::landlock_query(kernel::kLandlockCreateRulesetVersion);
  if (!abi) return {};
  kernel::LandlockRulesetAttr all{.handled_access_fs = (kernel::kLandlockMakeSym << 1) - 1};
  if (*abi >= 3) all.handled_access_fs |= kernel::kLandlockTruncate;
  CORDON_TRY(const kernel::Fd ruleset, kernel::landlock_create_ruleset(all, *abi));
  for (const char* path : kShown) CORDON_OK(show(ruleset, path));
  for (const char* path : kReplaced) CORDON_OK(show(ruleset, path));
  CORDON_OK(kernel::landlock_restrict_self(ruleset));
  const auto root = kernel::openat(kernel::kHere, "/", O_RDONLY | O_DIRECTORY);
  if (root || root.error().code != EACCES) return base::fail(kernel::Errno{EPERM, "verification"});
  return {};
}

/// A file that somebody replaced since the view was made is not in it. Another resolver will see it.
bool is_out_of_date() {
  return std::ranges::any_of(kReplaced, [](const char* path) {
    const auto file = kernel::openat(kernel::kHere, path, O_RDONLY);
    return !file && file.error().code == EACCES;
  });
}

void serve() {
  Edition settings = edition_of(kSettings);  // before they are read: a change meanwhile is seen the next time
  set_up_resolver();
  std::array<std::byte, sizeof(LookupQuestion) + 1> buffer;
  while (true) {
    const auto got = kernel::receive_message(FdView(kSocketFd), buffer, 0);
    if (!got || got->bytes == 0) return;
    LookupQuestion question;
    const auto name = name_in(std::span(buffer).first(got->bytes), question);
    if (!name) continue;
    const bool out_of_date = is_out_of_date();
    // The C library would read them anew by itself, but not where its options were changed, as ours are.
    if (const Edition now = edition_of(kSettings); !out_of_date && now != settings) {
      settings = now;
      set_up_resolver();
    }
    const LookupAnswer answer =
        out_of_date ? LookupAnswer{.id = question.id, .status = LookupStatus::kTryAgain} : look_up(question, *name);
    if (!kernel::send_message(FdView(kSocketFd), std::as_bytes(std::span(&answer, 1)))) return;
    if (out_of_date) ::_exit(0);  // the supervisor starts another where a name waits
  }
}

Sys<void> confine() {
  CORDON_OK(kernel::prctl(PR_SET_DUMPABLE, 0));
  CORDON_OK(kernel::prctl(PR_SET_NO_NEW_PRIVS, 1));
  CORDON_OK(kernel::capset({}));
  CORDON_OK(kernel::setrlimit(RLIMIT_CORE, {0, 0}));
  CORDON_OK(kernel::close_range(kSocketFd + 1, ~0U, 0));
  return narrow_the_view();
}

/// A lookup may hang for as long as a module of the host's likes, and with it every thread that serves.
void end_with_the_broker() {
  std::array<pollfd, 1> ended{pollfd{.fd = kSocketFd, .events = 0, .revents = 0}};
  while (!kernel::poll(ended, -1) || (ended[0].revents & (POLLHUP | POLLERR)) == 0) {
  }
  ::_exit(0);
}

int run() {
  if (!confine()) return 1;
  std::vector<std::jthread> threads;
  threads.emplace_back(end_with_the_broker);
  for (std::size_t i = 1; i < kThreads; ++i) threads.emplace_back(serve);
  serve();
  ::_exit(0);  // a lookup that is still under way interests nobody
}

}  // namespace
}  // namespace cordon::egress

int main() { return cordon::egress::run(); }
