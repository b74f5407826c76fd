#include "report/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/refused.h"

namespace cordon::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const RunRecord kRun{"20260102T030405.000000001Z-7", "2026-01-02T03:04:05Z", "/w/m.yaml", "abc"};
const Style kPlain{.colour = false, .width = 100};

Report a_run() {
  Report out;
  out.ending = Ending::kExited;
  out.executed = true;
  out.exit_code = 3;
  out.wall_ms = 1'500;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "/usr/bin/tool" + std::to_string(i);
    out.denials.push_back({.act = "exec", .subject = name, .count = 2, .grant = "exec: [" + name + "]"});
    out.denials_total += 2;
  }
  plan::Destination blocked;
  blocked.reach = plan::Reach::kGuardBlocked;
  blocked.host = "in.example";
  blocked.port = 443;
  blocked.count = 1;
  blocked.why = "private";
  blocked.can_be_opened = true;
  blocked.address = "10.0.0.7";
  out.destinations.push_back(blocked);
  out.notes.push_back(
      {"missing-read", "read: ./data grants nothing: nothing has this name", {.file = "m.yaml", .line = 4}});
  return out;
}

std::string explained(const std::string& document) {
  const auto recorded = read_record(document);
  return recorded ? explanation(*recorded, kPlain) : "no record";
}

TEST(Explain, SaysEverythingThatWasDeniedWithItsLine) {
  const std::string words = explained(record_document(kRun, a_run()));
  for (int i = 0; i < 12; ++i) {
    const std::string name = "/usr/bin/tool" + std::to_string(i);
    EXPECT_THAT(words, AllOf(HasSubstr("denied: starting " + name + " (2 times)"), HasSubstr("exec: [" + name + "]")));
  }
  EXPECT_THAT(words, HasSubstr("blocked: in.example:443 is granted, but leads to 10.0.0.7"));
  EXPECT_THAT(words, HasSubstr("--allow-address 10.0.0.7"));
  EXPECT_THAT(words, HasSubstr("grants nothing"));
  EXPECT_THAT(words, HasSubstr("the target ended with code 3 after 1.5 s"));
  EXPECT_THAT(words, AllOf(HasSubstr(kRun.id), HasSubstr("/w/m.yaml")));
  EXPECT_THAT(words, Not(HasSubstr("cordon: "))) << "it is an answer, not an interruption";
}

TEST(Explain, WhatWasWrittenIsWhatIsRead) {
  const Report run = a_run();
  const auto recorded = read_record(record_document(kRun, run));
  ASSERT_TRUE(recorded);
  EXPECT_EQ(recorded->report.denials, run.denials);
  EXPECT_EQ(recorded->report.destinations, run.destinations);
  EXPECT_EQ(recorded->report.ending, run.ending);
  EXPECT_EQ(recorded->report.denials_total, 24U);
  EXPECT_EQ(recorded->run.manifest, kRun.manifest);
}

TEST(Explain, ACleanRunHasNothingToExplain) {
  Report run;
  run.ending = Ending::kExited;
  run.executed = true;
  run.exit_code = 0;
  const std::string words = explained(record_document(kRun, run));
  EXPECT_THAT(words, HasSubstr("nothing that is recorded was denied"));
  EXPECT_THAT(words, Not(HasSubstr("not known")));
}

TEST(Explain, EveryEndingHasItsWords) {
  for (const auto& [ending, words] :
       {std::pair{Ending::kTimeLimit, "the time limit was reached"}, std::pair{Ending::kOnRequest, "ended on request"},
        std::pair{Ending::kLapsed, "a promise lapsed"}, std::pair{Ending::kSignalled, "ended by SIGSEGV"}}) {
    Report run;
    run.ending = ending;
    run.executed = true;
    run.exit_code = 124;
    run.signal = 11;
    EXPECT_THAT(explained(record_document(kRun, run)), HasSubstr(words));
  }
}

TEST(Explain, ARefusedRunIsExplainedByWhatRefusedIt) {
  Refused refused;
  refused.items.push_back({.code = "not-approved",
                           .blame = plan::Blame::kPolicy,
                           .layer = {},
                           .message = "nobody has approved this manifest",
                           .mend = "cordon approve m.yaml",
                           .at = {.file = "m.yaml", .line = 1, .column = 1},
                           .is_grant = false,
                           .feature = {}});
  const std::string words = explained(record_document(kRun, refused));
  EXPECT_THAT(words, AllOf(HasSubstr("nobody has approved this manifest"), HasSubstr("cordon approve m.yaml"),
                           HasSubstr("it was refused; nothing was run")));
}

TEST(Explain, NamesFromTheTargetAreQuoted) {
  Report run = a_run();
  run.denials = {{.act = "exec", .subject = "/tmp/\x1b[31mred\n", .count = 1, .grant = "exec: all"}};
  const std::string words = explained(record_document(kRun, run));
  EXPECT_THAT(words, Not(HasSubstr("\x1b")));
}

TEST(Explain, WhatIsNoRecordIsNone) {
  for (const char* document : {"", "{", "[]", "null", "7", "{}", R"({"schema_version": 1})",
                               R"({"schema_version": 2, "id": "a", "exit_code": 0})",
                               R"({"schema_version": 1, "id": 5, "exit_code": 0, "reason_code": "exited"})",
                               R"({"schema_version": 1, "id": "a", "exit_code": 0, "reason_code": "what"})"}) {
    EXPECT_FALSE(read_record(document)) << document;
  }
}

TEST(Explain, OddValuesAreLeftOutAndEndNothing) {
  const auto recorded = read_record(R"({"schema_version": 1, "id": "a", "exit_code": "x", "reason_code": "exited",
      "executed": 1, "denied": [7, null, {"act": 3, "count": -1}], "egress": {"host": 1}, "lapses": ["x"],
      "notes": [[]], "report": 5, "missing_read_grants": [1], "wall_ms": -4})");
  ASSERT_TRUE(recorded);
  EXPECT_EQ(recorded->report.exit_code, 0);
  EXPECT_FALSE(explanation(*recorded, kPlain).empty());
}

}  // namespace
}  // namespace cordon::report
