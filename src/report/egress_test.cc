// What a report says of the ways out of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(EgressReport, ARequestThatAsksForNoTunnelIsUntunneled) {
  const Report report =
      report_of({to(Reach::kMalformed, Way::kProxy, "a.example", 443), to(Reach::kMalformed, Way::kProxy, "", 0),
                 to(Reach::kMalformed, Way::kDirect, "b.example", 80)});
  EXPECT_THAT(verdict_event(report), HasSubstr(R"("untunneled":[{"host":"a.example","port":443}])"));
  EXPECT_THAT(words(report), HasSubstr("a request to the proxy for a.example:443 that asks for no tunnel"));
  EXPECT_THAT(verdict_event(report_of({})), Not(HasSubstr("untunneled")));
}

}  // namespace
}  // namespace cordon::report
