// What a plan becomes for the broker, what its rows become for the report, and how an outlet is lost.
#include "enforce/outlet/outlet.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "enforce/outlet/destinations.h"
#include "enforce/outlet/settings.h"
#include "kernel/net.h"

namespace cordon::enforce::outlet {
namespace {

namespace step = plan::step;
using plan::Reach;
using testing::HasSubstr;
using testing::SizeIs;

plan::Plan with_listeners() {
  plan::Plan plan;
  plan.egress = plan::Egress{.allow = {{"a.example", "443", {}}, {".b.example", "1-9", {}}},
                             .opened = {"10.0.0.0/8"},
                             .ipv6 = true,
                             .upstream = {}};
  const auto listen = [&](step::ListenFor what, const char* address) {
    plan.steps.push_back({.act = step::Listen{.what = what, .address = address, .port = 1}, .reason = {}, .at = {}});
  };
  listen(step::ListenFor::kProxy, "127.0.0.1");
  listen(step::ListenFor::kProxy, "::1");
  return plan;
}

TEST(OutletSettings, AreWhatThePlanSays) {
  const auto config = settings_of(with_listeners());
  ASSERT_TRUE(config);
  EXPECT_THAT(config->rules.allow, SizeIs(2));
  EXPECT_EQ(config->rules.allow[1].host.suffix, policy::network::SuffixMeaning::kBelowOnly);
  EXPECT_THAT(config->opened, SizeIs(1));
  ASSERT_THAT(config->listeners, SizeIs(2));
  EXPECT_EQ(config->listeners[1].family, policy::network::Family::kIpv6);
  EXPECT_EQ(config->gate, egress::Gate::kAbsent);
  EXPECT_EQ(config->ipv6, egress::Ipv6::kPresent);
}

TEST(OutletSettings, ATextThatCannotBeReadIsAnErrorAndNoRule) {
  plan::Plan plan = with_listeners();
  plan.egress->allow.push_back({"a b", "443", {}});
  const auto config = settings_of(plan);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().subject, "a b:443");
}

egress::Row row(std::uint32_t id, egress::Verdict verdict, std::uint32_t detail) {
  return {.id = id, .verdict = verdict, .port = 443, .detail = detail, .count = 2, .host = "a.example"};
}

TEST(OutletDestinations, SayWhyInWords) {
  const auto class_of = [](policy::network::AddressClass one) { return static_cast<std::uint32_t>(one); };
  const auto all = destinations_of(
      {{0, row(0, egress::Verdict::kUnreachable, ECONNREFUSED)},
       {1, row(1, egress::Verdict::kUnreachable, egress::kLookupDetail + 1)},
       {2, row(2, egress::Verdict::kUnreachable, egress::kUpstreamDetail + 403)},
       {3, row(3, egress::Verdict::kGuardBlocked, class_of(policy::network::AddressClass::kPrivate))},
       {4, row(4, egress::Verdict::kGuardBlocked, class_of(policy::network::AddressClass::kLoopback))}});
  ASSERT_THAT(all, SizeIs(5));
  EXPECT_EQ(all[0].reach, Reach::kGuardBlocked);
  EXPECT_TRUE(all[0].can_be_opened);
  EXPECT_FALSE(all[1].can_be_opened);
  EXPECT_EQ(all[2].why, "ECONNREFUSED");
  EXPECT_EQ(all[3].why, "no such name");
  EXPECT_EQ(all[4].why, "the upstream proxy answered 403");
}

plan::Destination blocked(const char* address, policy::network::AddressClass its_class) {
  egress::Row one = row(0, egress::Verdict::kGuardBlocked, static_cast<std::uint32_t>(its_class));
  one.address = policy::network::read_address(address);
  return destinations_of({{0, one}}).at(0);
}

TEST(OutletDestinations, NameTheAddressThatWasBlockedAndItsBlock) {
  using policy::network::AddressClass;
  EXPECT_EQ(blocked("10.1.2.3", AddressClass::kPrivate).address, "10.1.2.3");
  EXPECT_EQ(blocked("10.1.2.3", AddressClass::kPrivate).block, "10.0.0.0/8");
  EXPECT_EQ(blocked("fd12::1", AddressClass::kUniqueLocal).block, "fc00::/7");
  EXPECT_EQ(blocked("64:ff9b::a9fe:a9fe", AddressClass::kMetadata).block, "169.254.169.254/32") << "what it carries";
  EXPECT_EQ(blocked("2606:4700::1", AddressClass::kPrivate).block, "") << "NAT64 that nobody could tell us of";
}

TEST(OutletDestinations, OfWhatNoRuleCanOpenNoneIsProposed) {
  const auto denied = [](const char* host) {
    egress::Row one = row(0, egress::Verdict::kDenied, 0);
    one.host = host;
    return destinations_of({{0, one}}).at(0).why;
  };
  EXPECT_EQ(denied("localhost"), "loopback");
  EXPECT_EQ(denied("169.254.169.254"), "metadata");
  EXPECT_EQ(denied("a.example"), "");
}

base::Fd listening() {
  base::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::listen(socket.get(), 1), 0);
  return socket;
}

