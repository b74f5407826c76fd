// Promise: under `exec: none` no program is started, by no call, from no thread, and the attempt is recorded; under
// `exec: all` any visible program is.

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::StartsWith;

CORDON_PROMISE(Exec);

TEST_P(Exec, NoneClosesEveryWay) {
  denied_inside({"exec=/bin/true", "execveat=/bin/true", "exec-memfd=/bin/true", "exec=/bin/sh"});
  const Finished inside = scene.acts({"exec-self=/bin/true", "exec-thread=/bin/true"});
  EXPECT_EQ(verdict(inside, "exec-self=/bin/true"), "DENIED EPERM") << inside;
  EXPECT_EQ(verdict(inside, "exec-thread=/bin/true"), "DENIED EPERM") << inside;
}

TEST_P(Exec, NoneAnswersEperm) {
  const Finished inside = scene.acts({"exec=/bin/true", "execveat=/bin/true", "exec=/nonexistent"});
  EXPECT_EQ(verdict(inside, "exec=/bin/true"), "DENIED EPERM") << inside;
  EXPECT_EQ(verdict(inside, "execveat=/bin/true"), "DENIED EPERM") << inside;
  EXPECT_EQ(verdict(inside, "exec=/nonexistent"), "DENIED EPERM") << inside;
}

TEST_P(Exec, NoneStillForksAndThreads) { allowed_inside({"fork", "thread"}, "exec: none\n"); }

TEST_P(Exec, NoneIsTheDefault) {
  const Finished inside = scene.sandboxed("entrypoint: ./act\nargs: ['exec=/bin/true']\n");
  EXPECT_EQ(verdict(inside, "exec=/bin/true"), "DENIED EPERM") << inside;
}

TEST_P(Exec, AnAttemptIsReportedWithTheGrantThatWouldAllowIt) {
  const Finished inside = scene.acts({"exec=/bin/true", "exec=/bin/true", "exit=3"});
  EXPECT_EQ(inside.code, 3);
  EXPECT_THAT(inside.err, HasSubstr("/bin/true")) << inside;
  EXPECT_THAT(inside.err, HasSubstr("exec: all")) << inside;
}

TEST_P(Exec, AllStartsPrograms) {
  allowed_inside({"exec=/bin/true", "execveat=/bin/true", "exec-memfd=/bin/true", "fork"}, "exec: all\n");
}

TEST_P(Exec, AllStartsNothingThatIsNotVisible) {
  scene.tree().copy("home/tool", programs().act);
  denied_inside({"exec=" + scene.home() + "/tool"}, "exec: all\n");
}

TEST_P(Exec, NoneStrictRefusesNewProcessesAndKeepsThreads) {
  const Finished inside = scene.acts({"thread", "fork", "exec=/bin/true"}, "exec: none-strict\n");
  EXPECT_EQ(verdict(inside, "thread"), "ALLOWED") << inside;
  EXPECT_THAT(verdict(inside, "fork"), StartsWith("DENIED")) << inside;
  EXPECT_THAT(verdict(inside, "exec=/bin/true"), StartsWith("DENIED")) << inside;
}

// `#!/usr/bin/env python3` executes twice where the kernel follows it; the planner starts the interpreter itself.
TEST_P(Exec, NoneStartsAScriptBehindEnv) {
  scene.tree().write("work/script.py", "#!/usr/bin/env python3\nprint('ran')\n", 0755);
  const Finished inside = scene.sandboxed("entrypoint: ./script.py\n");
  EXPECT_EQ(inside.out, "ran\n") << inside;
  EXPECT_EQ(inside.code, 0);
}

}  // namespace
}  // namespace cordon::test
