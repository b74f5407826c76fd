// The broker under clients of ill will, all at once, while one that means well is served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "egress/sandbox.h"

namespace cordon::test {
namespace {

using base::Fd;
using egress::Verdict;
using testing::AnyOf;
using testing::HasSubstr;

void greet(const Fd& client) { write_all(client, "hello"); }

class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    box_.allow("a.example", "8443");
    box_.hosts["a.example"] = {kPublic4};
  }
  Fd dns() { return box_.connect("127.0.0.1", 53); }
  std::string ask_proxy(const std::string& text) {
    const Fd client = box_.proxy();
    write_all(client, text);
    return read_all(client);
  }

  Server server_{kPublic4, 8443, greet};
  Sandbox box_;
};

bool ended_within(const Fd& client, int milliseconds) {
  pollfd one{client.get(), POLLIN, 0};
  return ::poll(&one, 1, milliseconds) == 1;
}

TEST_F(Hostile, AClientThatSendsByteForByteEndsAtItsTimeOverDnsToo) {
  box_.config.bounds.dns_ms = 300;
  box_.config.bounds.head_ms = 300;
  box_.start();
  const std::array<Fd, 3> slow{dns(), box_.proxy(), dns()};
  write_all(slow[2], std::string("\0\x40", 2));  // announces a question, and sends none of it
  int alive = 3;
  for (int i = 0; i < 200 && alive == 3; ++i) {
    write_all(slow[0], std::string(1, i == 0 ? '\0' : '\x40'));
    write_all(slow[1], "C");
    alive = static_cast<int>(std::ranges::count_if(slow, [](const Fd& one) { return !ended_within(one, 5); }));
  }
  for (const Fd& one : slow) EXPECT_TRUE(ended_within(one, 2'000));
  EXPECT_EQ(read_all(box_.reach("a.example", 8443)), "hello");
}

TEST_F(Hostile, DnsConnectionsBeyondTheirBoundAreResetAndTheOthersServed) {
  box_.config.bounds.dns_connections = 4;
  box_.start();
  std::vector<Fd> held;
  for (int i = 0; i < 4; ++i) held.push_back(dns());
  const Fd one_more = dns();
  EXPECT_EQ(read_all(one_more), "(reset)");
  EXPECT_EQ(read_all(box_.reach("a.example", 8443)), "hello") << "over UDP";
  EXPECT_THAT(box_.summary(), testing::Contains("over-bound dns :0 1"));
}

TEST_F(Hostile, BytesThatAreNoQuestionCostNothingButAnAnswer) {
  box_.start();
  const std::string header("\x12\x34\x01\0\0\x01\0\0\0\0\0\0", 12);
  const std::vector<std::string> all{"",
                                     "x",
                                     header,
                                     header + "\xc0\x0c" + std::string("\0\1\0\1", 4),  // a name that points to itself
                                     header + std::string(600, '\x3f'),
                                     std::string(12, '\xff'),
                                     header + std::string("\1a\300\014\0\1\0\1", 8),
                                     std::string("\x12\x34\x01\0\xff\xff\xff\xff\xff\xff\xff\xff", 12),
                                     std::string(512, '\0')};
  box_.inside([&] {
    for (const std::string& one : all) {
      const std::string size{static_cast<char>(one.size() >> 8), static_cast<char>(one.size() & 0xff)};
      const Fd stream = connect_to("127.0.0.1", 53);
      write_all(stream, size + one);
      ::shutdown(stream.get(), SHUT_WR);
      EXPECT_THAT(read_all(stream).size(), testing::Le(514U));
    }
  });
  EXPECT_EQ(read_all(box_.reach("a.example", 8443)), "hello");
}

TEST_F(Hostile, OtherProtocolsThanAProxysAreAnsweredAndEnd) {
  box_.start();
  EXPECT_THAT(ask_proxy("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), HasSubstr("505"));
  EXPECT_THAT(ask_proxy("CONNECT a.example:8443 HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
              HasSubstr("HTTP/1.1 4"));
  EXPECT_THAT(ask_proxy("CONNECT a.example\t:8443 HTTP/1.1\r\n\r\n"), HasSubstr("400"));
  EXPECT_THAT(ask_proxy("CONNECT user@a.example:8443 HTTP/1.1\r\n\r\n"), HasSubstr("400"));
  EXPECT_THAT(ask_proxy("GET http://a.example:8443/ HTTP/1.1\r\nX: " + std::string(40'000, 'x')),
              AnyOf(HasSubstr("431"), HasSubstr("(reset)")));
  EXPECT_THAT(ask_proxy("\x05\x01\0"), HasSubstr("400")) << "SOCKS";
  const Fd half = box_.proxy();
  write_all(half, "CONNECT a.example:8443 HT");
  ::shutdown(half.get(), SHUT_WR);
  EXPECT_THAT(read_all(half), AnyOf(HasSubstr("400"), "", "(reset)"));
  EXPECT_EQ(read_all(box_.reach("a.example", 8443)), "hello");
}

TEST_F(Hostile, WhatIsPipelinedBehindConnectIsTheTunnelsOwn) {
  const std::string behind = "GET http://evil.example/ HTTP/1.1\r\n\r\n";
  std::string seen;
  const Server other(kOther4, 8443, [&](const Fd& client) {
    seen = read_some(client, behind.size());
    write_all(client, "done");
  });
  box_.hosts["a.example"] = {kOther4};
  box_.start();
  EXPECT_EQ(ask_proxy("CONNECT a.example:8443 HTTP/1.1\r\n\r\n" + behind),
            "HTTP/1.1 200 Connection Established\r\n\r\ndone");
  EXPECT_EQ(seen, behind) << "bytes for the granted host, and for nobody else";
  for (const auto& [id, row] : box_.finish()) EXPECT_EQ(row.host, "a.example");
}

}  // namespace
}  // namespace cordon::test
