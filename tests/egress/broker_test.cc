// The broker as a run has it: the program, between a sandbox's network and a host's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <future>

#include "egress/far.h"
#include "egress/sandbox.h"
#include "kernel/net.h"
#include "policy/network/address_class.h"
#include "support/require.h"

namespace cordon::test {
namespace {

using base::Fd;
using egress::Verdict;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void echo(const Fd& client) {
  while (true) {
    const std::string got = read_some(client, 1);
    if (got.size() != 1 || !write_all(client, got)) return;
  }
}

void greet(const Fd& client) { write_all(client, "hello"); }

bool eventually(const std::atomic<bool>& condition) {
  for (int i = 0; i < 1'000 && !condition; ++i) ::usleep(10'000);
  return condition;
}

class Broker : public testing::Test {
 protected:
  Sandbox box_;
};

TEST_F(Broker, IsConfinedBeforeItServes) {
  box_.start();
  EXPECT_TRUE(confine::is_confined(box_.ready.checks, box_.ready.landlock_abi)) << box_.ready.checks;
  EXPECT_GE(box_.ready.connections, 1'000U);
  std::ifstream status("/proc/" + std::to_string(box_.pid()) + "/status");
  const std::string text{std::istreambuf_iterator<char>(status), {}};
  EXPECT_THAT(text, HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(text, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(text, HasSubstr("CapEff:\t0000000000000000"));
  EXPECT_THAT(text, HasSubstr("CapBnd:\t0000000000000000"));
}

TEST_F(Broker, AGrantedNameIsReachedByAClientThatKnowsNoProxy) {
  const Server server(kPublic4, 8443, greet);
  const Server server6(kPublic6, 8443, greet);
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic6, kPublic4};
  box_.start();
  const std::string address4 = box_.look_up("a.example");
  const std::string address6 = box_.look_up("a.example", 28);
  EXPECT_EQ(address4, "198.18.0.2");
  EXPECT_EQ(address6, "fd63:6f72:646e::2");
  EXPECT_THAT(box_.asked(), IsEmpty()) << "a name was resolved before a connection to it was allowed";
  EXPECT_EQ(read_all(box_.connect(address4, 8443)), "hello");
  EXPECT_EQ(read_all(box_.connect(address6, 8443)), "hello");
  EXPECT_THAT(box_.summary(), ElementsAre("admitted a.example:8443 2"));
}

TEST_F(Broker, WhatNoRuleCoversIsResetAndNamed) {
  const Server server(kPublic4, 8443, greet);
  box_.allow("a.example", "8443");
  box_.deny("a.example", "22");
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  EXPECT_EQ(box_.look_up("b.example"), "");
  EXPECT_EQ(read_all(box_.reach("a.example", 8080)), "(reset)");
  EXPECT_EQ(read_all(box_.reach("a.example", 22)), "(reset)");
  EXPECT_EQ(read_all(box_.connect(kPublic4, 8443)), "(reset)") << "the granted name's own address";
  EXPECT_EQ(read_all(box_.connect("2606:4700::1", 443)), "(reset)");
  EXPECT_THAT(box_.asked(), IsEmpty());
  EXPECT_THAT(box_.summary(),
              ElementsAre("denied 2606:4700::1:443 1", "denied 93.184.216.34:8443 1", "denied a.example:22 1",
                          "denied a.example:8080 1", "denied dns b.example:0 1"));
}

TEST_F(Broker, AnAddressThatStandsForNothingIsMalformed) {
  box_.allow("*", "*");
  box_.start();
  for (const char* address : {"198.18.0.1", "198.18.0.77", "fd63:6f72:646e::77", "fd63:6f72:646e::1"})
    EXPECT_EQ(read_all(box_.connect(address, 443)), "(reset)") << address;
  EXPECT_THAT(box_.summary(), ElementsAre("malformed :0 4"));
}

TEST_F(Broker, ALiteralRuleCoversItsAddressAndNothingElse) {
  const Server server(kPublic4, 8443, greet);
  const Server other(kOther4, 8443, greet);
  const Server inner(kPrivate4, 8443, greet);
  box_.allow(kPublic4, "8443");
  box_.allow(kPrivate4, "8443");
  box_.start();
  EXPECT_EQ(read_all(box_.connect(kPublic4, 8443)), "hello");
  EXPECT_EQ(read_all(box_.connect(kPrivate4, 8443)), "hello");
  EXPECT_EQ(read_all(box_.connect(kOther4, 8443)), "(reset)");
}

TEST_F(Broker, AGrantedNameThatResolvesToAForbiddenAddressIsBlocked) {
  const Server inner(kPrivate4, 8443, greet);
  const Server local("127.0.0.1", 8443, greet);
  const Server server(kPublic4, 8443, greet);
  box_.allow("*", "8443");
  box_.hosts["loop.example"] = {"127.0.0.1"};
  box_.hosts["mapped.example"] = {"::ffff:127.0.0.1"};
  box_.hosts["meta.example"] = {"169.254.169.254"};
  box_.hosts["nat64.example"] = {"64:ff9b::7f00:1"};
  box_.hosts["private.example"] = {kPrivate4};
  box_.hosts["mixed.example"] = {kPrivate4, "127.0.0.1", kPublic4};
  box_.start();
  for (const char* name : {"loop.example", "mapped.example", "meta.example", "nat64.example", "private.example"})
    EXPECT_EQ(read_all(box_.reach(name, 8443)), "(reset)") << name;
  EXPECT_EQ(read_all(box_.reach("mixed.example", 8443)), "hello");
  EXPECT_FALSE(box_.connect("127.0.0.1", 8443).valid()) << "its own loopback, where nobody listens";
  int blocked = 0;
  for (const auto& [id, row] : box_.finish()) {
    if (row.verdict != Verdict::kGuardBlocked) continue;
    ++blocked;
    EXPECT_NE(row.detail, static_cast<std::uint32_t>(policy::network::AddressClass::kPublic)) << row.host;
    ASSERT_TRUE(row.address) << row.host;
    EXPECT_EQ(to_string(*row.address), box_.hosts[row.host].front());
  }
  EXPECT_EQ(blocked, 5);
}

TEST_F(Broker, TheOperatorMayOpenAPrivateBlock) {
  const Server inner(kPrivate4, 8443, greet);
  box_.allow("mirror.example", "8443");
  box_.hosts["mirror.example"] = {kPrivate4};
  box_.config.opened = {*policy::network::parse_block("10.1.0.0/16")};
  box_.start();
  EXPECT_EQ(read_all(box_.reach("mirror.example", 8443)), "hello");
}

TEST_F(Broker, AnAddressIsPinnedSoThatANameCannotChangeUnderneath) {
  const Server server(kPublic4, 8443, greet);
  const Server other(kOther4, 8443, [](const Fd& client) { write_all(client, "other"); });
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  EXPECT_EQ(read_all(box_.reach("a.example", 8443)), "hello");
  box_.move_host("a.example", {kOther4});
  EXPECT_EQ(read_all(box_.reach("a.example", 8443)), "hello");
  EXPECT_THAT(box_.asked(), ElementsAre("a.example"));
}

TEST_F(Broker, WhatCannotBeReachedIsNamedWithItsReason) {
  box_.allow("*", "8443");
  box_.hosts["closed.example"] = {kPublic4};
  box_.start();
  EXPECT_EQ(read_all(box_.reach("closed.example", 8443)), "(reset)");
  EXPECT_EQ(read_all(box_.reach("nowhere.example", 8443)), "(reset)");
  std::map<std::string, std::uint32_t> details;
  for (const auto& [id, row] : box_.finish())
    if (row.verdict == Verdict::kUnreachable) details[row.host] = row.detail;
  EXPECT_EQ(details["closed.example"], static_cast<std::uint32_t>(ECONNREFUSED));
  EXPECT_EQ(details["nowhere.example"],
            egress::kLookupDetail + static_cast<std::uint32_t>(egress::LookupStatus::kNoSuchName));
}

TEST_F(Broker, DialsTheNextAddressWhereOneIsClosed) {
  const Server server(kOther4, 8443, greet);
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic6, kPublic4, kOther4};
  box_.start();
  EXPECT_EQ(read_all(box_.reach("a.example", 8443)), "hello");
}

TEST_F(Broker, EachDirectionEndsOnItsOwn) {
  const Server server(kPublic4, 8443, [](const Fd& client) {
    const std::string got = read_all(client);
    write_all(client, "got " + std::to_string(got.size()));
  });
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  const Fd client = box_.reach("a.example", 8443);
  ASSERT_TRUE(write_all(client, std::string(300'000, 'x')));
  ::shutdown(client.get(), SHUT_WR);
  EXPECT_EQ(read_all(client), "got 300000");
  const auto rows = box_.finish();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.begin()->second.bytes_out, 300'000U);
  EXPECT_EQ(rows.begin()->second.bytes_in, 10U);
}

TEST_F(Broker, PassesOnWhatCameTogetherWithItsEnd) {
  std::atomic<bool> asked = false, may_answer = false, answered = false;
  const Server server(kPublic4, 8443, [&](const Fd& client) {
    read_all(client);
    asked = true;
    eventually(may_answer);
    write_all(client, "answer");
    ::shutdown(client.get(), SHUT_RDWR);
    answered = true;
  });
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  const Fd client = box_.reach("a.example", 8443);
  ::shutdown(client.get(), SHUT_WR);
  ASSERT_TRUE(eventually(asked));
  ::kill(box_.pid(), SIGSTOP);  // its next look at the server finds the bytes, their end and the hang-up at once
  may_answer = true;
  ASSERT_TRUE(eventually(answered));
  ::kill(box_.pid(), SIGCONT);
  EXPECT_EQ(read_all(client), "answer");
}

TEST_F(Broker, BulkArrivesWholeByPipesToo) {
  std::string sent;
  for (int i = 0; i < 3'000'000; ++i) sent += static_cast<char>(i * 7 + i / 251);
  const Server server(kPublic4, 8443, [&](const Fd& client) {
    write_all(client, sent);
    ::shutdown(client.get(), SHUT_WR);
    read_all(client);
  });
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  std::vector<Fd> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(box_.reach("a.example", 8443));
  for (const Fd& client : clients) EXPECT_TRUE(read_all(client) == sent);
}

TEST_F(Broker, AResetOfTheServerIsAResetOfTheClient) {
  const Server server(kPublic4, 8443, [](const Fd& client) {
    write_all(client, "part");
    read_some(client, 1);
    const linger now{1, 0};
    ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  });
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  const Fd client = box_.reach("a.example", 8443);
  EXPECT_EQ(read_some(client, 4), "part");
  write_all(client, "x");
  EXPECT_EQ(read_all(client), "(reset)") << "what was cut short must not look whole";
}

TEST_F(Broker, TheProxyServesTheSameRules) {
  const Server server(kPublic4, 8443, greet);
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  const auto ask = [&](const std::string& text) {
    const Fd client = box_.proxy();
    write_all(client, text);
    return read_all(client);
  };
  EXPECT_EQ(ask("CONNECT a.example:8443 HTTP/1.1\r\nHost: a.example\r\n\r\n"),
            "HTTP/1.1 200 Connection Established\r\n\r\nhello");
  EXPECT_THAT(ask("CONNECT b.example:8443 HTTP/1.1\r\n\r\n"), HasSubstr("403 Forbidden"));
  EXPECT_THAT(ask("CONNECT a.example:22 HTTP/1.1\r\n\r\n"), HasSubstr("403 Forbidden"));
  EXPECT_THAT(ask("CONNECT 127.1:22 HTTP/1.1\r\n\r\n"), HasSubstr("400 Bad Request"));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\n\r\n"), HasSubstr("400 Bad Request"));
  EXPECT_THAT(ask("\x16\x03\x01\x02"), HasSubstr("400 Bad Request"));
  EXPECT_THAT(ask("GET http://a.example:8443/ HTTP/1.1\r\n\r\nGET http://evil.example/ HTTP/1.1\r\n\r\n"),
              HasSubstr("400 Bad Request"));
  EXPECT_THAT(box_.summary(), ElementsAre("admitted a.example:8443 1", "denied a.example:22 1",
                                          "denied b.example:8443 1", "malformed :0 3", "malformed a.example:8443 1"));
}

TEST_F(Broker, APlainRequestIsWrittenAnewAndSentOn) {
  const Server server(kPublic4, 80, [](const Fd& client) {
    std::string got;
    while (got.find("\r\n\r\nabc") == std::string::npos) got += read_some(client, 1);
    write_all(client, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + got);
  });
  box_.allow("a.example", "80");
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  const Fd client = box_.proxy();
  write_all(client, "POST http://a.example/x HTTP/1.1\r\nHost: evil\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\na");
  write_all(client, "bc");
  EXPECT_EQ(read_all(client),
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nPOST /x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n"
            "Connection: close\r\n\r\nabc");
}

TEST_F(Broker, TheGateIsAskedOnceForAHostAndPort) {
  const Server server(kPublic4, 8443, greet);
  box_.config.gate = egress::Gate::kAttached;
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  const auto question = [&]() -> egress::Question {
    while (const auto record = box_.next_record())
      if (const auto* one = std::get_if<egress::Question>(&*record)) return *one;
    return {};
  };
  const Fd first = box_.reach("a.example", 8443);
  const Fd second = box_.reach("a.example", 8443);
  const egress::Question asked = question();
  EXPECT_EQ(asked.host, "a.example");
  EXPECT_EQ(asked.port, 8443);
  EXPECT_EQ(asked.asker_port, port_of(first));
  box_.say(egress::Answer{asked.id, egress::GateAnswer::kRun});
  EXPECT_EQ(read_all(first), "hello");
  EXPECT_EQ(read_all(second), "hello");
  EXPECT_EQ(read_all(box_.reach("a.example", 8443)), "hello");
  const Fd refused = box_.reach("b.example", 443);
  box_.say(egress::Answer{question().id, egress::GateAnswer::kNo});
  EXPECT_EQ(read_all(refused), "(reset)");
  EXPECT_THAT(box_.summary(), ElementsAre("gate-admitted a.example:8443 3", "gate-denied b.example:443 1"));
}

TEST_F(Broker, AGateThatDoesNotAnswerMeansNo) {
  box_.config.gate = egress::Gate::kAttached;
  box_.config.bounds.gate_ms = 200;
  box_.start();
  EXPECT_EQ(read_all(box_.reach("a.example", 8443)), "(reset)");
  EXPECT_THAT(box_.summary(), ElementsAre("gate-denied a.example:8443 1"));
}

TEST_F(Broker, AnUpstreamProxyIsAskedForNames) {
  std::string seen;
  const Server upstream("127.0.0.1", 3128, [&](const Fd& client) {
    while (seen.find("\r\n\r\n") == std::string::npos) seen += read_some(client, 1);
    const bool known = seen.starts_with("CONNECT a.example:8443 ");
    write_all(client, known ? "HTTP/1.1 200 OK\r\nVia: x\r\n\r\nhello" : "HTTP/1.1 403 No\r\n\r\n");
  });
  box_.allow("*", "8443");
  box_.allow("127.0.0.1", "3128");
  box_.config.upstream = egress::Upstream{*policy::network::parse_address("127.0.0.1"), 3128, "Basic dTpw", {}};
  box_.start();
  EXPECT_EQ(read_all(box_.reach("a.example", 8443)), "hello");
  EXPECT_EQ(seen, "CONNECT a.example:8443 HTTP/1.1\r\nHost: a.example:8443\r\nProxy-Authorization: Basic dTpw\r\n\r\n");
  seen.clear();
  EXPECT_EQ(read_all(box_.reach("b.example", 8443)), "(reset)");
  const Fd around = box_.proxy();
  write_all(around, "CONNECT 127.0.0.1:3128 HTTP/1.1\r\n\r\n");
  EXPECT_THAT(read_all(around), HasSubstr("502"));
  EXPECT_THAT(box_.asked(), IsEmpty());
  EXPECT_THAT(box_.summary(), ElementsAre("admitted a.example:8443 1", "guard-blocked 127.0.0.1:3128 1",
                                          "unreachable b.example:8443 1"));
}

TEST_F(Broker, ASlowHeadEndsAtItsTime) {
  box_.config.bounds.head_ms = 300;
  box_.start();
  const Fd client = box_.proxy();
  std::string got;
  for (int i = 0; i < 100 && got.empty(); ++i) {
    write_all(client, "C");
    pollfd one{client.get(), POLLIN, 0};
    if (::poll(&one, 1, 20) == 1) got = read_all(client);
  }
  EXPECT_THAT(got, HasSubstr("408"));
  EXPECT_THAT(box_.summary(), ElementsAre("over-bound :0 1"));
}

TEST_F(Broker, AClientThatNeverReadsCostsLittleAndEnds) {
  std::atomic<bool> ended = false;
  const Server server(kPublic4, 8443, [&](const Fd& client) {
    while (write_all(client, std::string(100'000, 'x'))) {
    }
    ended = true;
  });
  box_.config.bounds.stall_ms = 1'000;
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  const Fd client = box_.reach("a.example", 8443);
  for (int i = 0; i < 80 && !ended; ++i) ::usleep(100'000);
  EXPECT_TRUE(ended);
}

TEST_F(Broker, DnsOverTcpTakesFragmentsAndManyQuestions) {
  box_.allow("a.example", "443");
  box_.start();
  const Fd client = box_.connect("127.0.0.1", 53);
  const std::string query(
      "\0\x1b\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01"
      "a\x07"
      "example\0\0\x01\0\x01",
      29);
  for (const char c : query) ASSERT_TRUE(write_all(client, {&c, 1}));
  const std::string one = read_some(client, 2 + 27 + 16);
  EXPECT_EQ(one.substr(one.size() - 4), std::string("\xc6\x12\0\x02", 4));
  ASSERT_TRUE(write_all(client, query + query + query));
  EXPECT_EQ(read_some(client, 3 * 45).size(), 135U);
  ASSERT_TRUE(write_all(client, std::string("\xff\xff", 2) + std::string(100, 'x')));
  EXPECT_THAT(read_all(client), testing::AnyOf("", "(reset)"));
  // The address that resolv.conf names is not 127/8: the redirect takes it.
  const Fd redirected = box_.connect("198.18.0.1", 53);
  ASSERT_TRUE(write_all(redirected, query));
  EXPECT_EQ(read_some(redirected, 45).size(), 45U);
}

std::uint64_t memory_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stoull(line.substr(6));
  return 0;
}

TEST_F(Broker, TenThousandConnectionsAtOnceAreServedOrReset) {
  constexpr int kConnections = 10'000;
  constexpr int kServed = 2'000;
  const Fd server = listen_far(kPublic4, 8443, Reuse::kAgain);  // the backlog takes them all, and nobody reads
  box_.config.bounds.connections = kServed;
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  const std::string address = box_.look_up("a.example");
  std::vector<Fd> clients;
  box_.inside([&] {
    for (int i = 0; i < kConnections; ++i) {
      clients.push_back(connect_to(address, 8443));
      ASSERT_TRUE(clients.back().valid()) << i;
      write_all(clients.back(), "x");
    }
  });
  const auto resets = [&] {
    return std::ranges::count_if(clients, [](const Fd& client) {
      pollfd one{client.get(), 0, 0};
      return ::poll(&one, 1, 0) == 1 && (one.revents & (POLLERR | POLLHUP)) != 0;
    });
  };
  // A reset is sent once: where the kernel's queue was full, only the answer to another byte tells of it.
  for (int i = 0; i < 100 && resets() < kConnections - kServed; ++i) {
    ::usleep(1'000'000);
    for (const Fd& client : clients) write_all(client, "y");
  }
  EXPECT_EQ(resets(), kConnections - kServed);
  EXPECT_LE(memory_of(box_.pid()), 12U * 1024 + 64U * kServed);
  std::map<Verdict, std::uint64_t> counted;
  for (const auto& [id, row] : box_.finish()) counted[row.verdict] += row.count;
  EXPECT_EQ(counted[Verdict::kAdmitted], static_cast<std::uint64_t>(kServed));
  EXPECT_EQ(counted[Verdict::kOverBound], static_cast<std::uint64_t>(kConnections - kServed));
}

TEST_F(Broker, ThatIsKilledLeavesTheNetworkClosed) {
  std::promise<std::string> seen;
  const Server server(kPublic4, 8443, [&](const Fd& client) {
    write_all(client, read_some(client, 1));
    seen.set_value(read_all(client));
  });
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  const Fd client = box_.reach("a.example", 8443);
  ASSERT_TRUE(write_all(client, "x"));
  ASSERT_EQ(read_some(client, 1), "x");
  const std::string address = box_.look_up("a.example");
  box_.kill_broker();
  box_.wait_broker();
  EXPECT_EQ(read_all(client), "(reset)") << "what was cut short never looks whole";
  EXPECT_EQ(seen.get_future().get(), "(reset)") << "for the far side too";
  EXPECT_FALSE(box_.connect(address, 8443).valid());
  EXPECT_FALSE(box_.connect(kPublic4, 8443).valid());
}

TEST_F(Broker, EndsWithItsSupervisor) {
  const Server server(kPublic4, 8443, echo);
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic4};
  box_.start();
  const Fd client = box_.reach("a.example", 8443);
  ASSERT_TRUE(write_all(client, "x"));
  ASSERT_EQ(read_some(client, 1), "x");
  box_.close_control();
  EXPECT_EQ(box_.wait_broker(), 0);
  EXPECT_EQ(read_all(client), "(reset)") << "what was cut short never looks whole";
}

TEST_F(Broker, ShowsThatItLives) {
  box_.config.bounds.heartbeat_ms = 50;
  box_.start();
  std::uint64_t last = 0;
  for (int seen = 0; seen < 5;) {
    const auto record = box_.next_record();
    ASSERT_TRUE(record.has_value());
    if (const auto* beat = std::get_if<egress::Heartbeat>(&*record)) {
      EXPECT_EQ(beat->sequence, last++);
      ++seen;
    }
  }
}

TEST_F(Broker, ItsPortsAreItsOwn) {
  box_.start();
  const auto can_bind = [&](int option) {
    bool bound = false;
    box_.inside([&] {
      const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      const int on = 1;
      if (option != 0) ::setsockopt(socket.get(), SOL_SOCKET, option, &on, sizeof on);
      kernel::SocketAddress at = kernel::to_socket_address({AF_INET, {198, 18, 0, 1}, 53});
      bound = ::bind(socket.get(), at.get(), at.size) == 0;
    });
    return bound;
  };
  EXPECT_FALSE(can_bind(0));
  EXPECT_FALSE(can_bind(SO_REUSEADDR));
  EXPECT_FALSE(can_bind(SO_REUSEPORT));
}

}  // namespace
}  // namespace cordon::test
