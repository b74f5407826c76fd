// Published ports: the host's way in, by sockets that were made inside and are used again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <condition_variable>
#include <fstream>
#include <mutex>

#include "egress/sandbox.h"
#include "kernel/net.h"

namespace cordon::test {
namespace {

using base::Fd;
using testing::ElementsAre;

constexpr std::uint16_t kPort = 7'000;
constexpr std::size_t kMuch = 8'000'000;

std::string pattern(std::size_t size, char seed) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(seed + static_cast<char>((i * 7) % 251));
  return out;
}

class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    wake_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool open_ = false;
};

class Published : public testing::Test {
 protected:
  void serve(std::function<void(const Fd&)> act, const char* address = "127.0.0.1") {
    box_.inside([&] { server_.emplace(address, kPort, std::move(act)); });
  }
  static std::string ask(const std::string& text, const char* address = "127.0.0.1") {
    const Fd socket = connect_to(address, kPort);
    if (!write_all(socket, text)) return "(reset)";  // by which the reset is told, and not again
    ::shutdown(socket.get(), SHUT_WR);
    return read_all(socket);
  }
  /// Asks until one is not refused: what a socket that leaves is waited for by.
  static std::string ask_until_answered(const std::string& text) {
    std::string got;
    for (int i = 0; i < 2'000; ++i) {
      got = ask(text);
      if (!got.ends_with("(reset)")) break;
    }
    return got;
  }

  Sandbox box_;
  std::optional<Server> server_;
};

/// Answers once all was said.
void answer_after_the_end(const Fd& client) {
  const std::string got = read_all(client);
  write_all(client, "got " + got);
}

TEST_F(Published, WhatListensInsideIsReachedFromTheHostsLoopback) {
  serve(answer_after_the_end);
  box_.publish(kPort, 2);
  box_.start();
  EXPECT_EQ(ask("a"), "got a");
  EXPECT_EQ(ask("b", "::1"), "got b");
  EXPECT_FALSE(connect_to(kOwn4, kPort).valid()) << "another address of the host";
  EXPECT_FALSE(connect_to("127.0.0.2", kPort).valid());
  EXPECT_FALSE(connect_to("127.0.0.1", kPort + 1).valid());
  EXPECT_THAT(box_.summary(), ElementsAre("admitted localhost:7000 2"));
}

TEST_F(Published, WhatListensOnIpv6AloneIsReachedToo) {
  serve(answer_after_the_end, "::1");
  box_.publish(kPort, 2);
  box_.start();
  for (int i = 0; i < 10; ++i) ASSERT_EQ(ask("a"), "got a") << i;
}

TEST_F(Published, TheSocketsAreUsedAgainHoweverAConnectionEnded) {
  serve([](const Fd& client) {
    const std::string got = read_some(client, 1);
    if (got == "r") static_cast<void>(kernel::reset_on_close(client).has_value());
    if (got == "e") write_all(client, "ok");
  });
  box_.publish(kPort, 2);
  box_.start();
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(ask_until_answered("e"), "ok") << i;
    if (i % 3 == 0) {
      ASSERT_EQ(ask("r"), "(reset)") << i;
    }
    if (i % 3 == 1) {
      const Fd gone = connect_to("127.0.0.1", kPort);  // before or after the target was reached
      static_cast<void>(kernel::reset_on_close(gone).has_value());
    }
  }
}

TEST_F(Published, BeyondTheSocketsAConnectionIsResetAndCounted) {
  serve([](const Fd& client) {
    write_all(client, "here");
    read_all(client);
  });
  box_.publish(kPort, 2);
  box_.start();
  {
    const Fd one = connect_to("127.0.0.1", kPort);
    const Fd two = connect_to("127.0.0.1", kPort);
    ASSERT_EQ(read_some(one, 4) + read_some(two, 4), "herehere");
    EXPECT_EQ(read_all(connect_to("127.0.0.1", kPort)), "(reset)");
  }
  EXPECT_EQ(ask_until_answered(""), "here");
  bool counted = false;
  for (const auto& [id, row] : box_.finish())
    counted = counted || (row.verdict == egress::Verdict::kOverBound && row.via == egress::Via::kPublished &&
                          row.port == kPort && row.detail == static_cast<std::uint32_t>(egress::Bound::kInnerSockets));
  EXPECT_TRUE(counted);
}

