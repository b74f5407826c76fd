// The network of a plan: the order of what is made, what each host can and cannot have, and what leaves the planner.
#include "planner/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

namespace step = plan::step;
using plan::Feature;
using ::testing::ElementsAre;
using testing::FakeHost;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::must_plan;
using testing::PolicyMaker;
using testing::with_script;

policy::Policy reaching(std::vector<std::pair<std::string, std::string>> rules) {
  policy::Policy policy = PolicyMaker("/home/me/p/run").policy;
  std::uint32_t line = 2;
  for (auto& [host, port] : rules) policy.network.push_back({host, port, "", {{"m.yaml", line++, 1, 1}, ""}});
  return policy;
}

/// The network's steps in their order: "listen redirected 127.0.0.1 1".
std::vector<std::string> network_of(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const plan::Step& one : plan.steps) {
    if (const auto* local = std::get_if<step::LocalNetwork>(&one.act)) out.push_back("local " + local->address);
    if (const auto* redirect = std::get_if<step::Redirect>(&one.act))
      out.push_back("redirect " + std::to_string(redirect->port) + (redirect->ipv6 ? " both" : " ipv4"));
    if (const auto* listen = std::get_if<step::Listen>(&one.act))
      out.push_back(std::string(plan::listen_name(listen->what)) + " " + listen->address + " " +
                    std::to_string(listen->port));
    if (const auto* pool = std::get_if<step::SocketPool>(&one.act))
      out.push_back("pool " + std::to_string(pool->count) + (pool->ipv6 ? " ipv6" : " ipv4"));
    if (const auto* publish = std::get_if<step::Publish>(&one.act))
      out.push_back("publish " + std::to_string(publish->port) + " of line " + std::to_string(one.at.line));
    if (std::holds_alternative<step::Loopback>(one.act)) out.emplace_back("loopback");
    if (std::holds_alternative<step::BuildRoot>(one.act)) out.emplace_back("root");
  }
  return out;
}

std::string refusals_of(const plan::Refusal& refusal) {
  std::string out;
  for (const plan::RefusedItem& item : refusal.items) out += item.code + ": " + item.message + "\n";
  return out;
}

TEST(NetworkPlan, WithoutARuleThereIsNothingButLo) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(reaching({})));
  EXPECT_THAT(network_of(plan), ElementsAre("root", "loopback"));
  EXPECT_FALSE(plan.egress.has_value());
}

TEST(NetworkPlan, AWayOutIsMadeBeforeTheMounts) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(reaching({{"a.example", "443"}})));
  EXPECT_THAT(network_of(plan), ElementsAre("local 198.18.0.1", "local fd63:6f72:646e::1", "redirect 1 both",
                                            "redirected 127.0.0.1 1", "redirected ::1 1", "dns-tcp 127.0.0.1 53",
                                            "proxy 127.0.0.1 128", "dns-udp 0.0.0.0 53", "dns-udp :: 53", "root"));
  ASSERT_TRUE(plan.egress.has_value());
  EXPECT_THAT(plan.egress->allow, ElementsAre(plan::NetworkRule{"a.example", "443", {"m.yaml", 2, 1, 1}}));
  EXPECT_TRUE(plan.egress->ipv6);
}

TEST(NetworkPlan, AHostWithoutIpv6HasNoneInside) {
  FakeHost host = with_script("#!/bin/sh");
  host.facts.feature(Feature::kIpv6).state = plan::Availability::kNo;
  const plan::Plan plan = must_plan(host.plan(reaching({{"a.example", "443"}})));
  EXPECT_THAT(network_of(plan),
              ElementsAre("local 198.18.0.1", "redirect 1 ipv4", "redirected 127.0.0.1 1", "dns-tcp 127.0.0.1 53",
                          "proxy 127.0.0.1 128", "dns-udp 0.0.0.0 53", "root"));
  EXPECT_FALSE(plan.egress->ipv6);
}

TEST(NetworkPlan, WithoutNfTablesEachGrantedPortHasItsListener) {
  FakeHost host = with_script("#!/bin/sh");
  host.facts.feature(Feature::kIpv6).state = plan::Availability::kNo;
  host.facts.feature(Feature::kNatRedirect).state = plan::Availability::kNo;
  const plan::Plan plan = must_plan(host.plan(reaching({{"a.example", "443"}, {"b.example", "8000-8001"}})));
  EXPECT_THAT(network_of(plan),
              ElementsAre("local 198.18.0.1", "port 0.0.0.0 443", "port 0.0.0.0 8000", "port 0.0.0.0 8001",
                          "dns-tcp 0.0.0.0 53", "proxy 127.0.0.1 128", "dns-udp 0.0.0.0 53", "root"));
  ASSERT_FALSE(plan.notes.empty());
  EXPECT_EQ(plan.notes.front().code, "ports-taken");
}

