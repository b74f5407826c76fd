// validate, approve, inspect, run --dry-run and run reach one verdict: whatever the manifest, they all hold it or they
// all refuse it, with the same codes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "support/scene.h"

namespace cordon::test {
namespace {

using nlohmann::json;

struct Row {
  const char* name;
  const char* manifest;
  bool holds;
};

// Each is refused by the planner, not by the parser: that is where a second opinion could hide.
constexpr Row kRows[] = {
    {"Plain", "entrypoint: ./ok.sh\n", true},
    {"Grants", "entrypoint: ./ok.sh\nread: [./data]\nwrite: [./out]\nexec: all\n", true},
    {"AbsentRead", "entrypoint: ./ok.sh\nread: [./absent]\n", true},
    {"AbsentWrite", "entrypoint: ./ok.sh\nwrite: [./made/by/it]\n", true},
    {"MissingEntrypoint", "entrypoint: ./gone.sh\n", false},
    {"EntrypointIsADirectory", "entrypoint: ./data\n", false},
    {"EntrypointNotExecutable", "entrypoint: ./plain.txt\n", false},
    {"MissingInterpreter", "entrypoint: ./plain.txt\ninterpreter: no-such-interpreter\n", false},
    {"ReadLoops", "entrypoint: ./ok.sh\nread: [./loop]\n", false},
    {"ReadOfProc", "entrypoint: ./ok.sh\nread: [/proc/self/root]\n", false},
    {"RuleForLoopback", "entrypoint: ./ok.sh\nnetwork: [{host: 127.0.0.1, port: '5432'}]\n", false},
    {"RuleForLocalhost", "entrypoint: ./ok.sh\nnetwork: [{host: localhost, port: '*'}]\n", false},
    {"HostService", "entrypoint: ./ok.sh\nhost_services: [5432]\n", true},
    {"Two", "entrypoint: ./gone.sh\nread: [./loop]\n", false},
};

class OneVerdict : public testing::TestWithParam<Row> {
 protected:
  OneVerdict() : scene_(ordinary_user()) {
    scene_.tree().write("work/ok.sh", "#!/bin/sh\nexit 0\n", 0755);
    scene_.tree().write("work/plain.txt", "#!/bin/sh\nexit 0\n", 0644);
    scene_.tree().make_directory("work/data");
    scene_.tree().link("work/loop", "loop");
    manifest_ = scene_.manifest(GetParam().manifest);
  }
  [[nodiscard]] Finished cordon(std::vector<std::string> words) const {
    words.push_back(manifest_);
    return scene_.cordon(std::move(words)).run();
  }
  static std::set<std::string> codes(const json& document, const char* key) {
    std::set<std::string> out;
    if (!document.contains(key)) return out;
    for (const json& item : document[key]) out.insert(item["code"].get<std::string>());
    return out;
  }

  Scene scene_;
  std::string manifest_;
};

TEST_P(OneVerdict, IsGivenByEveryCommand) {
  const bool holds = GetParam().holds;
  const Finished validated = cordon({"validate", "--json"});
  ASSERT_EQ(validated.code, 0) << validated;
  const json document = json::parse(validated.out);
  const std::set<std::string> problems = codes(document, "problems");
  EXPECT_EQ(problems.empty(), holds) << validated;

  const Finished inspected = cordon({"inspect", "--json"});
  const Finished dry = cordon({"run", "--dry-run", "--json", "--allow-unapproved"});
  const Finished ran = cordon({"run", "--json", "--allow-unapproved"});
  const Finished approved = cordon({"approve", "--yes"});
  for (const Finished* each : {&inspected, &dry, &ran, &approved}) EXPECT_EQ(each->code, holds ? 0 : 125) << *each;
  if (holds) return;
  for (const Finished* each : {&inspected, &dry, &ran})
    EXPECT_EQ(codes(json::parse(each->out), "items"), problems) << *each;
}

TEST_P(OneVerdict, TheDryRunAndInspectShowOnePlan) {
  if (!GetParam().holds) return;
  EXPECT_EQ(cordon({"inspect"}).out, cordon({"run", "--dry-run", "--allow-unapproved"}).out);
}

std::string row_name(const testing::TestParamInfo<Row>& row) { return row.param.name; }
INSTANTIATE_TEST_SUITE_P(Of, OneVerdict, testing::ValuesIn(kRows), row_name);

}  // namespace
}  // namespace cordon::test
