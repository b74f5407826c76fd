// Where a target wants to go, by address: what is made of a sockaddr, and that each call that takes one is seen.
#include "observe/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "observe/watched_test.h"

namespace cordon::observe {
namespace {

using namespace testing;  // NOLINT: of this room

sockaddr_in ipv4(const char* text, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  ::inet_pton(AF_INET, text, &out.sin_addr);
  return out;
}

sockaddr_in6 ipv6(const char* text, std::uint16_t port) {
  sockaddr_in6 out{};
  out.sin6_family = AF_INET6;
  out.sin6_port = htons(port);
  ::inet_pton(AF_INET6, text, &out.sin6_addr);
  return out;
}

template <class T>
std::span<const std::byte> bytes_of(const T& address) {
  return std::as_bytes(std::span(&address, 1));
}

TEST(Address, IsReadAsTheKernelReadsIt) {
  const auto one = ipv4("192.0.2.7", 443);
  const auto parsed = parse_address(bytes_of(one));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(address_text(*parsed), "192.0.2.7");
  EXPECT_EQ(parsed->port, 443);
  EXPECT_EQ(parse_address(bytes_of(ipv6("::ffff:192.0.2.7", 443))), parsed) << "a mapped one is the same";
  EXPECT_EQ(address_text(*parse_address(bytes_of(ipv6("2001:db8::7", 53)))), "2001:db8::7");
}

TEST(Address, OfNothingElseIsMadeNothing) {
  const auto one = ipv4("192.0.2.7", 443);
  for (std::size_t size = 0; size < sizeof one; ++size) EXPECT_FALSE(parse_address(bytes_of(one).first(size))) << size;
  EXPECT_FALSE(parse_address(bytes_of(ipv4("192.0.2.7", 0)))) << "a probe of the route";
  EXPECT_FALSE(parse_address(bytes_of(ipv6("2001:db8::7", 1)).first(20)));
  sockaddr_in other = one;
  other.sin_family = AF_UNSPEC;
  EXPECT_FALSE(parse_address(bytes_of(other))) << "connect(2) with it ends a connection";
}

TEST(Address, KnowsTheMachineItself) {
  for (const char* text : {"127.0.0.1", "127.9.9.9", "0.0.0.0"})
    EXPECT_TRUE(is_own(*parse_address(bytes_of(ipv4(text, 1))))) << text;
  for (const char* text : {"::1", "::", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_own(*parse_address(bytes_of(ipv6(text, 1))))) << text;
  EXPECT_FALSE(is_own(*parse_address(bytes_of(ipv4("128.0.0.1", 1)))));
  EXPECT_FALSE(is_own(*parse_address(bytes_of(ipv6("::2", 1)))));
}

const plan::ReachedAddress* reached(const plan::Outcome& outcome, std::string_view address, std::uint16_t port) {
  for (const plan::ReachedAddress& one : outcome.reached)
    if (one.address == address && one.port == port) return &one;
  return nullptr;
}

TEST(Reached, EveryCallThatTakesAnAddressIsSeen) {
  const plan::Outcome outcome = outcome_of([] {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto at = [](std::uint16_t port) { return ipv4("192.0.2.1", port); };
    const sockaddr_in own = ipv4("127.0.0.1", 5555);
    ::bind(socket, reinterpret_cast<const sockaddr*>(&own), sizeof own);
    sockaddr_in first = at(1), second = at(2), third = at(3), fourth = at(4);
    ::sendto(socket, "x", 1, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&first), sizeof first);
    msghdr one{.msg_name = &second,
               .msg_namelen = sizeof second,
               .msg_iov = nullptr,
               .msg_iovlen = 0,
               .msg_control = nullptr,
               .msg_controllen = 0,
               .msg_flags = 0};
    ::sendmsg(socket, &one, MSG_DONTWAIT);
    ::sendmsg(socket, &one, MSG_DONTWAIT);
    std::array<mmsghdr, 2> two{};
    two[0].msg_hdr = one;
    two[0].msg_hdr.msg_name = &third;
    two[1].msg_hdr = one;
    two[1].msg_hdr.msg_name = &fourth;
    ::sendmmsg(socket, two.data(), two.size(), MSG_DONTWAIT);
    const sockaddr_in6 far = ipv6("2001:db8::5", 5);
    const int other = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ::connect(other, reinterpret_cast<const sockaddr*>(&far), sizeof far);
    ::send(other, "x", 1, MSG_DONTWAIT);
  });
  const auto* sent = reached(outcome, "192.0.2.1", 1);
  ASSERT_NE(sent, nullptr);
  EXPECT_EQ(sent->calls, std::vector<std::string>{"sendto"});
  EXPECT_EQ(sent->programs.size(), 1U);
  const auto* twice = reached(outcome, "192.0.2.1", 2);
  ASSERT_NE(twice, nullptr);
  EXPECT_EQ(twice->count, 2U);
  EXPECT_NE(reached(outcome, "192.0.2.1", 3), nullptr);
  EXPECT_NE(reached(outcome, "192.0.2.1", 4), nullptr);
  EXPECT_NE(reached(outcome, "2001:db8::5", 5), nullptr);
  const auto* bound = reached(outcome, "127.0.0.1", 5555);
  ASSERT_NE(bound, nullptr);
  EXPECT_EQ(bound->calls, std::vector<std::string>{"bind"});
  EXPECT_EQ(outcome.reached.size(), 6U) << "send names none";
  EXPECT_EQ(outcome.observations.lost, 0U);
}

TEST(Reached, AnAddressThatCannotBeReadIsALoss) {
  const plan::Outcome outcome = outcome_of([] {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ::syscall(SYS_connect, socket, 8, sizeof(sockaddr_in));
    ::syscall(SYS_sendmsg, socket, 8, 0);  // the structure itself: the kernel refuses it, and nothing was named
  });
  EXPECT_TRUE(outcome.reached.empty());
  EXPECT_EQ(lost(outcome.observations, "unreadable"), 1U);
}

}  // namespace
}  // namespace cordon::observe
