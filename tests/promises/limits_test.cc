// Promise: a limit that cannot be held is no limit, so the run is refused, or says so where less is accepted. What
// holds where they can be held is shown in a guest (tests/vm).

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;

CORDON_PROMISE(Limits);

constexpr const char* kAct = "read=/proc/self/status";

/// The command where no control group can be made, whatever this host has.
std::vector<std::string> without_groups(const Identity& who, std::vector<std::string> words) {
  std::vector<std::string> out = {
      "unshare", who.is_root() ? "-m" : "-Urm", "/bin/sh", "-c", "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"",
      "sh"};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

TEST_P(Limits, ThatCannotBeHeldRefuseTheRunEachAtItsLine) {
  const auto run = [&](const std::string& limits, std::vector<std::string> flags = {}) {
    std::vector<std::string> words = {programs().cordon, "run", "--allow-unapproved"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.push_back(scene.manifest(act_manifest({kAct}, limits)));
    return scene.bare(without_groups(GetParam(), words));
  };
  const auto ran = [](const Finished& ended) { return verdict(ended, kAct) == "ALLOWED"; };
  EXPECT_TRUE(ran(run(""))) << "the control: without limits" << run("");
  EXPECT_TRUE(ran(run("limits: {timeout: 1m}\n"))) << "a limit that needs no control group";
  for (const auto& [line, name] : {std::pair{"limits: {memory: 64M}\n", "limits.memory"},
                                   {"limits: {cpu: 50%}\n", "limits.cpu"},
                                   {"limits: {pids: 20}\n", "limits.pids"}}) {
    const Finished refused = run(line);
    EXPECT_EQ(refused.code, 125) << line << refused;
    EXPECT_EQ(refused.out, "") << line;
    EXPECT_TRUE(refused.says(name)) << refused;
    EXPECT_THAT(refused.err, HasSubstr("m.yaml:3:")) << refused;
    EXPECT_THAT(refused.err, HasSubstr("mend: ")) << refused;
    EXPECT_EQ(run(line, {"--strict"}).code, 125) << line;
    const Finished degraded = run(line, {"--allow-degraded"});
    EXPECT_TRUE(ran(degraded)) << degraded;
    EXPECT_TRUE(degraded.says(std::string("weaker: limits: nothing limits "))) << degraded;
    EXPECT_TRUE(degraded.says(name)) << degraded;
  }
}

TEST_P(Limits, OfACommandAreFlagsWithTheSameVerdict) {
  const auto run = [&](std::vector<std::string> flags) {
    std::vector<std::string> words = {programs().cordon, "run"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--", "/usr/bin/echo", "ran"});
    return scene.bare(without_groups(GetParam(), words));
  };
  EXPECT_EQ(run({}).out, "ran\n") << "the control";
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--memory", "64M"}, {"--cpu", "50%"}, {"--pids", "20"}}) {
    const Finished refused = run(flags);
    EXPECT_EQ(refused.code, 125) << refused;
    EXPECT_EQ(refused.out, "");
    EXPECT_TRUE(refused.says("(" + flags[0] + ")")) << refused;
    EXPECT_THAT(refused.err, Not(HasSubstr("limits."))) << refused;
    EXPECT_TRUE(refused.says("--timeout holds everywhere")) << refused;
  }
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--memory", "64m"}, {"--cpu", "50"}, {"--pids", "0"}}) {
    const Finished refused = run(flags);
    EXPECT_EQ(refused.code, 125) << refused;
    EXPECT_TRUE(refused.says(flags[0] + " \"" + flags[1] + "\" is ")) << refused;
  }
}

TEST_P(Limits, DoctorSaysThatTheyCannotBeHeldAndWhy) {
  const Finished said = scene.bare(without_groups(GetParam(), {programs().cordon, "doctor"}));
  EXPECT_TRUE(said.says("limits hardening unavailable cannot limit memory, cpu, pids")) << said;
  EXPECT_TRUE(said.says("limits: ")) << said;
}

}  // namespace
}  // namespace cordon::test
