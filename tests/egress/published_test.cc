// Published ports: the host's way in, by sockets that were made inside and are used again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

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

  /// Ends the server before what its act refers to: of a test's own variables, those that stand above it.
  struct EndsHere {
    std::optional<Server>& server;
    ~EndsHere() { server.reset(); }
  };

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

/// Says that it is there, and then what it is told.
void greet_and_echo(const Fd& client) {
  write_all(client, "here");
  for (std::string got = read_some(client, 1); got.size() == 1; got = read_some(client, 1)) write_all(client, got);
}

std::uint64_t refused_for_want_of_room(Sandbox& box) {
  std::uint64_t out = 0;
  for (const auto& [id, row] : box.finish())
    if (row.verdict == egress::Verdict::kOverBound && row.via == egress::Via::kPublished && row.port == kPort &&
        row.detail == static_cast<std::uint32_t>(egress::Bound::kInnerSockets))
      out += row.count;
  return out;
}

TEST_F(Published, BeyondTheSocketsAConnectionWaitsForOneThatIsFree) {
  serve(greet_and_echo);
  box_.publish(kPort, 2);
  box_.start();
  Fd one = connect_to("127.0.0.1", kPort);
  const Fd two = connect_to("127.0.0.1", kPort);
  ASSERT_EQ(read_some(one, 4) + read_some(two, 4), "herehere");
  const Fd three = connect_to("127.0.0.1", kPort);
  ASSERT_TRUE(write_all(three, "x"));
  one.reset();
  EXPECT_EQ(read_some(three, 5), "herex");
  EXPECT_EQ(refused_for_want_of_room(box_), 0U);
}

TEST_F(Published, BeyondTheTimeForItAConnectionIsResetAndCounted) {
  serve(greet_and_echo);
  box_.config.bounds.dial_ms = 300;
  box_.publish(kPort, 2);
  box_.start();
  {
    const Fd one = connect_to("127.0.0.1", kPort);
    const Fd two = connect_to("127.0.0.1", kPort);
    ASSERT_EQ(read_some(one, 4) + read_some(two, 4), "herehere");
    EXPECT_EQ(read_all(connect_to("127.0.0.1", kPort)), "(reset)");
  }
  EXPECT_EQ(ask_until_answered(""), "here");
  EXPECT_GE(refused_for_want_of_room(box_), 1U);
}

TEST_F(Published, BeyondTheBoundOfThoseThatWaitOneIsResetAtOnce) {
  serve(greet_and_echo);
  box_.config.bounds.dial_ms = 120'000;
  box_.config.bounds.waiting_inside = 1;
  box_.publish(kPort, 1);
  box_.start();
  const Fd one = connect_to("127.0.0.1", kPort);
  ASSERT_EQ(read_some(one, 4), "here");
  const Fd waits = connect_to("127.0.0.1", kPort);
  EXPECT_EQ(read_all(connect_to("127.0.0.1", kPort)), "(reset)");
  EXPECT_EQ(refused_for_want_of_room(box_), 2U) << "and the one that waited to the end";
}

TEST_F(Published, ManyMoreAtOnceThanThereAreSocketsAreAllServed) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    Sandbox box;
    std::optional<Server> server;
    box.inside([&] { server.emplace(address, kPort, answer_after_the_end); });
    box.publish(kPort, 3);
    box.start();
    std::vector<std::string> got(90);
    {
      std::vector<std::jthread> threads;
      for (std::string& one : got) threads.emplace_back([&one] { one = ask("a"); });
    }
    EXPECT_THAT(got, testing::Each("got a")) << address;
    EXPECT_THAT(box.summary(), ElementsAre("admitted localhost:7000 90"));
    box.kill_broker();
    box.wait_broker();
  }
}

TEST_F(Published, WhoIsQuietForLongestGivesWay) {
  serve(greet_and_echo);
  box_.config.bounds.reclaim_ms = 100;
  box_.publish(kPort, 2);
  box_.start();
  const Fd idle = connect_to("127.0.0.1", kPort);
  ASSERT_EQ(read_some(idle, 4), "here");
  const Fd idle_too = connect_to("127.0.0.1", kPort);
  ASSERT_EQ(read_some(idle_too, 4), "here");
  ASSERT_TRUE(write_all(idle_too, "x"));
  ASSERT_EQ(read_some(idle_too, 1), "x");
  const Fd third = connect_to("127.0.0.1", kPort);
  EXPECT_EQ(read_some(third, 4), "here");
  EXPECT_EQ(read_all(idle), "(reset)");
  ASSERT_TRUE(write_all(idle_too, "x"));
  EXPECT_EQ(read_some(idle_too, 1), "x") << "the other one stands";
  EXPECT_EQ(refused_for_want_of_room(box_), 1U);
}

TEST_F(Published, WhoHasHalfLeftGivesWayBeforeWhoIsQuietForLonger) {
  Gate over;
  serve([&](const Fd& client) {
    write_all(client, "here");
    if (read_some(client, 1) == "e") return over.pass();  // has heard the end, and says nothing more
    write_all(client, "x");
    read_all(client);
  });
  const EndsHere end{server_};
  box_.config.bounds.reclaim_ms = 100;
  box_.publish(kPort, 2);
  box_.start();
  const Fd idle = connect_to("127.0.0.1", kPort);
  ASSERT_EQ(read_some(idle, 4), "here");
  const Fd left = connect_to("127.0.0.1", kPort);
  ASSERT_EQ(read_some(left, 4), "here");
  ASSERT_TRUE(write_all(left, "e"));
  ::shutdown(left.get(), SHUT_WR);
  // Before both have been quiet for long enough, the one that is gives way.
  std::this_thread::sleep_for(std::chrono::milliseconds(3 * box_.config.bounds.reclaim_ms));
  const Fd third = connect_to("127.0.0.1", kPort);
  EXPECT_EQ(read_some(third, 4), "here");
  EXPECT_EQ(read_all(left), "(reset)");
  ASSERT_TRUE(write_all(idle, "x"));
  EXPECT_EQ(read_some(idle, 1), "x");
  over.open();
}

