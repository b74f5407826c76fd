#include "report/agent_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/explain.h"
#include "report/report.h"

namespace cordon::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

plan::AgentUse used() {
  return {.step = {},
          .keys = {{"SHA256:abc", "me@home", 1}, {"SHA256:def", "", 3}, {"", "", 2}},
          .listed = 4,
          .declined = 1,
          .refused = 5,
          .no_room = 2,
          .lost = {}};
}

Report ended(int code, const plan::AgentUse& use) {
  Report out;
  out.ending = Ending::kExited;
  out.executed = true;
  out.exit_code = code;
  out.agent = use;
  return out;
}

const Style kWide{.colour = false, .width = 200};

TEST(AgentReport, NamesEachKeyThatSignedOfACleanRunToo) {
  const std::string words = text(ended(0, used()), kWide);
  EXPECT_EQ(words,
            "cordon: signed: the ssh agent signed once with SHA256:abc (me@home)\n"
            "cordon: signed: the ssh agent signed 3 times with SHA256:def\n"
            "cordon: signed: the ssh agent signed 2 times with further keys\n");
  EXPECT_EQ(text(ended(0, plan::AgentUse{.step = {}}), kWide), "") << "nothing was signed";
}

TEST(AgentReport, SaysWhatExplainsAFailure) {
  EXPECT_THAT(text(ended(1, used()), kWide),
              AllOf(HasSubstr("gave one request no answer"), HasSubstr("closed 2 times"), Not(HasSubstr("listed"))));
}

TEST(AgentReport, SaysThatSigningWasOver) {
  plan::AgentUse use;
  use.lost = "cordon-agent was lost: it is gone";
  EXPECT_THAT(text(ended(0, use), kWide),
              HasSubstr("cordon-agent was lost: it is gone; nothing was signed after that"));
}

TEST(AgentReport, ACommentForgesNoLine) {
  plan::AgentUse use;
  use.keys = {{"SHA256:abc", "x\ncordon: signed: \x1b[2J", 1}};
  const std::string words = text(ended(0, use), kWide);
  EXPECT_EQ(std::ranges::count(words, '\n'), 1) << words;
  EXPECT_THAT(words, Not(HasSubstr("\x1b")));
}

TEST(AgentReport, ARecordGivesBackWhatTheRunSaid) {
  plan::AgentUse use = used();
  use.lost = "why";
  const RunRecord run{"20260102T030405.000000001Z-7", "2026-01-02T03:04:05Z", "/w/m.yaml", "abc"};
  const auto recorded = read_record(record_document(run, ended(0, use)));
  ASSERT_TRUE(recorded);
  const std::string words = explanation(*recorded, kWide);
  EXPECT_THAT(words, AllOf(HasSubstr("signed 3 times with SHA256:def"), HasSubstr("listed its keys 4 times"),
                           HasSubstr("asked 5 times for what is not passed on"), HasSubstr("lost: why")));
}

}  // namespace
}  // namespace cordon::report