TEST(NetworkPlan, WithoutNfTablesWideRulesAreRefused) {
  FakeHost host = with_script("#!/bin/sh");
  plan::FeatureFact& fact = host.facts.feature(Feature::kNatRedirect);
  fact.state = plan::Availability::kNo;
  fact.operation = "netlink(nf_tables)";
  fact.code = 93;
  for (const char* ports : {"*", "1000-1256"}) {
    const auto verdict = host.plan(reaching({{"a.example", ports}}));
    ASSERT_TRUE(std::holds_alternative<plan::Refusal>(verdict)) << ports;
    const plan::Refusal& refusal = std::get<plan::Refusal>(verdict);
    EXPECT_THAT(refusals_of(refusal), HasSubstr("without nf_tables at most 256 ports can be granted: "
                                                "netlink(nf_tables) failed (EPROTONOSUPPORT)"));
    EXPECT_EQ(refusal.items.front().at.line, 2);
  }
  must_plan(host.plan(reaching({{"a.example", "1000-1255"}})));
}

TEST(NetworkPlan, ARuleThatNobodyCanReadIsRefusedAndNeverWider) {
  FakeHost host = with_script("#!/bin/sh");
  for (const char* wrong : {"a example", "0177.0.0.1", "a..b", "*.*"}) {
    const auto verdict = host.plan(reaching({{wrong, "443"}}));
    ASSERT_TRUE(std::holds_alternative<plan::Refusal>(verdict)) << wrong;
    EXPECT_EQ(std::get<plan::Refusal>(verdict).items.front().code, "network-rule-invalid") << wrong;
  }
}

TEST(NetworkPlan, ARuleThatCanNeverReachAnythingIsRefusedAtItsLine) {
  FakeHost host = with_script("#!/bin/sh");
  const auto refused = [&](const char* name, const char* port) {
    policy::Policy policy = reaching({{"a.example", "443"}, {name, port}});
    policy.posture.allow_address = {{"10.0.0.0/8", {{}, "--allow-address"}}};
    const auto verdict = host.plan(policy);
    return std::holds_alternative<plan::Refusal>(verdict) ? std::get<plan::Refusal>(verdict).items
                                                          : std::vector<plan::RefusedItem>{};
  };
  for (const char* own : {"localhost", "db.localhost", "127.0.0.1", "127.0.0.0/8", "::1"}) {
    const auto items = refused(own, "5432");
    ASSERT_EQ(items.size(), 1U) << own;
    EXPECT_EQ(items.front().code, "network-rule-invalid");
    EXPECT_EQ(items.front().at.line, 3);
    EXPECT_THAT(items.front().message, HasSubstr("\"" + std::string(own) + "\" is the sandbox's own loopback"));
    EXPECT_THAT(items.front().mend, HasSubstr("host_services: [5432]"));
  }
  EXPECT_THAT(refused("localhost", "8000-8010").at(0).mend, HasSubstr("host_services: [PORT]"));
  EXPECT_THAT(refused("169.254.169.254", "80").at(0).message, HasSubstr("metadata, which is never reached"));
  EXPECT_THAT(refused("10.0.0.1", "80"), IsEmpty());
}

TEST(NetworkPlan, WithoutANetworkOfItsOwnNoRuleIsHeld) {
  FakeHost host = with_script("#!/bin/sh");
  host.facts.feature(Feature::kNetNamespace).state = plan::Availability::kNo;
  policy::Policy policy = reaching({{"a.example", "443"}});
  policy.posture.allow_degraded = true;
  const auto verdict = host.plan(policy);
  ASSERT_TRUE(std::holds_alternative<plan::Refusal>(verdict));
  EXPECT_THAT(refusals_of(std::get<plan::Refusal>(verdict)), HasSubstr("cannot be held to the rules"));
}

policy::Policy with_services(std::vector<std::string> ports) {
  policy::Policy policy = reaching({});
  for (std::string& port : ports) policy.host_services.push_back({std::move(port), {{"m.yaml", 3, 1, 1}, ""}});
  return policy;
}

