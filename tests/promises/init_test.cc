// Promise: the target cannot trace, signal, stop or read init (pid 1 of its namespace), whose end would end the run and
// whose descriptor is the run's life line.

#include <csignal>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::StartsWith;

CORDON_PROMISE(Init);

TEST_P(Init, CannotBeTracedOrReadOrRobbed) {
  // The control: the same acts on a process of one's own, outside.
  Running sleeper = scene.outside({scene.in_work("act"), "read=/proc/self/status", "sleep=60"}).start();
  ASSERT_TRUE(sleeper.expect("ALLOWED"));
  const std::string pid = std::to_string(sleeper.pid());
  const std::vector<std::string> acts{"ptrace=", "read-memory=", "take-descriptor="};
  for (const auto& act : acts) {
    const Finished outside = scene.acts_bare({act + pid});
    EXPECT_EQ(verdict(outside, act + pid), "ALLOWED") << "the control, bare" << outside;
    const Finished inside = scene.acts({act + "1"});
    EXPECT_THAT(verdict(inside, act + "1"), StartsWith("DENIED")) << inside;
  }
}

TEST_P(Init, ItsFilesAreClosed) {
  const std::vector<std::string> acts{"open-write=/proc/1/mem", "read=/proc/1/environ",
                                      "read=/proc/1/fd/5",      "read=/proc/1/root",
                                      "read=/proc/1/maps",      "open-write=/proc/1/oom_score_adj"};
  const Finished inside = scene.acts(acts);
  for (const auto& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act << inside;
}

// The kernel drops what a namespace sends its own init, and a Landlock scope refuses it: either way the run goes on.
TEST_P(Init, SignalsDoNotStopOrEndIt) {
  const Finished inside = scene.acts({"stop=1", "kill=1", "sleep=1", "read=/proc/1/status", "exit=7"});
  EXPECT_EQ(inside.code, 7) << inside;
  EXPECT_FALSE(inside.timed_out);
}

TEST_P(Init, CannotBeSignalledByNegativePidEither) {
  const Finished inside = scene.acts({"signal0=1", "exit=5"});
  EXPECT_EQ(inside.code, 5) << inside;
}

}  // namespace
}  // namespace cordon::test
