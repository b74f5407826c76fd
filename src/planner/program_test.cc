#include "planner/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <vector>

#include "planner/fake_host_test.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

namespace step = plan::step;
using testing::bind_at;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::execute_of;
using testing::FakeHost;
using ::testing::HasSubstr;
using testing::must_plan;
using testing::note_codes;
using testing::PolicyMaker;
using testing::steps_of;
using testing::with_script;

constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";

TEST(Program, AScriptStartsItsInterpreterDirectly) {
  FakeHost host = with_script("#!/bin/sh -eu");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").args({"a", "b c"}).policy));
  EXPECT_EQ(execute_of(plan).path, "/usr/bin/dash");
  EXPECT_THAT(execute_of(plan).argv, ElementsAre("/bin/sh", "-eu", "/home/me/p/run", "a", "b c"));
  EXPECT_EQ(execute_of(plan).working_directory, "/home/me/p");
}

TEST(Program, EnvIsFollowedSoThatExecNoneNeedsOneStart) {
  FakeHost host = with_script("#!/usr/bin/env node");
  EXPECT_THAT(execute_of(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy))).argv,
              ElementsAre("/usr/bin/node", "/home/me/p/run"));
  host = with_script("#!/usr/bin/env -S python3 -u -X dev");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").args({"x"}).policy));
  EXPECT_EQ(execute_of(plan).path, "/usr/bin/python3.11");
  EXPECT_THAT(execute_of(plan).argv, ElementsAre("/usr/bin/python3", "-u", "-X", "dev", "/home/me/p/run", "x"));
}

TEST(Program, EnvThatCannotBeFollowedIsStartedUnderExecAll) {
  FakeHost host = with_script("#!/usr/bin/env -i sh");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").exec(policy::ExecMode::kAll).policy));
  EXPECT_THAT(execute_of(plan).argv, ElementsAre("/usr/bin/env", "-i sh", "/home/me/p/run"));
}

TEST(Program, AnInterpreterGetsItsArgumentsBeforeTheEntrypoint) {
  FakeHost host = with_script("print(1)");
  host.at("/home/me/p/run").mode = 0644;
  PolicyMaker maker("/home/me/p/run");
  maker.interpreter("python3").args({"x"}).policy.interpreter_args = {{.value = "-I", .at = {}}};
  const plan::Plan plan = must_plan(host.plan(maker.policy));
  EXPECT_THAT(execute_of(plan).argv, ElementsAre("/usr/bin/python3", "-I", "/home/me/p/run", "x"));
  EXPECT_EQ(resolved_program(maker.policy, host.facts), "/usr/bin/python3.11");
}

TEST(Program, AnInterpreterWrittenInPythonIsNoShim) {
  FakeHost host = with_script("#!/opt/x/bin/xonsh");
  host.program("/opt/x/bin/xonsh", "#!/usr/bin/python3 -s\n");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_THAT(execute_of(plan).argv, ElementsAre("/usr/bin/python3", "-s", "/opt/x/bin/xonsh", "/home/me/p/run"));
  EXPECT_TRUE(bind_at(plan, "/opt/x")) << "its installation";
}

TEST(Program, AnInstallPrefixIsShownWhole) {
  FakeHost host = with_script("print(1)");
  host.program("/home/me/.pyenv/versions/3.12/bin/python3.12", "ELF:" + std::string(kLoader), 1000);
  host.link("/home/me/.pyenv/versions/3.12/bin/python3", "python3.12", 1000);
  const std::string python = "/home/me/.pyenv/versions/3.12/bin/python3";
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").interpreter(python).policy));
  EXPECT_TRUE(bind_at(plan, "/home/me/.pyenv/versions/3.12"));
  EXPECT_EQ(execute_of(plan).argv.at(0), python);
}

TEST(Program, AFirstLineBringsNoDirectoryThatWhoeverWroteItCouldChoose) {
  // A checkout whose first line names a program of its own: the checkout would be a grant.
  for (const char* interpreter : {"/home/me/p/bin/mypy", "/home/me/p/tools/x/bin/mypy", "/home/me/other/bin/mypy",
                                  "/home/me/p/.pyenv/versions/1/bin/mypy"}) {
    FakeHost host = with_script("#!" + std::string(interpreter));
    host.program(interpreter, "ELF:" + std::string(kLoader), 1000);
    const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
    EXPECT_TRUE(bind_at(plan, interpreter)) << "the program alone";
    EXPECT_FALSE(bind_at(plan, parent_of(parent_of(interpreter)))) << interpreter;
  }
  FakeHost host = with_script("#!/bin/sh");
  host.program("/home/me/p/tools/x/bin/mypy", "ELF:" + std::string(kLoader), 1000);
  EXPECT_TRUE(
      bind_at(must_plan(host.plan(PolicyMaker("/home/me/p/run").interpreter("/home/me/p/tools/x/bin/mypy").policy)),
              "/home/me/p/tools/x"))
      << "the manifest names it";
  FakeHost system = with_script("#!/opt/x/bin/mypy");
  system.program("/opt/x/bin/mypy", "ELF:" + std::string(kLoader));
  EXPECT_TRUE(bind_at(must_plan(system.plan(PolicyMaker("/home/me/p/run").policy)), "/opt/x"));
}

TEST(Program, AnEnvironmentAroundTheManifestIsNone) {
  FakeHost host = with_script("#!/home/me/p/bin/python");
  host.link("/home/me/p/bin/python", "/usr/bin/python3", 1000);
  host.file("/home/me/p/pyvenv.cfg", "home = /usr/bin", 1000);
  EXPECT_FALSE(bind_at(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy)), "/home/me/p"));
}