TEST(NetworkPlan, AHostServiceHasItsPortOnTheLoopbackInside) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(with_services({"5432", "80", "5432"})));
  EXPECT_THAT(plan.egress->host_services, ElementsAre(80, 5432));
  EXPECT_THAT(plan.egress->allow, IsEmpty());
  EXPECT_THAT(network_of(plan),
              ::testing::IsSupersetOf({"host-service 127.0.0.1 80", "host-service ::1 80",
                                       "host-service 127.0.0.1 5432", "host-service ::1 5432", "redirect 1 both"}));
}

TEST(NetworkPlan, WithoutNfTablesAHostServiceSharesTheListenerOfItsPort) {
  FakeHost host = with_script("#!/bin/sh");
  host.facts.feature(Feature::kNatRedirect).state = plan::Availability::kNo;
  policy::Policy policy = with_services({"443", "5432"});
  policy.network.push_back({"a.example", "443", "", {{"m.yaml", 2, 1, 1}, ""}});
  const auto steps = network_of(must_plan(host.plan(policy)));
  EXPECT_THAT(steps, ::testing::IsSupersetOf({"port 0.0.0.0 443", "host-service 127.0.0.1 5432"}));
  EXPECT_THAT(steps, ::testing::Not(::testing::Contains("host-service 127.0.0.1 443")));
  must_plan(host.plan(with_services({"5432"})));
}

TEST(NetworkPlan, HostServicesOnPortsThatAreTakenInsideOrTooManyAreRefused) {
  FakeHost host = with_script("#!/bin/sh");
  for (const char* taken : {"1", "53", "128"}) {
    const auto verdict = host.plan(with_services({taken}));
    ASSERT_TRUE(std::holds_alternative<plan::Refusal>(verdict)) << taken;
    EXPECT_EQ(std::get<plan::Refusal>(verdict).items.front().at.line, 3);
    EXPECT_THAT(refusals_of(std::get<plan::Refusal>(verdict)), HasSubstr("Cordon's own inside"));
  }
  std::vector<std::string> many;
  for (int port = 2000; port < 2017; ++port) many.push_back(std::to_string(port));
  EXPECT_TRUE(std::holds_alternative<plan::Refusal>(host.plan(with_services(many))));
  many.pop_back();
  must_plan(host.plan(with_services(many)));
}

policy::Policy publishing(std::vector<std::string> ports) {
  policy::Policy policy = reaching({});
  std::uint32_t line = 3;
  for (std::string& port : ports) policy.publish.push_back({std::move(port), {{"m.yaml", line++, 1, 1}, ""}});
  return policy;
}

TEST(NetworkPlan, APublishedPortIsAWayInAndNoWayOut) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(publishing({"5173", "8080"})));
  EXPECT_THAT(network_of(plan), ElementsAre("pool 128 ipv4", "pool 128 ipv6", "publish 5173 of line 3",
                                            "publish 8080 of line 4", "root", "loopback"));
  EXPECT_FALSE(plan.egress.has_value());
  EXPECT_THAT(resolver_settings(publishing({"5173"})), ::testing::Not(HasSubstr("nameserver")));
  host.facts.feature(Feature::kIpv6).state = plan::Availability::kNo;
  EXPECT_THAT(network_of(must_plan(host.plan(publishing({"5173"})))),
              ElementsAre("pool 128 ipv4", "publish 5173 of line 3", "root", "loopback"));
}

TEST(NetworkPlan, APublishedPortStandsBesideAWayOut) {
  FakeHost host = with_script("#!/bin/sh");
  policy::Policy policy = publishing({"5173"});
  policy.network.push_back({"a.example", "443", "", {{"m.yaml", 2, 1, 1}, ""}});
  const auto steps = network_of(must_plan(host.plan(policy)));
  EXPECT_THAT(steps, ::testing::IsSupersetOf({"redirect 1 both", "pool 128 ipv4", "publish 5173 of line 3"}));
  EXPECT_THAT(steps, ::testing::Not(::testing::Contains("loopback")));
}

/// The message of the one problem, behind its line; "" where there is none.
std::string problem(const Verdict& verdict) {
  const auto* refusal = std::get_if<plan::Refusal>(&verdict);
  if (refusal == nullptr) return {};
  const plan::RefusedItem& item = refusal->items.front();
  return std::to_string(item.at.line) + ": " + item.code + ": " + item.message;
}

