#include "report/profile_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ProfileText, PrintsABoundedNumberOfLinesAndCountsTheRest) {
  ProfileView view{.program = "./s.sh"};
  for (int i = 0; i < 300; ++i)
    view.lines.push_back({.key = "read", .written = "./f" + std::to_string(i), .group = "project"});
  EXPECT_THAT(profile_text(view, {}),
              testing::AllOf(HasSubstr("./f199 "), Not(HasSubstr("./f200 ")), HasSubstr("and 100 more lines")));
  view.lines.resize(200);
  EXPECT_THAT(profile_text(view, {}), Not(HasSubstr("more lines"))) << "the control";
}

TEST(ProfileText, AQuestionShowsWhereALinkLeads) {
  EXPECT_THAT(grant_question({.key = "read", .written = "./a", .group = "other", .leads_to = "~/b"}),
              HasSubstr("read: ./a → ~/b?"));
}

TEST(CheckText, PrintsABoundedNumberOfDifferencesAndCountsTheRest) {
  ProfileView view{.program = "./s.sh", .manifest = "m.yaml"};
  for (int i = 0; i < 300; ++i) view.differences.push_back("now also reads ./f" + std::to_string(i) + "!");
  EXPECT_THAT(check_text(view, {}),
              testing::AllOf(HasSubstr("./f199!"), Not(HasSubstr("./f200!")), HasSubstr("and 100 more")));
  view.differences.resize(200);
  EXPECT_THAT(check_text(view, {}), Not(HasSubstr("more;"))) << "the control";
}

TEST(ProfileText, AnIpv6HostStandsInBrackets) {
  ProfileView view{.program = "./s.sh"};
  view.withheld = {{.kind = "network", .host = "2001:db8::1", .code = "not-carried", .reason = "why", .port = 443},
                   {.kind = "network", .host = "192.0.2.1", .code = "not-carried", .reason = "why", .port = 443}};
  EXPECT_THAT(profile_text(view, {}),
              testing::AllOf(HasSubstr("network [2001:db8::1]:443: why"), HasSubstr("network 192.0.2.1:443: why")));
}

}  // namespace
}  // namespace cordon::report
