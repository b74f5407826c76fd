// `run --json`: output in base64 as it comes, then exactly one terminal object, whatever happens.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/scene.h"

namespace cordon::test {
namespace {

using nlohmann::json;

std::vector<json> events(const Finished& run) {
  std::vector<json> out;
  std::istringstream in(run.out);
  for (std::string line; std::getline(in, line);) out.push_back(json::parse(line));
  return out;
}

std::string decoded(const std::string& text) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0, held = 0;
  for (const char digit : text) {
    if (digit == '=') break;
    bits = (bits << 6U) | static_cast<unsigned>(kDigits.find(digit));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>((bits >> held) & 0xffU);
  }
  return out;
}

std::string stream(const std::vector<json>& all, const char* name) {
  std::string out;
  for (const json& event : all)
    if (event["event"] == name) out += decoded(event["data"].get<std::string>());
  return out;
}

int terminals(const std::vector<json>& all) {
  return static_cast<int>(std::ranges::count_if(
      all, [](const json& event) { return event["event"] != "stdout" && event["event"] != "stderr"; }));
}

class Stream : public testing::Test {
 protected:
  Stream() : scene_(ordinary_user()) {}
  [[nodiscard]] Finished streamed(const std::string& script, const std::string& lines = "exec: all\n",
                                  std::vector<std::string> flags = {}) const {
    scene_.tree().write("work/s.sh", "#!/bin/sh\n" + script, 0755);
    const std::string manifest = scene_.approved("entrypoint: ./s.sh\n" + lines);
    flags.insert(flags.begin(), {"run", "--json"});
    flags.push_back(manifest);
    return scene_.cordon(flags).run();
  }
  Scene scene_;
};

TEST_F(Stream, CarriesBytesOfBothStreamsAndEndsWithTheVerdict) {
  const Finished run = streamed("printf 'a\\377b\\n'; echo err >&2; exit 4\n");
  const std::vector<json> all = events(run);
  EXPECT_EQ(run.code, 4) << run;
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(stream(all, "stdout"),
            "a\xff"
            "b\n");
  EXPECT_EQ(stream(all, "stderr"), "err\n");
  ASSERT_EQ(terminals(all), 1);
  EXPECT_EQ(all.back()["event"], "verdict");
  EXPECT_EQ(all.back()["exit_code"], 4);
  EXPECT_EQ(all.back()["reason_code"], "exited");
  EXPECT_EQ(all.back()["report"]["fully_enforced"], true);
}

TEST_F(Stream, SaysWhatWasVerifiedBeforeTheTargetRan) {
  const Finished run = streamed("exit 0\n", "");
  const json verdict = events(run).back();
  EXPECT_GT(verdict["verified"].size(), 5U) << run;
  for (const json& check : verdict["verified"]) EXPECT_EQ(check["held"], true) << check;
}

TEST_F(Stream, NamesADeniedProgramWithItsGrant) {
  const Finished run = streamed("/usr/bin/id\nexit 9\n", "");
  const json verdict = events(run).back();
  ASSERT_GE(verdict["denied"].size(), 1U) << run;
  EXPECT_EQ(verdict["denied"][0]["act"], "exec");
  EXPECT_EQ(verdict["denied"][0]["subject"], "/usr/bin/id");
  EXPECT_EQ(verdict["denied"][0]["grant"], "exec: all");
}

TEST_F(Stream, NamesMissingReadGrantsAsWritten) {
  const json verdict = events(streamed("exit 1\n", "read: [./absent]\n")).back();
  EXPECT_EQ(verdict["missing_read_grants"], json::array({"./absent"}));
}

TEST_F(Stream, ATimeLimitIsItsOwnReason) {
  const Finished run = streamed("sleep 30\n", "exec: all\nlimits: {timeout: 1s}\n");
  EXPECT_EQ(run.code, 124);
  EXPECT_EQ(events(run).back()["reason_code"], "time-limit") << run;
}

TEST_F(Stream, TheTargetReadsNoInput) { EXPECT_EQ(stream(events(streamed("cat\necho end\n")), "stdout"), "end\n"); }

TEST_F(Stream, EveryRefusalIsOneLine) {
  const std::string manifest = scene_.manifest("entrypoint: ./act\nexec: sometimes\nraed: []\n");
  const std::vector<std::vector<std::string>> mistakes = {
      {"run", "--json", manifest},
      {"run", "--json"},
      {"run", "--json", "--bogus", "x"},
      {"run", "npm", "install", "--json"},
      {"run", "--json", "--"},
      {"run", "--json", "--run-id", "a", manifest},
      {"run", "--json", "/nonexistent.yaml"},
      {"run", "--json", "--strict", "--allow-degraded", manifest},
  };
  for (const std::vector<std::string>& words : mistakes) {
    const Finished run = scene_.cordon(words).run();
    EXPECT_EQ(run.code, 125) << run;
    const std::vector<json> all = events(run);
    ASSERT_EQ(all.size(), 1U) << run;
    EXPECT_EQ(all[0]["event"], "refusal");
    EXPECT_EQ(all[0]["exit_code"], 125);
    EXPECT_FALSE(all[0]["reason_code"].get<std::string>().empty());
    EXPECT_EQ(run.err, "");
  }
}

TEST_F(Stream, AProblemOfTheManifestCarriesItsPlace) {
  const std::string manifest = scene_.manifest("entrypoint: ./act\nexec: sometimes\nraed: []\n");
  const json refusal = events(scene_.cordon({"run", "--json", manifest}).run()).at(0);
  ASSERT_EQ(refusal["items"].size(), 2U) << refusal;
  EXPECT_EQ(refusal["items"][0]["line"], 2);
  EXPECT_EQ(refusal["items"][1]["line"], 3);
  EXPECT_EQ(refusal["items"][1]["file"], manifest);
}

TEST_F(Stream, ACodeTellsAnUnapprovedManifestFromAStaleOne) {
  scene_.tree().write("work/s.sh", "#!/bin/sh\n", 0755);
  const std::string fresh = scene_.manifest("entrypoint: ./s.sh\n");
  EXPECT_EQ(events(scene_.cordon({"run", "--json", fresh}).run()).at(0)["reason_code"], "not-approved");
  const std::string stamped = scene_.approved("entrypoint: ./s.sh\n");
  std::string text = scene_.bare({"cat", stamped}).out;
  scene_.manifest("exec: all\n" + text);
  EXPECT_EQ(events(scene_.cordon({"run", "--json", stamped}).run()).at(0)["reason_code"], "approval-stale");
}

TEST_F(Stream, AReaderThatWentAwayIsSaidAndIsNoSuccess) {
  scene_.tree().write("work/s.sh", "#!/bin/sh\nsleep 0.3\necho out\nexit 0\n", 0755);
  const std::string manifest = scene_.approved("entrypoint: ./s.sh\nexec: all\n");
  const std::string line = programs().cordon + " run --json " + manifest + " | true; echo ${PIPESTATUS[0]}";
  const Finished run = scene_.bare({"bash", "-c", line});
  EXPECT_EQ(run.out, "125\n") << run;
  EXPECT_THAT(run.err, testing::HasSubstr("standard output could not be written")) << run;
}

/// True once the process has ended; it is not reaped.
bool ends_within(const Running& run, int seconds) {
  for (int i = 0; i < seconds * 100; ++i) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(run.pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0)
      return true;
    ::usleep(10'000);
  }
  return false;
}

/// A target that never stops writing.
std::string flood(const Scene& scene, const std::string& lines) {
  scene.tree().write("work/flood.sh", "#!/bin/sh\nexec yes 0123456789abcdef0123456789abcdef\n", 0755);
  return scene.approved("entrypoint: ./flood.sh\nexec: all\n" + lines);
}

// Running reads nothing before wait(): its pipe is full after 64 KiB.
TEST_F(Stream, AReaderThatDoesNotReadHoldsUpNoTimeLimit) {
  Running run = scene_.cordon({"run", "--json", flood(scene_, "limits: {timeout: 1s}\n")}).start();
  EXPECT_TRUE(ends_within(run, 15));
  const Finished ended = run.wait();
  EXPECT_EQ(ended.code, 125) << "the verdict was not delivered";
  EXPECT_THAT(ended.err, testing::HasSubstr("standard output could not be written"));
}

TEST_F(Stream, AReaderThatDoesNotReadHoldsUpNoSignal) {
  Running run = scene_.cordon({"run", "--json", flood(scene_, "")}).start();
  ::usleep(1'500'000);
  run.signal(SIGTERM);
  EXPECT_TRUE(ends_within(run, 15));
  static_cast<void>(run.wait());
}

TEST_F(Stream, AReaderThatIsSlowGetsEverything) {
  scene_.tree().write("work/s.sh", "#!/bin/sh\nhead -c 5000000 /dev/zero\nexit 6\n", 0755);
  const std::string manifest = scene_.approved("entrypoint: ./s.sh\nexec: all\n");
  Running run = scene_.cordon({"run", "--json", manifest}).start();
  ::usleep(1'500'000);
  const Finished ended = run.wait();
  const std::vector<json> all = events(ended);
  EXPECT_EQ(ended.code, 6);
  EXPECT_EQ(stream(all, "stdout").size(), 5'000'000U);
  EXPECT_EQ(all.back()["event"], "verdict");
}

TEST_F(Stream, TheCallersDescriptorStaysAsItWas) {
  const std::string manifest = flood(scene_, "limits: {timeout: 1s}\n");
  const std::string line = "{ " + programs().cordon + " run --json " + manifest +
                           "; python3 -c 'import fcntl, os; print(\"flags\", fcntl.fcntl(1, fcntl.F_GETFL) & "
                           "os.O_NONBLOCK)'; } | tail -n 1";
  EXPECT_EQ(scene_.bare({"bash", "-c", line}).out, "flags 0\n");
}

TEST_F(Stream, TheOtherDocumentsParseToo) {
  scene_.tree().write("work/s.sh", "#!/bin/sh\n", 0755);
  const std::string manifest = scene_.approved("entrypoint: ./s.sh\n");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"doctor", "--json"},
                                                {"profiles", "--json"},
                                                {"profiles", "--json", "nodejs"},
                                                {"validate", "--json", manifest},
                                                {"inspect", "--json", manifest},
                                                {"run", "--dry-run", "--json", manifest},
                                                {"validate", "--json", "/nonexistent"},
                                                {"inspect", "--json"}}) {
    const Finished said = scene_.cordon(words).run();
    const json document = json::parse(said.out, nullptr, false);
    ASSERT_FALSE(document.is_discarded()) << said;
    EXPECT_EQ(document["schema_version"], 1) << said;
  }
}

}  // namespace
}  // namespace cordon::test
