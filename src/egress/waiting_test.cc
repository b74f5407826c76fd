// Who waits for what: the gate's questions and the resolver's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "egress/destination.h"
#include "egress/dialer.h"
#include "egress/gatekeeper.h"
#include "egress/lookups.h"
#include "kernel/route.h"

namespace cordon::egress {
namespace {

using policy::network::Host;
using policy::network::HostName;
using policy::network::Nat64;
using policy::network::parse_address;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kMs = 1'000'000;
const kernel::Endpoint kAsker{AF_INET, {198, 18, 0, 1}, 40'000};

Host name(const char* text) { return *HostName::parse(text); }

class Gates : public testing::Test {
 protected:
  GateState ask(const char* host, std::uint32_t slot, std::uint64_t now = 0) {
    return gate_.ask(name(host), 443, kAsker, {slot, 1}, now);
  }
  std::uint64_t last_id() {
    const std::uint64_t id = std::get<Question>(gate_.outgoing().back()).id;
    gate_.outgoing().clear();
    return id;
  }
  Bounds bounds_{.gate_ms = 100, .gate_questions = 2};
  Gatekeeper gate_{bounds_};
};

TEST_F(Gates, AskOnceForAHostAndPort) {
  EXPECT_EQ(ask("a.example", 1), GateState::kWaits);
  EXPECT_EQ(ask("a.example", 2), GateState::kWaits);
  ASSERT_EQ(gate_.outgoing().size(), 1U);
  const auto outcome = gate_.answer({last_id(), GateAnswer::kOnce});
  EXPECT_TRUE(outcome.admitted);
  EXPECT_THAT(outcome.waiting, ElementsAre(Handle{1, 1}, Handle{2, 1}));
  EXPECT_EQ(ask("a.example", 3), GateState::kWaits) << "once is once";
}

TEST_F(Gates, KeepWhatWasSaidForTheRun) {
  ask("a.example", 1);
  gate_.answer({last_id(), GateAnswer::kRun});
  EXPECT_EQ(ask("a.example", 2), GateState::kAdmitted);
  ask("b.example", 3);
  EXPECT_FALSE(gate_.answer({last_id(), GateAnswer::kNever}).admitted);
  EXPECT_EQ(ask("b.example", 4), GateState::kRefused);
}

TEST_F(Gates, RefuseWhereNobodyAnswersInTimeOrTooManyAsk) {
  ask("a.example", 1);
  ask("b.example", 2, 50 * kMs);
  EXPECT_EQ(ask("c.example", 3), GateState::kFull);
  EXPECT_THAT(gate_.expire(99 * kMs), IsEmpty());
  EXPECT_THAT(gate_.expire(100 * kMs), ElementsAre(Handle{1, 1}));
  EXPECT_EQ(ask("c.example", 3), GateState::kWaits);
  EXPECT_THAT(gate_.answer({1, GateAnswer::kRun}).waiting, IsEmpty()) << "too late";
  EXPECT_EQ(ask("a.example", 4, 0), GateState::kFull);
}

TEST_F(Gates, TakeAQuestionBackThatNobodyWaitsFor) {
  ask("a.example", 1);
  ask("a.example", 2);
  const std::uint64_t id = last_id();
  gate_.leave({1, 1});
  EXPECT_THAT(gate_.outgoing(), IsEmpty());
  gate_.leave({2, 1});
  ASSERT_EQ(gate_.outgoing().size(), 1U);
  EXPECT_EQ(std::get<QuestionGone>(gate_.outgoing().front()).id, id);
  EXPECT_FALSE(gate_.answer({id, GateAnswer::kOnce}).admitted);
}

class LookupTable : public testing::Test {
 protected:
  const Resolved* find(const char* host, std::uint32_t slot, std::uint64_t now = 0) {
    return lookups_.find(*HostName::parse(host), {slot, 1}, now);
  }
  std::optional<std::uint32_t> send(std::uint64_t now = 0) {
    const auto question = lookups_.next_question(now);
    if (!question) return std::nullopt;
    lookups_.sent(now);
    return question->id;
  }
  static LookupAnswer answer(std::uint32_t id, LookupStatus status, std::initializer_list<const char*> addresses) {
    LookupAnswer out{.id = id, .status = status};
    for (const char* one : addresses) {
      const auto address = policy::network::read_address(one);
      auto& into = out.addresses[out.count++];
      into.family = address->family == policy::network::Family::kIpv6 ? 1 : 0;
      std::copy(address->bytes.begin(), address->bytes.end(), into.bytes.begin());
    }
    return out;
  }
  Bounds bounds_{.lookup_ms = 100, .lookups = 2, .pin_ms = 1'000, .nat64_ms = 50};
  Lookups lookups_{bounds_};
};

TEST_F(LookupTable, SharesOneQuestionAndPinsItsAnswer) {
  EXPECT_EQ(find("a.example", 1), nullptr);
  EXPECT_EQ(find("a.example", 2), nullptr);
  const auto id = send();
  ASSERT_TRUE(id.has_value());
  EXPECT_FALSE(send().has_value());
  EXPECT_THAT(lookups_.take(answer(*id, LookupStatus::kOk, {"192.0.2.1"}), 10 * kMs),
              ElementsAre(Handle{1, 1}, Handle{2, 1}));
  ASSERT_NE(find("a.example", 3, 500 * kMs), nullptr);
  EXPECT_EQ(find("a.example", 3, 500 * kMs)->addresses.size(), 1U);
  EXPECT_EQ(find("a.example", 3, 2'000 * kMs), nullptr) << "the pin is over";
}

TEST_F(LookupTable, AsksAgainForWhatFailed) {
  find("a.example", 1);
  EXPECT_THAT(lookups_.take(answer(*send(), LookupStatus::kTryAgain, {}), 0), ElementsAre(Handle{1, 1}));
  EXPECT_EQ(lookups_.result(*HostName::parse("a.example"))->status, LookupStatus::kTryAgain);
  EXPECT_EQ(find("a.example", 2, 1), nullptr);
  EXPECT_TRUE(send().has_value());
}

TEST_F(LookupTable, KeepsToItsBoundAndGivesUpInTime) {
  for (std::uint32_t i = 0; i < 4; ++i) find(("h" + std::to_string(i) + ".example").c_str(), i);
  EXPECT_TRUE(send().has_value());
  const auto second = send();
  EXPECT_FALSE(send().has_value()) << "two at once";
  lookups_.take(answer(*second, LookupStatus::kNoSuchName, {}), 0);
  EXPECT_TRUE(send().has_value());
  EXPECT_EQ(lookups_.expire(100 * kMs).size(), 3U);
  EXPECT_EQ(lookups_.result(*HostName::parse("h0.example"))->status, LookupStatus::kTooLate);
  EXPECT_THAT(lookups_.take(answer(1, LookupStatus::kOk, {"192.0.2.1"}), 101 * kMs), IsEmpty()) << "late";
  EXPECT_FALSE(send().has_value()) << "what was queued is over too";
}

TEST_F(LookupTable, FailsEverythingWithoutAResolver) {
  find("a.example", 1);
  send();
  find("b.example", 2);
  lookups_.knows_nat64({3, 1}, 0);
  EXPECT_EQ(lookups_.fail_all(0).size(), 3U);
  EXPECT_EQ(lookups_.nat64(), Nat64::kInconclusive);
}

TEST_F(LookupTable, LearnsOfNat64Once) {
  EXPECT_FALSE(lookups_.knows_nat64({1, 1}, 0));
  EXPECT_FALSE(lookups_.knows_nat64({2, 1}, 0));
  const auto id = send();
  EXPECT_FALSE(send().has_value());
  EXPECT_EQ(lookups_.take(answer(*id, LookupStatus::kOk, {"2606:4700:64::c000:aa"}), 0).size(), 2U);
  EXPECT_TRUE(lookups_.knows_nat64({3, 1}, 0));
  EXPECT_EQ(lookups_.nat64(), Nat64::kKnown);
  EXPECT_EQ(lookups_.prefixes().size(), 1U);
}

TEST_F(LookupTable, WithoutAnAnswerOfNat64StaysCareful) {
  lookups_.knows_nat64({1, 1}, 0);
  const auto id = send();
  EXPECT_THAT(lookups_.expire(50 * kMs), ElementsAre(Handle{1, 1}));
  EXPECT_EQ(lookups_.nat64(), Nat64::kInconclusive);
  EXPECT_THAT(lookups_.take(answer(*id, LookupStatus::kNoSuchName, {}), 60 * kMs), IsEmpty());
  EXPECT_EQ(lookups_.nat64(), Nat64::kInconclusive) << "an answer after its time changes nothing";
}

TEST_F(LookupTable, AnAnswerWithoutAddressesMeansNoNat64) {
  lookups_.knows_nat64({1, 1}, 0);
  lookups_.take(answer(*send(), LookupStatus::kNoSuchName, {}), 0);
  EXPECT_EQ(lookups_.nat64(), Nat64::kNone);
}

TEST(Destinations, AreReadInTheirOrder) {
  NameTable names(10);
  names.number_of(*HostName::parse("a.example"));
  const auto told = [&](std::string_view text) {
    const auto found = read_destination(*policy::network::read_address(text), 443, names);
    return found ? to_string(found->host) : "(nothing)";
  };
  EXPECT_EQ(told("198.18.0.2"), "a.example");
  EXPECT_EQ(told("::ffff:198.18.0.2"), "a.example");
  EXPECT_EQ(told("fd63:6f72:646e::2"), "a.example");
  EXPECT_EQ(told("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(told("::192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(told("192.0.2.1"), "192.0.2.1");
  for (const char* nothing : {"0.0.0.0", "::", "::ffff:0.0.0.0", "198.18.0.1", "198.18.0.3", "198.19.255.255",
                              "fd63:6f72:646e::1", "fd63:6f72:646e::3", "::ffff:198.18.0.1"})
    EXPECT_EQ(told(nothing), "(nothing)") << nothing;
  EXPECT_FALSE(read_destination(*parse_address("192.0.2.1"), 0, names));
}

TEST(Dialing, TakesFamiliesInTurns) {
  const auto four = [](std::uint8_t last) { return Target{{AF_INET, {192, 0, 2, last}, 1}}; };
  const auto six = [](std::uint8_t last) { return Target{{AF_INET6, {last}, 1}}; };
  EXPECT_THAT(interleaved({six(1), six(2), six(3), four(1), four(2)}),
              ElementsAre(six(1), four(1), six(2), four(2), six(3)));
  EXPECT_THAT(interleaved({four(1), six(1), four(2)}), ElementsAre(four(1), six(1), four(2)));
  EXPECT_THAT(interleaved({}), IsEmpty());
}

/// What is left of dialling a listener of this machine's own: whether bytes may pass, and what it sees.
TEST(Dialing, ClosesAConnectionThatHasNotLeftTheMachine) {
  const kernel::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  kernel::SocketAddress at = kernel::to_socket_address({AF_INET, {127, 0, 0, 1}, 0});
  ASSERT_EQ(::bind(listener.get(), at.get(), at.size), 0);
  ASSERT_EQ(::listen(listener.get(), 4), 0);
  const auto here = kernel::local_endpoint(listener);
  ASSERT_TRUE(here);
  Poller poller(std::move(*kernel::epoll_create()));
  AttemptBudget budget;
  const auto dialled = [&](OwnMachine own) {
    Dialer dialer({{*here, own}}, {}, kMs, poller, budget);
    Dialer::State state = dialer.start(0);
    std::array<epoll_event, 4> events{};
    while (state == Dialer::State::kUnderWay) {
      const auto got = poller.wait(events, 5'000);
      if (!got || *got == 0) break;
      state = dialer.on_event(Tag::unpacked(events[0].data.u64).part, 0);
    }
    EXPECT_EQ(dialer.own().has_value(), own == OwnMachine::kRefused);
    return state;
  };
  EXPECT_EQ(dialled(OwnMachine::kMeant), Dialer::State::kConnected);
  EXPECT_EQ(dialled(OwnMachine::kRefused), Dialer::State::kFailed);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(kernel::receive(kernel::accept(listener)->socket, {}).value_or(0), 0U);
}

TEST(Routes, SayWhichAddressesAreTheMachinesOwn) {
  auto routes = kernel::Routes::open();
  ASSERT_TRUE(routes);
  const auto own = [&](const char* address) { return routes->end_here(endpoint_of(*parse_address(address), 0)); };
  for (const char* here : {"127.0.0.1", "127.9.9.9"}) EXPECT_TRUE(own(here).value_or(false)) << here;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(own("192.0.2.77").value_or(true));
  EXPECT_FALSE(own("2001:db8::77").value_or(true));
}

}  // namespace
}  // namespace cordon::egress
