// The promise suites once more, every run held by the landlock engine (CORDON_TEST_ENGINE, tests/support/scene.cc).
//
// What does not hold there stands in not_on_landlock.txt, each with the name under which doctor, plan and report say so
// (plan/not_held.cc). A promise that fails and is not in the list fails here, and so does one that is in it and holds.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/command.h"

namespace cordon::test {
namespace {

// Suites of what a run may do. The others are about manifests, approvals and configuration, which no engine changes;
// about ways out, exec as a list, views and shields in what is granted for writing, which this engine refuses as a
// whole (promises/landlock_engine_test.cc says what is left of them).
constexpr const char* kSuites =
    "As/Filesystem.*:As/Mounted.*:As/Proc.*:As/Privileges.*:As/Reach.*:As/Init.*:As/Exec.*:As/Network.*:"
    "As/SetId.*:As/Environment.*:As/StandardDevices.*:As/Ending.*:As/Terminal.*:As/ExitCode.*:As/Limits.*:As/Traces.*:"
    "As/Swapped.*:As/RealPrograms.*:As/AutoExecuted.*:As/OwnPlaces.*:As/WorkspaceOwner.*:As/AsRoot.*";

/// "Suite.Test/identity" -> the name of what is not held.
std::map<std::string, std::string> listed() {
  std::map<std::string, std::string> out;
  std::ifstream in(CORDON_ENGINE_LIST);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string test, code, more;
    words >> test >> code;
    EXPECT_FALSE(code.empty() || (words >> more)) << line;
    const bool of_one = test.find('/') != std::string::npos;
    const std::vector<std::string> names =
        of_one ? std::vector<std::string>{test} : std::vector<std::string>{test + "/root", test + "/user"};
    for (const std::string& name : names) EXPECT_TRUE(out.emplace(name, code).second) << line;
  }
  return out;
}

/// Each test that ran, and whether it failed.
std::map<std::string, bool> results(const std::string& file) {
  std::map<std::string, bool> out;
  std::ifstream in(file);
  const auto document = nlohmann::json::parse(in, nullptr, false);
  if (document.is_discarded()) return out;
  for (const auto& suite : document["testsuites"]) {
    const std::string name = suite["name"].get<std::string>().substr(3);  // "As/"
    for (const auto& test : suite["testsuite"])
      out[name + "." + test["name"].get<std::string>()] = test.contains("failures");
  }
  return out;
}

/// The names that doctor gives.
std::set<std::string> known_codes() {
  const Finished doctor = Command({CORDON_BINARY, "doctor", "--json"}).env("HOME", "/").run();
  const auto document = nlohmann::json::parse(doctor.out, nullptr, false);
  // What is only said otherwise: another error or a line more, of the same refusal.
  std::set<std::string> out = {"wording"};
  if (document.is_discarded()) return out;
  for (const auto& one : document["landlock_engine_does_not_hold"]) out.insert(one["code"].get<std::string>());
  return out;
}

TEST(LandlockEngine, HoldsEveryPromiseButThoseThatItNames) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("cordon-engines-" + std::to_string(::getpid()) + ".json");
  Command suite({CORDON_PROMISES, "--gtest_brief=1", std::string("--gtest_filter=") + kSuites,
                 "--gtest_output=json:" + file.string()});
  for (const char* name : {"PATH", "HOME"})
    if (const char* value = std::getenv(name)) suite.env(name, value);
  suite.env("CORDON_TEST_ENGINE", "landlock").timeout(570'000);
  const Finished ran = suite.run();
  ASSERT_FALSE(ran.timed_out);
  const auto seen = results(file.string());
  std::filesystem::remove(file);
  ASSERT_GT(seen.size(), 100U) << ran;
  const auto expected = listed();
  const auto codes = known_codes();
  ASSERT_GT(codes.size(), 10U);
  for (const auto& [test, failed] : seen) {
    const auto entry = expected.find(test);
    EXPECT_EQ(failed, entry != expected.end())
        << test << (failed ? " does not hold and is not in the list" : " holds: take it out of the list");
  }
  for (const auto& [test, code] : expected) {
    EXPECT_TRUE(codes.contains(code)) << test << ": no such name: " << code;
    const bool as_root = ::geteuid() == 0;
    EXPECT_TRUE(seen.contains(test) || (!as_root && test.ends_with("/root"))) << test << " is no test that ran";
  }
}

}  // namespace
}  // namespace cordon::test
