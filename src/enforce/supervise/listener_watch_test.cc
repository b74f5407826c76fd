#include "enforce/supervise/listener_watch.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

namespace cordon::enforce::supervise {
namespace {

constexpr std::string_view kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:0035 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1\n"
    "   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 2 1\n"
    "   2: 00000000:1435 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 3 1\n"
    "   3: 0100007F:0FA0 0100007F:1435 01 00000000:00000000 00:00000000 00000000  1000        0 4 1\n"
    "   4: 0100007F:9C40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 5 1\n";

TEST(Listeners, TheLowestPortThatAPersonWouldHaveChosenIsSaid) {
  EXPECT_EQ(lowest_listener(kTable, {}), 5173);
  EXPECT_EQ(lowest_listener(kTable, {5173}), 8080) << "without the broker's";
  EXPECT_EQ(lowest_listener(kTable, {5173, 8080}), std::nullopt) << "a connection, a port of the kernel's choice, DNS";
  EXPECT_EQ(lowest_listener("", {}), std::nullopt);
  EXPECT_EQ(lowest_listener("0: 1435 x 0A\n\n0:", {}), std::nullopt);
}

base::Fd listening_in_range() {
  for (std::uint16_t port = 20'000; port < 21'000; ++port) {
    base::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0 && ::listen(socket.get(), 1) == 0)
      return socket;
  }
  return {};
}

TEST(Listeners, AreLookedForNowAndThenAndSaidOnce) {
  const base::Fd socket = listening_in_range();
  ASSERT_TRUE(socket.valid());
  int calls = 0;
  ListenerWatch watch({}, [&](std::uint16_t) { ++calls; });
  watch.look(::getpid(), 1'000'000'000);
  EXPECT_EQ(calls, 1);
  watch.look(::getpid(), 9'000'000'000);
  EXPECT_EQ(calls, 1);
  ListenerWatch nobody({}, {});
  nobody.look(::getpid(), 1'000'000'000);
}

}  // namespace
}  // namespace cordon::enforce::supervise