TEST_F(Published, AnyNumberOfIdleConnectionsDoesNotShutThePort) {
  serve(greet_and_echo);
  box_.config.bounds.reclaim_ms = 1'000;
  box_.publish(kPort, 64);
  box_.start();
  std::vector<Fd> idle;
  for (int i = 0; i < 100; ++i) idle.push_back(connect_to("127.0.0.1", kPort));
  const Fd other = connect_to("127.0.0.1", kPort);
  ASSERT_TRUE(write_all(other, "x"));
  EXPECT_EQ(read_some(other, 5), "herex");
}

TEST_F(Published, NobodyGivesWayAsLongAsNobodyWaits) {
  serve(greet_and_echo);
  box_.config.bounds.reclaim_ms = 100;
  box_.publish(kPort, 2);
  box_.start();
  const Fd one = connect_to("127.0.0.1", kPort);
  const Fd two = connect_to("127.0.0.1", kPort);
  ASSERT_EQ(read_some(one, 4) + read_some(two, 4), "herehere");
  for (int beats = 0; beats < 3;) {  // longer than the bound
    const auto record = box_.next_record();
    ASSERT_TRUE(record.has_value());
    if (std::holds_alternative<egress::Heartbeat>(*record)) ++beats;
  }
  ASSERT_TRUE(write_all(one, "x") && write_all(two, "y"));
  EXPECT_EQ(read_some(one, 1) + read_some(two, 1), "xy");
}

TEST_F(Published, WhoComesBeforeAnythingListensWaitsForIt) {
  box_.config.bounds.early_ms = 60'000;
  box_.config.bounds.heartbeat_ms = 50;
  box_.publish(kPort, 2);
  box_.start();
  std::vector<Fd> early;  // more than there are sockets, which nobody holds meanwhile
  for (int i = 0; i < 5; ++i) {
    early.push_back(connect_to("127.0.0.1", kPort));
    ASSERT_TRUE(write_all(early.back(), "e"));
    ::shutdown(early.back().get(), SHUT_WR);
  }
  for (int beats = 0; beats < 2;) {  // the second one at the latest has dialled in vain before it
    const auto record = box_.next_record();
    ASSERT_TRUE(record.has_value());
    const auto* beat = std::get_if<egress::Heartbeat>(&*record);
    if (beat != nullptr && beat->open == early.size()) ++beats;
  }
  serve(answer_after_the_end);
  for (const Fd& one : early) EXPECT_EQ(read_all(one), "got e");
  server_.reset();
  EXPECT_EQ(ask("a"), "(reset)") << "something listened, and has ended: at once";
  EXPECT_THAT(box_.summary(), ElementsAre("admitted localhost:7000 5", "unreachable localhost:7000 1"));
}

TEST_F(Published, ARunThatEndsDoesNotWaitForThoseWhoCameBeforeAnythingListened) {
  box_.config.bounds.early_ms = 60'000;
  box_.config.bounds.delivery_ms = 2'500;
  box_.publish(kPort, 2);
  box_.start();
  const Fd early = connect_to("127.0.0.1", kPort);
  ASSERT_TRUE(write_all(early, "e"));
  box_.say(egress::Finish{egress::Parting::kWhenDelivered});
  EXPECT_EQ(read_all(early), "(reset)");
}

/// The kernel closes what a killed broker held, and would end each stream in order.
TEST_F(Published, ABrokerThatIsKilledCutsWhatItCarriedForBothSides) {
  Gate ready;
  std::string inside;
  serve([&](const Fd& client) {
    write_all(client, "here");
    inside = read_all(client);
    ready.open();
  });
  const EndsHere end{server_};
  box_.publish(kPort, 2);
  box_.start();
  const Fd socket = connect_to("127.0.0.1", kPort);
  ASSERT_EQ(read_some(socket, 4), "here");
  ASSERT_TRUE(write_all(socket, "part"));
  box_.kill_broker();
  box_.wait_broker();
  EXPECT_EQ(read_all(socket), "(reset)");
  ready.pass();
  EXPECT_THAT(inside, testing::EndsWith("(reset)"));
}

TEST_F(Published, WhereNothingListensTheConnectionIsReset) {
  box_.config.bounds.early_ms = 0;
  box_.publish(kPort, 2);
  box_.start();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask("a"), "(reset)");
  serve(answer_after_the_end);
  EXPECT_EQ(ask("a"), "got a") << "what listens later is reached";
  EXPECT_THAT(box_.summary(), ElementsAre("admitted localhost:7000 1", "unreachable localhost:7000 5"));
}

/// A connect(2) to a port of the range that the source port comes of may meet itself.
TEST_F(Published, ASocketThatMeetsItselfIsNobody) {
  box_.config.bounds.early_ms = 0;
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
  const EndsHere end{server_};
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
  const EndsHere end{server_};
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