TEST(NetworkPlan, APortThatCannotBePublishedIsRefusedAtItsLine) {
  FakeHost host = with_script("#!/bin/sh");
  for (const char* wrong : {"0", "65536", "8000-8001", "*", "localhost:8080", ""})
    EXPECT_THAT(problem(host.plan(publishing({"5173", wrong}))),
                ::testing::StartsWith("4: network-rule-invalid: publish: "))
        << wrong;
  EXPECT_THAT(problem(host.plan(publishing({"1023"}))), HasSubstr("no right to listen on port 1023"));
  EXPECT_THAT(problem(host.plan(publishing({"5173", "8080", "5173"}))),
              ::testing::AllOf(::testing::StartsWith("5: "), HasSubstr("port 5173 is there twice")));
  std::vector<std::string> many;
  for (int port = 2000; port < 2017; ++port) many.push_back(std::to_string(port));
  EXPECT_THAT(problem(host.plan(publishing(many))), HasSubstr("at most 16 ports"));
  many.pop_back();
  EXPECT_EQ(problem(host.plan(publishing(many))), "");
  EXPECT_EQ(problem(host.plan(publishing({"1024", "65535"}))), "");
}

TEST(NetworkPlan, APortThatTheTargetCannotHaveIsNotPublished) {
  FakeHost host = with_script("#!/bin/sh");
  policy::Policy policy = publishing({"5432"});
  policy.host_services.push_back({"5432", {{"m.yaml", 9, 1, 1}, ""}});
  EXPECT_THAT(problem(host.plan(policy)), HasSubstr("host_services leads to the host's own service there"));
  policy = publishing({"8443"});
  policy.network.push_back({"a.example", "8443", "", {{"m.yaml", 2, 1, 1}, ""}});
  EXPECT_EQ(problem(host.plan(policy)), "") << "the redirect takes no port";
  host.facts.feature(Feature::kNatRedirect).state = plan::Availability::kNo;
  EXPECT_THAT(problem(host.plan(policy)), HasSubstr("no nf_tables, so network: takes the port"));
  EXPECT_EQ(problem(host.plan(publishing({"8443"}))), "") << "which a published port does not need";
}

TEST(NetworkPlan, WithoutANetworkOfItsOwnNothingIsPublished) {
  FakeHost host = with_script("#!/bin/sh");
  host.facts.feature(Feature::kNetNamespace).state = plan::Availability::kNo;
  policy::Policy policy = publishing({"5173"});
  policy.posture.allow_degraded = true;
  EXPECT_THAT(problem(host.plan(policy)), HasSubstr("without a network of its own"));
}

TEST(NetworkPlan, SaysWhoseWordAnOpenedBlockIs) {
  FakeHost host = with_script("#!/bin/sh");
  policy::Policy policy = reaching({{"a.example", "443"}});
  policy.posture.allow_address = {{"10.0.0.0/8", {{}, "--allow-address"}},
                                  {"fd00::/8", {{"/home/me/.config/cordon/config.yaml", 2, 5, 8}, ""}}};
  const plan::Plan plan = must_plan(host.plan(policy));
  std::vector<std::string> said;
  for (const plan::Note& note : plan.notes)
    if (note.code == "address-opened") said.push_back(note.text);
  EXPECT_THAT(said, ElementsAre("names may lead to 10.0.0.0/8, because --allow-address says so",
                                "names may lead to fd00::/8, because /home/me/.config/cordon/config.yaml:2 says so"));
}

TEST(NetworkPlan, NamesAreAskedOfTheBrokerInside) {
  EXPECT_EQ(resolver_settings(reaching({{"a.example", "443"}})), "nameserver 198.18.0.1\n");
  EXPECT_THAT(resolver_settings(reaching({})), ::testing::Not(HasSubstr("nameserver")));
}

TEST(NetworkPlan, TheProxyIsNamedInTheEnvironmentWhereItIsAskedFor) {
  FakeHost host = with_script("#!/bin/sh");
  policy::Policy policy = reaching({{"a.example", "443"}});
  policy.posture.proxy_env = true;
  const plan::Plan plan = must_plan(host.plan(policy));
  const auto& execute = std::get<step::Execute>(plan.steps.back().act);
  EXPECT_THAT(execute.environment, ::testing::Contains("https_proxy=http://127.0.0.1:128"));
}

}  // namespace
}  // namespace cordon::planner
