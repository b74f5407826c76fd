#include "cli/asking.h"

#include <gmock/gmock.h>

namespace cordon::cli {
namespace {

using enforce::outlet::GateAnswer;
using testing::HasSubstr;
using testing::Not;

TEST(Asking, TheLastLineOfAQuestionHoldsWhatItIsAbout) {
  const std::string text = question_about({.host = "a.example", .port = 443}, "/usr/bin/curl");
  EXPECT_THAT(text, testing::EndsWith("\ncordon: allow a.example:443? once, run or no: "));
  EXPECT_THAT(text, HasSubstr("/usr/bin/curl reaches for a.example:443"));
  EXPECT_THAT(question_about({.host = "2001:db8::1", .port = 22}, ""),
              testing::AllOf(HasSubstr("a program of this run"), HasSubstr("[2001:db8::1]:22?")));
}

TEST(Asking, AHostileNameOfAProgramIsQuoted) {
  const std::string text =
      question_about({.host = "a.example", .port = 443}, "/w/\x1b[2J\ncordon: allow good.example:443?");
  EXPECT_THAT(text, testing::AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\ncordon: allow good"))));
}

TEST(Asking, OnlyTheThreeWordsAnswer) {
  EXPECT_EQ(answer_in("once\n"), GateAnswer::kOnce);
  EXPECT_EQ(answer_in(" Run \n"), GateAnswer::kRun);
  EXPECT_EQ(answer_in("n\n"), GateAnswer::kNever);
  for (const char* unclear : {"\n", "y\n", "yes\n", "once run\n", "\x1b[0;0Ronce\n", "on\n"})
    EXPECT_EQ(answer_in(unclear), std::nullopt) << unclear;
}

}  // namespace
}  // namespace cordon::cli