void serve_until(Outlet& outlet, Outlet::State wanted, int most = 100) {
  for (int i = 0; i < most && outlet.state() != wanted && outlet.state() != Outlet::State::kLost; ++i) {
    pollfd one{outlet.poll_fd().get(), POLLIN, 0};
    ::poll(&one, 1, 100);
    outlet.service();
  }
}

class Started : public testing::Test {
 protected:
  void SetUp() override {
    auto made = Outlet::make(with_listeners(), "");
    ASSERT_TRUE(made) << to_string(made.error());
    outlet.emplace(std::move(*made));
    ASSERT_TRUE(outlet->take_socket({1}, listening()));
    ASSERT_EQ(outlet->state(), Outlet::State::kWaiting);
    const auto taken = outlet->take_socket({2}, listening());
    ASSERT_TRUE(taken) << to_string(taken.error());
    serve_until(*outlet, Outlet::State::kServing);
    ASSERT_EQ(outlet->state(), Outlet::State::kServing);
  }
  std::optional<Outlet> outlet;
};

TEST_F(Started, ServesOnceEverySocketHasCome) {
  EXPECT_FALSE(outlet->take_socket({1}, listening())) << "one more than the plan has";
  EXPECT_THAT(outlet->finish().destinations, SizeIs(0));
}

TEST_F(Started, ABrokerThatIsKilledIsAnOutletThatIsLost) {
  ASSERT_GT(outlet->broker_pid(), 0);
  ::kill(outlet->broker_pid(), SIGKILL);
  serve_until(*outlet, Outlet::State::kLost);
  EXPECT_EQ(outlet->state(), Outlet::State::kLost);
  EXPECT_THAT(outlet->error().detail, HasSubstr("it is gone"));
}

TEST_F(Started, ABrokerThatSaysNothingIsKilled) {
  const pid_t pid = outlet->broker_pid();
  ::kill(pid, SIGSTOP);
  serve_until(*outlet, Outlet::State::kLost);
  EXPECT_EQ(outlet->state(), Outlet::State::kLost);
  EXPECT_THAT(outlet->error().detail, HasSubstr("no sign of life"));
  EXPECT_EQ(::kill(pid, 0), -1) << "killed and reaped";
}

/// A frozen container, a snapshot of a machine: both stood still, and the broker is a little later to go on.
TEST_F(Started, ABrokerThatStoodStillTogetherWithUsIsNotLost) {
  const pid_t pid = outlet->broker_pid();
  for (int i = 0; i < 2; ++i) {
    ::kill(pid, SIGSTOP);
    ::usleep(3'000'000);  // nobody serves the outlet meanwhile, as if this process were stopped
    for (int ticks = 0; ticks < 2; ++ticks) {
      pollfd one{outlet->poll_fd().get(), POLLIN, 0};
      ::poll(&one, 1, 300);
      outlet->service();
    }
    ASSERT_EQ(outlet->state(), Outlet::State::kServing) << i;
    ::kill(pid, SIGCONT);
    serve_until(*outlet, Outlet::State::kLost, 30);
    ASSERT_EQ(outlet->state(), Outlet::State::kServing) << i;
  }
  ::kill(pid, SIGSTOP);
  ::usleep(3'000'000);
  serve_until(*outlet, Outlet::State::kLost);
  EXPECT_EQ(outlet->state(), Outlet::State::kLost) << "the control: one that stays silent afterwards";
}

TEST_F(Started, ABrokerThatIsKilledInItsFarewellIsLost) {
  ::kill(outlet->broker_pid(), SIGSTOP);
  outlet->ask_to_finish(egress::Parting::kWhenDelivered);
  ::kill(outlet->broker_pid(), SIGKILL);
  outlet->finish();
  EXPECT_EQ(outlet->state(), Outlet::State::kLost);
}

TEST_F(Started, ABrokerThatNeverTakesItsLeaveIsLost) {
  ::kill(outlet->broker_pid(), SIGSTOP);
  outlet->ask_to_finish(egress::Parting::kWhenDelivered);
  outlet->finish();
  EXPECT_EQ(outlet->state(), Outlet::State::kLost);
}

