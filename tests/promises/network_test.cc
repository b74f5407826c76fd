// Promise: without a rule nothing of any network is reached: not the host's loopback, not its abstract sockets, not a
// route; the target's own servers on its own loopback work.

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "support/promise.h"
#include "support/require.h"

namespace cordon::test {
namespace {
using testing::AnyOf;
using testing::Eq;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// A listener on the host's loopback for as long as it lives.
class Listener {
 public:
  Listener() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    require(::bind(fd_, address, sizeof at) == 0 && ::listen(fd_, 8) == 0 && ::getsockname(fd_, address, &size) == 0,
            "listener");
    port_ = ntohs(at.sin_port);
  }
  ~Listener() { ::close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  [[nodiscard]] std::string at() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int fd_ = -1;
  int port_ = 0;
};

class AbstractListener {
 public:
  explicit AbstractListener(const std::string& name) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path + 1, name.data(), name.size());
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    require(::bind(fd_, reinterpret_cast<sockaddr*>(&at), size) == 0 && ::listen(fd_, 8) == 0, "abstract listener");
  }
  ~AbstractListener() { ::close(fd_); }
  AbstractListener(const AbstractListener&) = delete;
  AbstractListener& operator=(const AbstractListener&) = delete;

 private:
  int fd_ = -1;
};

CORDON_PROMISE(Network);

TEST_P(Network, TheHostsLoopbackIsNotReached) {
  const Listener listener;
  denied_inside({"tcp=" + listener.at()});
}

TEST_P(Network, TheHostsAbstractSocketsAreNotReached) {
  const std::string name = "cordon-test-" + std::to_string(::getpid());
  const AbstractListener listener(name);
  denied_inside({"abstract=" + name});
}

TEST_P(Network, ThereIsNoRouteToAnywhere) {
  const std::vector<std::string> acts{"udp=198.51.100.1:9", "tcp=198.51.100.1:9", "udp=169.254.169.254:80"};
  const Finished inside = scene.acts(acts);
  for (const auto& act : acts) EXPECT_EQ(verdict(inside, act), "DENIED ENETUNREACH") << inside;
}

TEST_P(Network, TheOnlyInterfaceIsItsOwnLoopback) {
  const Finished inside = scene.acts({"show-file=/proc/net/dev"});
  const auto all = lines(inside, "| ");
  ASSERT_THAT(all, SizeIs(3)) << inside;  // two lines of heading
  EXPECT_THAT(all[2], testing::HasSubstr("lo:"));
}

TEST_P(Network, TheTargetsOwnServersWork) { allowed_inside({"own-server"}); }

TEST_P(Network, RawAndForeignSocketFamiliesAreRefused) {
  // AF_PACKET, raw ICMP, AF_VSOCK, AF_ALG, AF_BLUETOOTH; allowed or not outside, never inside.
  const std::vector<std::string> acts{"socket=17,3,768", "socket=2,3,1", "socket=40,1,0", "socket=38,5,0",
                                      "socket=31,3,0"};
  const Finished inside = scene.acts(acts);
  for (const auto& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act;
  allowed_inside({"socket=2,1,0", "socket=10,1,0", "socket=1,1,0", "socket=2,2,0"});
}

}  // namespace
}  // namespace cordon::test