TEST_F(Published, WhereNothingListensTheConnectionIsReset) {
  box_.publish(kPort, 2);
  box_.start();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask("a"), "(reset)");
  serve(answer_after_the_end);
  EXPECT_EQ(ask("a"), "got a") << "what listens later is reached";
  EXPECT_THAT(box_.summary(), ElementsAre("admitted localhost:7000 1", "unreachable localhost:7000 5"));
}

/// A connect(2) to a port of the range that the source port comes of may meet itself.
TEST_F(Published, ASocketThatMeetsItselfIsNobody) {
  box_.publish(kPort, 2);
  box_.start();
  box_.inside([] { std::ofstream("/proc/sys/net/ipv4/ip_local_port_range") << "7000 7000"; });
  bool meets_itself = false;
  box_.inside([&] {
    const Fd socket = connect_to("127.0.0.1", kPort);
    meets_itself = socket.valid() && port_of(socket) == kPort;
  });
  ASSERT_TRUE(meets_itself) << "the control";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask("echo"), "(reset)");
}

TEST_F(Published, MuchPassesWholeBothWays) {
  const std::string up = pattern(kMuch, 'u'), down = pattern(kMuch, 'd');
  serve([&](const Fd& client) {
    std::jthread writer([&] { write_all(client, down); });
    const std::string got = read_some(client, up.size());
    writer.join();
    write_all(client, got == up ? "same" : "other");
  });
  box_.publish(kPort, 1);
  box_.start();
  for (int i = 0; i < 3; ++i) {
    const Fd socket = connect_to("127.0.0.1", kPort);
    std::jthread writer([&] { write_all(socket, up); });
    EXPECT_EQ(read_all(socket), down + "same") << i;
  }
  std::uint64_t out = 0, in = 0;
  for (const auto& [id, row] : box_.finish()) out += row.bytes_out, in += row.bytes_in;
  EXPECT_EQ(in, 3 * up.size()) << "to the sandbox";
  EXPECT_EQ(out, 3 * (down.size() + 4)) << "from it";
}

/// With one socket alone: it must not be made new before the target has read what was sent over it.
TEST_F(Published, WhatIsStillOnItsWayToASlowReaderArrives) {
  Gate may_read, was_read;
  std::string got;
  serve([&](const Fd& client) {
    const std::string first = read_some(client, 1);
    if (first == "e") return static_cast<void>(write_all(client, "ok"));
    ::shutdown(client.get(), SHUT_WR);
    may_read.pass();
    got = first + read_all(client);
    was_read.open();
  });
  box_.publish(kPort, 1);
  box_.start();
  const std::string sent = pattern(400'000, 's');
  {
    const Fd socket = connect_to("127.0.0.1", kPort);
    ASSERT_TRUE(write_all(socket, sent));
    ::shutdown(socket.get(), SHUT_WR);
    EXPECT_EQ(read_all(socket), "");
  }
  may_read.open();
  was_read.pass();
  EXPECT_EQ(got.size(), sent.size());
  EXPECT_EQ(got == sent, true);
  EXPECT_EQ(ask_until_answered("e"), "ok") << "and the socket serves again";
}

TEST_F(Published, ThePortIsClosedWithTheBroker) {
  serve(answer_after_the_end);
  box_.publish(kPort, 2);
  box_.start();
  ASSERT_EQ(ask("a"), "got a");
  box_.kill_broker();
  box_.wait_broker();
  EXPECT_FALSE(connect_to("127.0.0.1", kPort).valid());
}

TEST_F(Published, OfARunThatIsOverTheLastWordsArriveAndNobodyNewComesIn) {
  Gate told;
  const std::string much = pattern(500'000, 'm');
  serve([&](const Fd& client) {
    write_all(client, "first");
    told.pass();
    write_all(client, much);
  });
  box_.publish(kPort, 2);
  box_.start();
  const Fd socket = connect_to("127.0.0.1", kPort);
  ASSERT_EQ(read_some(socket, 5), "first");
  box_.say(egress::Finish{egress::Parting::kWhenDelivered});
  bool closed = false;
  for (int i = 0; i < 1'000 && !closed; ++i) closed = !connect_to("127.0.0.1", kPort).valid();
  told.open();
  EXPECT_TRUE(closed);
  EXPECT_EQ(read_all(socket) == much, true);
}

}  // namespace
}  // namespace cordon::test