TEST(Program, ALoaderThatIsNoneIsNotShown) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/home/me/.ssh/id", "key", 1000, 0600);
  host.program("/home/me/p/run", "ELF:/home/me/.ssh/id", 1000);
  EXPECT_EQ(testing::must_refuse(host.plan(PolicyMaker("/home/me/p/run").policy)).items.front().code, "loader-missing");
  host.program("/home/me/p/run", "ELF:/opt/lib/ld-musl-x86_64.so.1", 1000);
  host.file("/opt/lib/ld-musl-x86_64.so.1", "ELF", 0, 0755);
  host.facts.paths.clear();
  host.facts.programs.clear();
  EXPECT_TRUE(bind_at(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy)), "/opt/lib/ld-musl-x86_64.so.1"));
}

TEST(Program, APrefixThatWouldBeTooBroadIsTheFileAlone) {
  struct Case {
    const char* program;
    const char* never;
  };
  for (const Case& test : {Case{"/home/me/bin/tool", "/home/me"}, Case{"/home/me/.local/bin/tool", "/home/me/.local"},
                           Case{"/home/other/bin/tool", "/home/other"}, Case{"/srv/bin/tool", "/srv"},
                           Case{"/home/me/Downloads/tool", "/home/me/Downloads"}}) {
    FakeHost host = with_script("print(1)");
    host.program(test.program, "ELF", 1000);
    const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").interpreter(test.program).policy));
    EXPECT_TRUE(bind_at(plan, test.program)) << test.program;
    EXPECT_FALSE(bind_at(plan, test.never)) << test.never;
  }
}

TEST(Program, AVirtualEnvironmentIsShownWithItsSpellingKept) {
  FakeHost host = with_script("#!/home/me/p/venv/bin/python");
  host.link("/home/me/p/venv/bin/python", "/usr/bin/python3", 1000);
  host.file("/home/me/p/venv/pyvenv.cfg", "home = /usr/bin", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_TRUE(bind_at(plan, "/home/me/p/venv"));
  EXPECT_EQ(execute_of(plan).path, "/usr/bin/python3.11");
  EXPECT_EQ(execute_of(plan).argv.at(0), "/home/me/p/venv/bin/python");
}

TEST(Program, AVirtualEnvironmentBelowAWriteGrantStaysExecutableAndReadOnly) {
  FakeHost host = with_script("#!/home/me/p/venv/bin/python");
  host.link("/home/me/p/venv/bin/python", "/usr/bin/python3", 1000);
  host.file("/home/me/p/venv/pyvenv.cfg", "home = /usr/bin", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p").policy));
  ASSERT_TRUE(bind_at(plan, "/home/me/p/venv"));
  EXPECT_TRUE(bind_at(plan, "/home/me/p/venv")->attributes.read_only);
  EXPECT_FALSE(bind_at(plan, "/home/me/p/venv")->attributes.noexec);
  const plan::Plan all =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p").exec(policy::ExecMode::kAll).policy));
  EXPECT_FALSE(bind_at(all, "/home/me/p/venv")) << "under exec: all the write grant executes by itself";
}

TEST(Program, TheNixStoreComesWhole) {
  FakeHost host = with_script("#!/usr/bin/env python3");
  host.program("/nix/store/abc-python/bin/python3", "ELF:/nix/store/def-glibc/lib/ld.so");
  host.file("/nix/store/def-glibc/lib/ld.so", "ELF", 0, 0755);
  host.facts.search_path = "/nix/store/abc-python/bin:/usr/bin";
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_TRUE(bind_at(plan, "/nix/store"));
  EXPECT_FALSE(bind_at(plan, "/nix/store/abc-python"));
}

TEST(Program, ExecNoneStrictPlansLikeNone) {
  FakeHost host = with_script("#!/usr/bin/env python3");
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").exec(policy::ExecMode::kNoneStrict).policy));
  EXPECT_TRUE(plan.exec_closed);
  EXPECT_EQ(steps_of<step::Filter>(plan).back().name, "exec");
}

TEST(Environment, HoldsHomeAndPathAndWhatIsListedAndSet) {
  FakeHost host = with_script("#!/bin/sh");
  host.environment = {{"LANG", "C.UTF-8"}, {"SECRET", "s"}};
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").env("LANG").env("UNSET").env("TOKEN", "t=1").policy));
  EXPECT_THAT(execute_of(plan).environment,
              ElementsAre("HOME=/tmp", "LANG=C.UTF-8", "PATH=/usr/bin:/bin", "TOKEN=t=1"));
  EXPECT_THAT(note_codes(plan), Contains("env-not-set"));
}

TEST(Environment, AListedHomeIsTheHostsAndSoIsTheAccounts) {
  FakeHost host = with_script("#!/bin/sh");
  host.environment = {{"HOME", "/home/me"}, {"PATH", "/x"}};
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").env("HOME").env("PATH").policy));
  EXPECT_THAT(execute_of(plan).environment, ElementsAre("HOME=/home/me", "PATH=/x"));
  for (const step::MakeFile& file : steps_of<step::MakeFile>(plan)) {
    if (file.target != "/etc/passwd") continue;
    EXPECT_THAT(file.content, HasSubstr("me:x:1000:1000::/home/me:/bin/sh"));
  }
}

}  // namespace
}  // namespace cordon::planner
