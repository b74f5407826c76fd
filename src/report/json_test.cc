#include "report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

namespace cordon::report {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

json one_line(const std::string& text) {
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "an event is one line";
  return json::parse(text);
}

Report killed() {
  Report report;
  report.ending = Ending::kSignalled;
  report.exit_code = 137;
  report.signal = SIGKILL;
  report.executed = true;
  report.layers = {{plan::Layer::kFilesystem, plan::Tier::kCore, plan::LayerState::kEnforced, true, "", ""},
                   {plan::Layer::kLimits, plan::Tier::kCore, plan::LayerState::kNotRequested, false, "", ""}};
  report.denials = {{"exec", "/bin/\xff", 2, "exec: all"}};
  report.denials_total = 2;
  return report;
}

Refused stale() {
  plan::RefusedItem item;
  item.code = "approval-stale";
  item.message = "the approval no longer holds";
  item.mend = "cordon approve m.yaml";
  item.at = {.file = "m.yaml", .line = 4, .column = 2};
  return {.items = {item}, .layers = {}, .usage = {}};
}

TEST(Json, Base64IsThatOfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64(std::string("\xff\x00\xfe", 3)), "/wD+");
}

TEST(Json, AChunkCarriesBytesThatAreNoText) {
  const json event = one_line(chunk_event(Stream::kStderr, std::string("\xff\n", 2)));
  EXPECT_EQ(event["event"], "stderr");
  EXPECT_EQ(event["data"], "/wo=");
}

TEST(Json, AVerdictKeepsTheFieldNamesOfTheOlderSystem) {
  const json event = one_line(verdict_event(killed()));
  EXPECT_EQ(event["event"], "verdict");
  EXPECT_EQ(event["schema_version"], 1);
  EXPECT_EQ(event["exit_code"], 137);
  EXPECT_EQ(event["signal"], 9);
  EXPECT_EQ(event["signal_name"], "SIGKILL");
  EXPECT_EQ(event["egress_connections"], 0);
  EXPECT_EQ(event["reason_code"], "signalled");
  EXPECT_EQ(event["report"]["fully_enforced"], true);
  EXPECT_EQ(event["report"]["layers"][0]["layer"], "filesystem");
  EXPECT_EQ(event["report"]["layers"][0]["tier"], "core");
  EXPECT_EQ(event["report"]["layers"][0]["state"], "enforced");
  EXPECT_EQ(event["report"]["layers"][0]["verified"], true);
  EXPECT_EQ(event["report"]["layers"][1]["state"], "not requested");
  EXPECT_EQ(event["denied"][0]["grant"], "exec: all");
}

TEST(Json, NamesThatAreNoUtf8NeverBreakTheStream) {
  EXPECT_EQ(one_line(verdict_event(killed()))["denied"][0]["subject"], "/bin/\xef\xbf\xbd");
}

TEST(Json, ARefusalHasAStableCodeAndEveryItemWithItsPlace) {
  const json event = one_line(refusal_event(stale()));
  EXPECT_EQ(event["event"], "refusal");
  EXPECT_EQ(event["exit_code"], 125);
  EXPECT_EQ(event["reason_code"], "approval-stale");
  EXPECT_EQ(event["reason"], "the approval no longer holds");
  EXPECT_EQ(event["items"][0]["blame"], "policy");
  EXPECT_EQ(event["items"][0]["line"], 4);
  EXPECT_EQ(event["items"][0]["mend"], "cordon approve m.yaml");
  EXPECT_EQ(event["report"]["fully_enforced"], false);
  EXPECT_TRUE(event["report"]["layers"].empty());
}

TEST(Json, AFailureSaysNeitherThatItRanNorThatItDidNot) {
  const json event = one_line(failed_event({.operation = "epoll_wait", .subject = "", .code = EBADF}));
  EXPECT_EQ(event["event"], "failed");
  EXPECT_FALSE(event.contains("executed"));
  EXPECT_EQ(event["reason_code"], "supervision-failed");
}

TEST(Json, ARecordHoldsNoMoreThanTheRunAndItsManifest) {
  const json record = json::parse(record_document({"id-1", "2026-01-02T03:04:05Z", "/srv/m.yaml", "ab"}, killed()));
  EXPECT_EQ(record["id"], "id-1");
  EXPECT_EQ(record["manifest"], "/srv/m.yaml");
  EXPECT_FALSE(record.contains("environment"));
  EXPECT_FALSE(record.contains("argv"));
}

TEST(Json, AManifestDocumentAddsTheHostToTheManifestsOwnKeys) {
  ManifestView view;
  view.grants = {{"read", "./in", "/srv/in", false, {}, {}}, {"write", "/etc", "/etc", false, {stale().items}, {}}};
  view.approval = ApprovalState::kStale;
  view.relocatable = false;
  view.pinned_paths = {"/etc"};
  const json document = json::parse(manifest_document(ordered_json{{"entrypoint", "./x"}, {"read", {"./in"}}}, view));
  EXPECT_EQ(document["entrypoint"], "./x");
  EXPECT_EQ(document["resolved_read"][0]["path"], "./in");
  EXPECT_EQ(document["resolved_read"][0]["on_host"], "/srv/in");
  EXPECT_EQ(document["refused_grants"][0], "the approval no longer holds");
  EXPECT_EQ(document["approval"], "stale");
  EXPECT_EQ(document["runnable"], true) << "a refused grant is no problem of the program";
  EXPECT_EQ(document["relocatable"], false);
  EXPECT_EQ(document["pinned_paths"][0], "/etc");
}

}  // namespace
}  // namespace cordon::report
