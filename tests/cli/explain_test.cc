// `cordon explain`: what the last run was denied, from its record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/promise.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ExplainCommand : public testing::TestWithParam<Identity> {
 protected:
  ExplainCommand() { scene.tree().write("work/s.sh", "#!/bin/sh\n/usr/bin/id; /usr/bin/env; exit 4\n", 0755); }
  [[nodiscard]] Finished ran(const std::string& lines) const { return scene.sandboxed("entrypoint: ./s.sh\n" + lines); }
  [[nodiscard]] Finished explain(std::vector<std::string> words = {}) const {
    words.insert(words.begin(), "explain");
    return scene.cordon(words).run();
  }
  [[nodiscard]] fs::path runs() const { return fs::path(scene.home()) / ".local/state/cordon/runs"; }
  Scene scene{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(As, ExplainCommand, testing::ValuesIn(identities()), identity_name);

TEST_P(ExplainCommand, IsAboutTheLastRunUnlessAnotherIsNamed) {
  EXPECT_EQ(ran("").code, 4);
  std::vector<std::string> ids;
  for (const fs::directory_entry& entry : fs::directory_iterator(runs())) ids.push_back(entry.path().stem());
  ASSERT_EQ(ids.size(), 1U);
  const Finished denied = explain();
  EXPECT_EQ(denied.code, 0) << denied;
  EXPECT_THAT(denied.out, AllOf(HasSubstr("denied: starting /usr/bin/id"), HasSubstr("denied: starting /usr/bin/env"),
                                HasSubstr("exec: all"), HasSubstr("ended with code 4")))
      << denied;
  EXPECT_EQ(denied.err, "");
  EXPECT_EQ(ran("exec: all\n").code, 4);
  EXPECT_THAT(explain().out, AllOf(HasSubstr("nothing that is recorded was denied"), Not(HasSubstr("/usr/bin/id"))));
  EXPECT_EQ(explain({ids.front()}).out, denied.out);
  EXPECT_EQ(std::distance(fs::directory_iterator(runs()), {}), 2) << "to explain takes nothing away";
}

TEST_P(ExplainCommand, ShowsTheRecordItselfAsJson) {
  EXPECT_EQ(ran("").code, 4);
  std::ifstream file(fs::directory_iterator(runs())->path());
  EXPECT_EQ(explain({"--json"}).out, std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST_P(ExplainCommand, AnAuditLogHasALineForEachDenialAndOneReader) {
  scene.tree().write("work/s.sh", "#!/bin/sh\ncat secret; exit 0\n", 0755);
  scene.tree().write("work/secret", "x\n");
  const std::string log = scene.in_work("audit.log");
  const Finished run = scene.sandboxed("entrypoint: ./s.sh\nexec: [cat]\n", {"--audit-log", log});
  const std::string text = scene.tree().read("work/audit.log").value_or("(none)");
  int lines = 0, about_it = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line); ++lines) {
    const auto one = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(one.is_object()) << line << run;
    about_it += one.at("act") == "read" && one.at("subject") == scene.in_work("secret") ? 1 : 0;
  }
  EXPECT_EQ(about_it, 1) << text << run;
  EXPECT_GE(lines, 1);
  EXPECT_EQ(fs::status(log).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(scene.sandboxed("entrypoint: ./s.sh\nexec: [cat]\nread: [./secret]\n", {"--audit-log", log}).code, 0);
  EXPECT_THAT(scene.tree().read("work/audit.log").value_or("(none)"), Not(HasSubstr(scene.in_work("secret"))));
  const Finished nowhere = scene.sandboxed("entrypoint: ./s.sh\n", {"--audit-log", "/dev/null"});
  EXPECT_EQ(nowhere.code, 125) << nowhere;
  EXPECT_TRUE(nowhere.says("--audit-log")) << nowhere;
}

TEST_P(ExplainCommand, ARefusedRunIsExplainedToo) {
  EXPECT_EQ(scene.cordon({"run", scene.manifest("entrypoint: ./s.sh\n", "new.yaml")}).run().code, 125);
  EXPECT_THAT(explain().out, AllOf(HasSubstr("it was refused; nothing was run"), HasSubstr("cordon approve")));
}

TEST_P(ExplainCommand, WithoutARunThereIsAReasonAndAMend) {
  const Finished said = explain();
  EXPECT_EQ(said.code, 125);
  EXPECT_THAT(said.err, AllOf(HasSubstr("no run of yours is recorded here"), HasSubstr("cordon run MANIFEST"))) << said;
  EXPECT_EQ(ran("exec: all\n").code, 4);
  EXPECT_THAT(explain({"nothing-like-it"}).err, HasSubstr("has an ID like nothing-like-it"));
  EXPECT_THAT(explain({"../../x"}).err, HasSubstr("has an ID like"));
}

TEST_P(ExplainCommand, WhatStandsInARecordsPlaceIsNotTaken) {
  EXPECT_EQ(ran("exec: all\n").code, 4);
  const fs::path later = runs() / "29991231T000000.000000000Z-1.json";
  fs::create_symlink("/etc/passwd", later);
  EXPECT_EQ(explain().code, 125);
  fs::remove(later);
  std::ofstream(later) << "{\"schema_version\": 1}";
  EXPECT_EQ(explain().code, 125);
}

}  // namespace
}  // namespace cordon::test
