// What a report says of the ways out of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/json.h"
#include "report/report.h"

namespace cordon::report {
namespace {

using plan::Reach;
using plan::Way;
using testing::HasSubstr;
using testing::Not;

Report report_of(std::vector<plan::Destination> destinations, int code = 0) {
  plan::Plan plan;
  plan.requested = {plan::Layer::kNetwork};
  plan::Outcome outcome;
  outcome.executed = true;
  outcome.exit_code = code;
  outcome.destinations = std::move(destinations);
  return make_report(plan, outcome);
}

std::string words(const Report& report) {
  std::string out = text(report, Style{.colour = false, .width = 200});
  return out;
}

plan::Destination to(Reach reach, Way way, std::string host, std::uint16_t port) {
  return {.reach = reach, .way = way, .host = std::move(host), .port = port, .count = 1, .why = {}};
}

TEST(EgressReport, ALookupThatWasDeniedLeavesThePortToThePerson) {
  const Report report = report_of({to(Reach::kDenied, Way::kDns, "a.example", 0)});
  ASSERT_EQ(report.denials.size(), 1U);
  EXPECT_EQ(report.denials.front().grant, "network: [{host: a.example, port: PORT}]");
  EXPECT_THAT(words(report), HasSubstr("network: [{host: a.example, port: PORT}] with the port that it is to reach"));
  EXPECT_THAT(words(report), Not(HasSubstr("443")));
}

TEST(EgressReport, AConnectionThatWasDeniedNamesItsPort) {
  EXPECT_EQ(report_of({to(Reach::kDenied, Way::kDirect, "a.example", 22)}).denials.front().grant,
            "network: [{host: a.example, port: '22'}]");
}

TEST(EgressReport, WhatAPersonAllowedIsSaidWithTheLineThatKeepsIt) {
  const Report report = report_of({to(Reach::kGateAdmitted, Way::kDirect, "a.example", 443),
                                   to(Reach::kGateAdmitted, Way::kProxy, "a.example", 443)});
  EXPECT_EQ(words(report),
            "cordon: allowed: a.example:443, because you said so\n"
            "cordon:   mend: to allow it always, write in the manifest: network: [{host: a.example, port: '443'}]\n");
}

TEST(EgressReport, WhatIsBeyondABoundTakesOneLineHoweverManyNamesItHas) {
  std::vector<plan::Destination> all;
  for (int i = 0; i < 1'000; ++i) all.push_back(to(Reach::kOverBound, Way::kDns, "h" + std::to_string(i), 0));
  EXPECT_EQ(words(report_of(std::move(all))), "cordon: refused: 1000 connections beyond a bound (names)\n");
}

plan::Destination blocked(std::string host, std::string address, std::string why, std::string block,
                          bool can_be_opened) {
  plan::Destination one = to(Reach::kGuardBlocked, Way::kDirect, std::move(host), 443);
  one.address = std::move(address);
  one.why = std::move(why);
  one.block = std::move(block);
  one.can_be_opened = can_be_opened;
  return one;
}

TEST(EgressReport, WhatTheGuardBlockedIsSaidWithTheAddressAndTheFlagThatOpensIt) {
  const Report report = report_of({blocked("a.example", "10.1.2.3", "private", "10.0.0.0/8", true),
                                   blocked("b.example", "10.1.2.3", "private", "10.0.0.0/8", true),
                                   blocked("10.9.9.9", "10.9.9.9", "private", "10.0.0.0/8", true),
                                   blocked("c.example", "2606:4700::1", "private", "", true)});
  EXPECT_EQ(words(report),
            "cordon: blocked: a.example:443 is granted, but leads to 10.1.2.3, which is private (10.0.0.0/8)\n"
            "cordon:   mend: if that host is meant to be there: --allow-address 10.1.2.3, or a block around it\n"
            "cordon: blocked: b.example:443 is granted, but leads to 10.1.2.3, which is private (10.0.0.0/8)\n"
            "cordon: blocked: 10.9.9.9:443 is granted, but the address is private (10.0.0.0/8)\n"
            "cordon:   mend: if that host is meant to be there: --allow-address 10.9.9.9, or a block around it\n"
            "cordon: blocked: c.example:443 is granted, but leads to 2606:4700::1, which counts as private\n"
            "cordon:   mend: if that host is meant to be there: --allow-address 2606:4700::1, or a block around it\n");
  EXPECT_THAT(verdict_event(report), HasSubstr(R"("why":"private","address":"10.1.2.3","block":"10.0.0.0/8")"));
}

TEST(EgressReport, AnAddressOfThisMachineIsSaidToBeItsOwn) {
  const Report report = report_of({blocked("a.example", "2606:4700::1", "this-machine", "", true),
                                   blocked("1.1.1.1", "1.1.1.1", "this-machine", "", true)});
  EXPECT_EQ(words(report),
            "cordon: blocked: a.example:443 is granted, but leads to 2606:4700::1, which is this machine's own\n"
            "cordon:   mend: if a service of this machine is meant: host_services: [443] in the manifest, or "
            "--allow-address 2606:4700::1\n"
            "cordon: blocked: 1.1.1.1:443 is granted, but the address is this machine's own\n"
            "cordon:   mend: if a service of this machine is meant: host_services: [443] in the manifest, or "
            "--allow-address 1.1.1.1\n");
  EXPECT_THAT(verdict_event(report), HasSubstr(R"("why":"this-machine","address":"2606:4700::1")"));
}

TEST(EgressReport, WhatIsNeverDialledHasNoFlagThatOpensIt) {
  EXPECT_EQ(words(report_of({blocked("a.example", "127.0.0.1", "loopback", "127.0.0.0/8", false),
                             blocked("localhost", "", "loopback", "", false)})),
            "cordon: blocked: a.example:443 is granted, but leads to 127.0.0.1, which is loopback (127.0.0.0/8)\n"
            "cordon: blocked: localhost:443 is granted, but leads to an address that is loopback\n");
}

TEST(EgressReport, ARequestThatAsksForNoTunnelIsUntunneled) {
  const Report report =
      report_of({to(Reach::kMalformed, Way::kProxy, "a.example", 443), to(Reach::kMalformed, Way::kProxy, "", 0),
                 to(Reach::kMalformed, Way::kDirect, "b.example", 80)});
  EXPECT_THAT(verdict_event(report), HasSubstr(R"("untunneled":[{"host":"a.example","port":443}])"));
  EXPECT_THAT(words(report), HasSubstr("a request to the proxy for a.example:443 that asks for no tunnel"));
  EXPECT_THAT(verdict_event(report_of({})), Not(HasSubstr("untunneled")));
}

TEST(EgressReport, WhatCameInIsForWhoAsks) {
  plan::Plan plan;
  plan.requested = {plan::Layer::kNetwork};
  plan::Outcome outcome;
  outcome.executed = true;
  outcome.inbound = {{.port = 5173, .count = 12, .refused = 1, .bytes_out = 900, .bytes_in = 80},
                     {.port = 8080, .count = 1}};
  const Report report = make_report(plan, outcome);
  EXPECT_EQ(words(report), "");
  const std::string all = everything(report, Style{.colour = false, .width = 200});
  EXPECT_THAT(all, HasSubstr("published: port 5173 was reached 12 times, and once in vain (nothing listened)"));
  EXPECT_THAT(all, HasSubstr("published: port 8080 was reached once\n"));
  const auto event = nlohmann::json::parse(verdict_event(report));
  EXPECT_EQ(
      event["inbound"].dump(),
      R"([{"bytes_in":80,"bytes_out":900,"count":12,"port":5173,"refused":1},{"bytes_in":0,"bytes_out":0,"count":1,"port":8080}])");
  EXPECT_FALSE(nlohmann::json::parse(verdict_event(make_report(plan, {}))).contains("inbound"));
}

TEST(EgressReport, WhoCameInVainIsSaidAndWhatWasMissingIsToldApart) {
  plan::Plan plan;
  plan.requested = {plan::Layer::kNetwork};
  plan::Outcome outcome;
  outcome.executed = true;
  outcome.inbound = {{.port = 5173, .count = 12, .no_room = 72}, {.port = 8080, .refused = 3}};
  const Report report = make_report(plan, outcome);
  EXPECT_EQ(words(report),
            "cordon: refused: 72 connections to port 5173 were reset for want of room: too many stood at once\n"
            "cordon: published: 3 connections came to port 8080, and nothing listened on 127.0.0.1 or ::1 there\n");
  EXPECT_THAT(verdict_event(report), HasSubstr(R"("no_room":72)"));
  EXPECT_THAT(verdict_event(report), HasSubstr(R"("refused":3)"));
  EXPECT_TRUE(report.exit_code == 0);
}

TEST(EgressReport, ANameOfAnAddressIsNoHostToGrant) {
  const auto grant_of = [](const char* host) {
    return report_of({to(Reach::kDenied, Way::kDns, host, 0)}).denials.at(0).grant;
  };
  EXPECT_EQ(grant_of("2.0.0.127.in-addr.arpa"), "");
  EXPECT_EQ(grant_of("1.0.0.0.ip6.arpa"), "");
  EXPECT_NE(grant_of("arpa.example"), "");
}

TEST(Report, AFlagSaysAsMuchAsALineOfAManifest) {
  EXPECT_EQ(as_flag(network_grant("a.example", 443)), "--allow-domain a.example");
  EXPECT_EQ(as_flag(network_grant("a.example", 0)), "--allow-domain a.example");
  EXPECT_EQ(as_flag(network_grant("a.example", 22)), "--allow-domain a.example:22");
  EXPECT_EQ(as_flag("read: [/a/b]"), "--allow-read /a/b");
  EXPECT_EQ(as_flag("write: [~/x]"), "--allow-write ~/x");
  EXPECT_EQ(as_flag("host_services: [5432]"), "--host-service 5432");
  EXPECT_EQ(as_flag("exec: all"), "exec: all");
  Report report = report_of({to(Reach::kDenied, Way::kDirect, "a.example", 22)});
  for (Denial& denial : report.denials) denial.grant = as_flag(denial.grant);
  EXPECT_THAT(text(report, {}), testing::HasSubstr("to allow it: --allow-domain a.example:22"));
}

}  // namespace
}  // namespace cordon::report