TEST_F(Started, ABrokerThatTakesItsLeaveIsNotLost) {
  outlet->ask_to_finish(egress::Parting::kWhenDelivered);
  outlet->finish();
  EXPECT_EQ(outlet->state(), Outlet::State::kServing);
}

plan::Plan publishing(std::uint16_t port, std::uint16_t sockets = 2) {
  plan::Plan plan;
  plan.steps.push_back({.act = step::SocketPool{.count = sockets, .ipv6 = false}, .reason = {}, .at = {}});
  plan.steps.push_back({.act = step::Publish{.port = port}, .reason = {}, .at = {}});
  return plan;
}

/// A port of the loopback that nobody has, and a socket that has it.
struct Taken {
  base::Fd socket;
  std::uint16_t port = 0;
};
Taken taken_port() {
  Taken out{listening(), 0};
  out.port = kernel::local_endpoint(out.socket)->port;
  return out;
}

TEST(Outlet, IsNeededByAPublishedPortAlone) {
  EXPECT_FALSE(Outlet::needed_by({}));
  EXPECT_TRUE(Outlet::needed_by(publishing(1'024)));
  const auto config = settings_of(publishing(1'024));
  ASSERT_TRUE(config);
  EXPECT_EQ(config->inner_ipv4, 2);
  EXPECT_EQ(config->inner_ipv6, 0);
  EXPECT_THAT(config->rules.allow, SizeIs(0));
}

TEST(Outlet, APortThatIsTakenIsAnErrorOfItsStep) {
  Taken taken = taken_port();
  const auto refused = Outlet::make(publishing(taken.port), "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EADDRINUSE);
  EXPECT_EQ(refused.error().step, base::StepId{2});
  EXPECT_EQ(refused.error().subject, "127.0.0.1:" + std::to_string(taken.port));
  taken.socket.reset();
  EXPECT_TRUE(Outlet::make(publishing(taken.port), "")) << "the control";
}

TEST(Outlet, TooFewDescriptorsForItsSocketsAreAnErrorOfThePort) {
  Taken free = taken_port();
  free.socket.reset();
  EXPECT_TRUE(Outlet::make(publishing(free.port, 256), "")) << "the control";
  const pid_t child = ::fork();  // a hard limit is not raised again
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit few{600, 600};
    ::setrlimit(RLIMIT_NOFILE, &few);
    const auto refused = Outlet::make(publishing(free.port, 256), "");
    const bool right = !refused && refused.error().code == EMFILE && refused.error().step == base::StepId{2} &&
                       refused.error().subject == "600" && Outlet::make(publishing(free.port, 64), "");
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Outlet, ASocketOfTheHostsNetworkDoesNotLeadInside) {
  Taken free = taken_port();
  free.socket.reset();
  auto outlet = Outlet::make(publishing(free.port), "");
  ASSERT_TRUE(outlet);
  const auto taken = outlet->take_socket({1}, std::move(*kernel::stream_socket(AF_INET)));
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().detail, HasSubstr("is not of it"));
}

TEST(OutletDestinations, WhatCameInIsCountedByPortAndIsNoDestination) {
  egress::Row came = row(0, egress::Verdict::kAdmitted, 0);
  came.via = egress::Via::kPublished;
  came.port = 5173;
  came.bytes_out = 10;
  came.bytes_in = 3;
  egress::Row in_vain = came;
  in_vain.verdict = egress::Verdict::kUnreachable;
  in_vain.bytes_out = in_vain.bytes_in = 0;
  egress::Row over = in_vain;
  over.verdict = egress::Verdict::kOverBound;
  const std::map<std::uint32_t, egress::Row> rows = {
      {0, came}, {1, in_vain}, {2, over}, {3, row(3, egress::Verdict::kAdmitted, 0)}};
  EXPECT_THAT(destinations_of(rows), SizeIs(1));
  EXPECT_THAT(inbound_of(rows),
              testing::ElementsAre(
                  plan::Inbound{.port = 5173, .count = 2, .refused = 2, .no_room = 2, .bytes_out = 10, .bytes_in = 3}));
}

TEST(Outlet, ASocketThatThePlanDoesNotHaveIsRefused) {
  auto outlet = Outlet::make(with_listeners(), "");
  ASSERT_TRUE(outlet);
  EXPECT_FALSE(outlet->take_socket({7}, listening()));
}

}  // namespace
}  // namespace cordon::enforce::outlet
