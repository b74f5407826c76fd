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

}  // namespace
}  // namespace cordon::report
