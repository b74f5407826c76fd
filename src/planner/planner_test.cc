#include "planner/planner.h"

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
using testing::has_mask;
using testing::has_pin;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::must_plan;
using testing::Node;
using ::testing::Not;
using testing::place_of;
using testing::PolicyMaker;
using testing::steps_of;

constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";

FakeHost with_script(const std::string& line, std::uint32_t uid = 1000) {
  FakeHost host = FakeHost::debian(uid);
  host.program("/home/me/p/run", line + "\nbody\n", 1000);
  return host;
}

std::vector<std::string> note_codes(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const plan::Note& note : plan.notes) out.push_back(note.code);
  return out;
}

template <class T>
std::vector<std::string> targets(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const T& act : steps_of<T>(plan)) out.push_back(act.target);
  return out;
}

template <class T>
std::size_t first(const plan::Plan& plan) {
  return place_of<T>(plan, [](const T&) { return true; });
}

// --- questions ---

TEST(Questions, NothingAnsweredIsAskedAgain) {
  FakeHost host = with_script("#!/usr/bin/env python3");
  const policy::Policy policy = PolicyMaker("/home/me/p/run").read("/").write("/home/me/p").env("TOKEN").policy;
  plan::Questions asked;
  for (int round = 0;; ++round) {
    ASSERT_LT(round, 4) << "too many rounds";
    const plan::Questions next = next_questions(policy, host.facts);
    if (empty(next)) break;
    for (const std::string& path : next.paths) EXPECT_THAT(asked.paths, Not(Contains(path)));
    for (const std::string& name : next.environment) EXPECT_THAT(asked.environment, Not(Contains(name)));
    for (const std::uint32_t uid : next.accounts) EXPECT_THAT(asked.accounts, Not(Contains(uid)));
    asked.paths.insert(asked.paths.end(), next.paths.begin(), next.paths.end());
    asked.environment.insert(asked.environment.end(), next.environment.begin(), next.environment.end());
    asked.accounts.insert(asked.accounts.end(), next.accounts.begin(), next.accounts.end());
    host.answer(next);
  }
  EXPECT_THAT(asked.environment, ElementsAre("TOKEN"));
  EXPECT_TRUE(host.facts.children.contains("/"));
}

TEST(Questions, WritableAndDeniedPathsArePinnedFirst) {
  FakeHost host = with_script("#!/bin/sh");
  const policy::Policy policy =
      PolicyMaker("/home/me/p/run").read("/srv").write("/home/me/p/out").deny("/srv/x").policy;
  EXPECT_THAT(next_questions(policy, host.facts).pin_first, ElementsAre("/home/me/p/out", "/srv/x"));
}

TEST(Questions, SuppliedValuesAreNotAskedOfTheHost) {
  FakeHost host = with_script("#!/bin/sh");
  const policy::Policy policy = PolicyMaker("/home/me/p/run").env("A", "given").env("B").policy;
  EXPECT_THAT(next_questions(policy, host.facts).environment, ElementsAre("B"));
}

TEST(Questions, RootAsksForTheOwnerOfTheEntrypointsDirectory) {
  FakeHost host = with_script("#!/bin/sh", 0);
  host.know(PolicyMaker("/home/me/p/run").policy);
  EXPECT_THAT(host.facts.accounts, Contains(::testing::Field(&plan::Account::uid, 1000U)));
}

// --- the shape of a plan ---

TEST(Plan, TheStepsStandInTheOrderOfTheirWork) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/srv").write("/home/me/p").policy));
  const std::vector<std::size_t> places = {
      first<step::EnterNamespaces>(plan), first<step::BuildRoot>(plan),     first<step::Bind>(plan),
      first<step::MountProc>(plan),       first<step::MountDev>(plan),      first<step::MountTmpfs>(plan),
      first<step::EnterRoot>(plan),       first<step::ResourceLimit>(plan), first<step::DropPrivileges>(plan),
      first<step::Landlock>(plan),        first<step::Filter>(plan),        first<step::Execute>(plan)};
  EXPECT_TRUE(std::ranges::is_sorted(places));
  EXPECT_EQ(places.front(), 0U);
  EXPECT_EQ(places.back(), plan.steps.size() - 1);
  for (std::size_t i = first<step::EnterRoot>(plan); i < plan.steps.size(); ++i) {
    EXPECT_FALSE(std::holds_alternative<step::Bind>(plan.steps[i].act));
  }
}

TEST(Plan, IsTheSameForTheSameInput) {
  FakeHost host = with_script("#!/usr/bin/env python3");
  const policy::Policy policy = PolicyMaker("/home/me/p/run").read("/").write("/home/me/p/new").policy;
  host.know(policy);
  EXPECT_EQ(plan(policy, host.facts), plan(policy, host.facts));
}

/// What plan.h promises to the launcher about mount points.
TEST(Plan, EveryMountPointStandsBeforeItIsMountedOn) {
  FakeHost host = with_script("#!/usr/bin/env python3");
  host.link("/home/me/data", "/srv/data", 1000);
  host.directory("/srv/data/a", 1000);
  host.file("/tmp/x/f", "text", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run")
                                                  .read("/home/me/data")
                                                  .read("/tmp/x/f")
                                                  .write("/home/me/p/out/deep")
                                                  .write("/srv/data/a")
                                                  .policy));
  std::vector<std::string> made, mounted;
  const auto shown = [&](const std::string& path) {
    return std::ranges::any_of(mounted, [&](const std::string& mount) { return within(path, mount); });
  };
  for (const plan::Step& step : plan.steps) {
    if (const auto* directory = std::get_if<step::MakeDirectory>(&step.act)) made.push_back(directory->target);
    if (const auto* file = std::get_if<step::MakeFile>(&step.act)) made.push_back(file->target);
    for (const auto* target : {std::get_if<step::Bind>(&step.act)}) {
      if (target == nullptr) continue;
      const bool stands = std::ranges::find(made, target->target) != made.end() || shown(target->target);
      EXPECT_TRUE(stands) << target->target;
      mounted.push_back(target->target);
    }
    if (std::holds_alternative<step::MakeDirectory>(step.act) || std::holds_alternative<step::MakeFile>(step.act)) {
      EXPECT_FALSE(shown(made.back())) << made.back() << " would be made on the host";
    }
    if (const auto* link = std::get_if<step::MakeSymlink>(&step.act)) EXPECT_FALSE(shown(link->target)) << link->target;
  }
}

TEST(Plan, EveryWritableMountIsNosuidAndNodevAndNoexecWhileExecIsClosed) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/srv/w", 1000);
  for (const policy::ExecMode mode : {policy::ExecMode::kNone, policy::ExecMode::kNoneStrict, policy::ExecMode::kAll}) {
    const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/srv/w").exec(mode).policy));
    const bool closed = mode != policy::ExecMode::kAll;
    EXPECT_EQ(plan.exec_closed, closed);
    EXPECT_EQ(bind_at(plan, "/srv/w")->attributes.noexec, closed);
    EXPECT_EQ(steps_of<step::MountTmpfs>(plan).at(0).attributes.noexec, closed);
    for (const step::Bind& bind : steps_of<step::Bind>(plan)) {
      EXPECT_TRUE(bind.attributes.nosuid && bind.attributes.nodev) << bind.target;
      EXPECT_TRUE(bind.attributes.read_only || bind.attributes.noexec == closed) << bind.target;
    }
  }
}

TEST(Plan, NoCoreLeavesAndNothingIsKept) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  const auto limits = steps_of<step::ResourceLimit>(plan);
  ASSERT_EQ(limits.size(), 1U);
  EXPECT_EQ(limits[0], (step::ResourceLimit{.resource = RLIMIT_CORE, .soft = 1, .hard = 1}));
}

TEST(Plan, TheSizeOfTmpAndTheTimeAreThePolicys) {
  FakeHost host = with_script("#!/bin/sh");
  PolicyMaker maker("/home/me/p/run");
  EXPECT_EQ(steps_of<step::MountTmpfs>(must_plan(host.plan(maker.policy))).at(0).size_bytes, 1024ULL << 20U);
  maker.policy.limits.tmp = "5M";
  maker.policy.limits.tmp_bytes = 5ULL << 20U;
  maker.policy.limits.timeout_ms = 1500;
  const plan::Plan plan = must_plan(host.plan(maker.policy));
  EXPECT_EQ(steps_of<step::MountTmpfs>(plan).at(0).size_bytes, 5ULL << 20U);
  EXPECT_EQ(plan.timeout_ms, 1500U);
}

// --- the base ---

TEST(Base, AMergedUsrKeepsItsLinks) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_TRUE(bind_at(plan, "/usr")->attributes.read_only);
  EXPECT_FALSE(bind_at(plan, "/usr/bin"));
  EXPECT_FALSE(bind_at(plan, "/bin"));
  EXPECT_THAT(steps_of<step::MakeSymlink>(plan), Contains(step::MakeSymlink{.target = "/bin", .text = "usr/bin"}));
}

TEST(Base, AnUnmergedUsrKeepsItsDirectories) {
  FakeHost host = with_script("#!/bin/sh");
  for (const char* path : {"/bin", "/lib", "/lib64", "/sbin"}) host.remove(path);
  host.program("/bin/sh", "ELF:" + std::string(kLoader));
  host.file(kLoader, "ELF", 0, 0755);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_TRUE(bind_at(plan, "/bin"));
  EXPECT_TRUE(bind_at(plan, "/lib64"));
  EXPECT_THAT(targets<step::MakeSymlink>(plan), Not(Contains("/bin")));
}

TEST(Base, OfEtcOnlyTheListAndOnlyWhatAnybodyMayRead) {
  FakeHost host = with_script("#!/bin/sh", 0);
  host.at("/etc/timezone").mode = 0640;
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_TRUE(bind_at(plan, "/etc/ld.so.cache"));
  EXPECT_TRUE(bind_at(plan, "/etc/ssl/certs"));
  for (const char* never : {"/etc", "/etc/shadow", "/etc/passwd", "/etc/timezone", "/etc/ssl"}) {
    EXPECT_FALSE(bind_at(plan, never)) << never;
  }
  EXPECT_THAT(steps_of<step::MakeSymlink>(plan),
              Contains(step::MakeSymlink{.target = "/etc/localtime", .text = "/usr/share/zoneinfo/UTC"}));
}

TEST(Base, NamesAreSynthesisedAndNoNameCanForgeALine) {
  FakeHost host = with_script("#!/bin/sh");
  const auto passwd = [&] {
    for (const step::MakeFile& file :
         steps_of<step::MakeFile>(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy)))) {
      if (file.target == "/etc/passwd") return file.content;
    }
    return std::string();
  };
  EXPECT_THAT(passwd(), HasSubstr("me:x:1000:1000::/tmp:/bin/sh\n"));
  for (plan::Account& account : host.facts.accounts) account.name = "x:0:0\nroot2";
  EXPECT_THAT(passwd(), HasSubstr("user:x:1000:1000::/tmp:/bin/sh\n"));
  EXPECT_THAT(passwd(), Not(HasSubstr("root2")));
}

TEST(Base, AGrantOfEtcShowsTheHostsOwnFiles) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/etc").policy));
  EXPECT_TRUE(bind_at(plan, "/etc"));
  EXPECT_FALSE(bind_at(plan, "/etc/ld.so.cache"));
  EXPECT_THAT(targets<step::MakeFile>(plan), Not(Contains("/etc/passwd")));
}

// --- grants ---

TEST(Grants, ASpellingThroughLinksWorksAndTheRealPathIsMounted) {
  FakeHost host = FakeHost::debian();
  host.directory("/data/me", 1000);
  host.remove("/home/me");
  host.link("/home/me", "/data/me");
  host.program("/data/me/run", "#!/bin/sh\n", 1000);
  host.directory("/data/me/real", 1000);
  host.link("/data/me/l", "real", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/run").read("/home/me/l").policy));
  EXPECT_TRUE(bind_at(plan, "/data/me/real"));
  EXPECT_THAT(targets<step::MakeSymlink>(plan), ::testing::IsSupersetOf({"/home/me", "/data/me/l"}));
  EXPECT_EQ(execute_of(plan).argv.at(1), "/home/me/run") << "as spelled";
  EXPECT_EQ(execute_of(plan).working_directory, "/data/me");
}

TEST(Grants, AMissingReadIsANoteAndAMissingWriteIsMade) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/home/me/none").write("/home/me/a/b").policy));
  EXPECT_THAT(note_codes(plan), ::testing::IsSupersetOf({"missing-read", "makes-directory"}));
  const auto bind = bind_at(plan, "/home/me/a/b");
  ASSERT_TRUE(bind);
  EXPECT_THAT(bind->create, ElementsAre("a", "b"));
  EXPECT_EQ(bind->id, host.facts.paths.at("/home/me/a/b").id) << "the deepest directory that exists";
  EXPECT_FALSE(bind->create_owner_uid);
}

TEST(Grants, ASingleFileMayBeWritten) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/home/me/log", "x", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/log").policy));
  EXPECT_FALSE(bind_at(plan, "/home/me/log")->attributes.read_only);
  EXPECT_THAT(targets<step::MakeFile>(plan), Contains("/home/me/log")) << "its mount point";
}

TEST(Grants, WhatIsHeldBelowAWriteGrantIsPinned) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/home/me/p/a/b/secret", "x", 1000);
  host.directory("/home/me/p/c/ro", 1000);
  const plan::Plan plan = must_plan(host.plan(
      PolicyMaker("/home/me/p/run").write("/home/me/p").read("/home/me/p/c/ro").deny("/home/me/p/a/b/secret").policy));
  for (const char* pinned : {"/home/me/p/a", "/home/me/p/a/b", "/home/me/p/c"})
    EXPECT_TRUE(has_pin(plan, pinned)) << pinned;
  EXPECT_TRUE(has_mask(plan, "/home/me/p/a/b/secret"));
  EXPECT_TRUE(bind_at(plan, "/home/me/p/c/ro")->attributes.read_only);
  EXPECT_TRUE(bind_at(plan, "/home/me/p/run")->attributes.read_only) << "the entrypoint too";
  const auto pin = place_of<step::Pin>(plan, [](const step::Pin& act) { return act.target == "/home/me/p/a/b"; });
  const auto mask = place_of<step::Mask>(plan, [](const step::Mask&) { return true; });
  EXPECT_LT(pin, mask);
}

TEST(Grants, TheManifestIsHeldReadOnlyWhereItCouldBeWritten) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/home/me/p/run.manifest.yaml", "x", 1000);
  EXPECT_FALSE(bind_at(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy)), "/home/me/p/run.manifest.yaml"));
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p").policy));
  ASSERT_TRUE(bind_at(plan, "/home/me/p/run.manifest.yaml"));
  EXPECT_TRUE(bind_at(plan, "/home/me/p/run.manifest.yaml")->attributes.read_only);
}

TEST(Grants, ADeniedPathThatNothingShowsNeedsNoMask) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/srv/d/x", 0);
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").deny("/srv/d").deny("/usr/bin/perl").deny("/srv/none").policy));
  EXPECT_FALSE(has_mask(plan, "/srv/d"));
  EXPECT_TRUE(has_mask(plan, "/usr/bin/perl"));
  EXPECT_THAT(note_codes(plan), Contains("deny-missing"));
}

TEST(Grants, ReadOfTheRootIsItsChildrenWithoutWhatIsOurs) {
  FakeHost host = with_script("#!/bin/sh");
  host.special("/mnt", Node::Kind::kDeadMount);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/").policy));
  for (const char* shown : {"/etc", "/home", "/opt", "/srv", "/usr", "/var"})
    EXPECT_TRUE(bind_at(plan, shown)) << shown;
  for (const char* ours : {"/", "/proc", "/sys", "/dev", "/tmp", "/mnt", "/bin"})
    EXPECT_FALSE(bind_at(plan, ours)) << ours;
  EXPECT_THAT(note_codes(plan), Contains("left-out"));
}

TEST(Grants, TheSandboxesOwnDeviceNodesNeedNoGrant) {
  FakeHost host = with_script("#!/bin/sh");
  host.special("/dev/null", Node::Kind::kDevice);
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/dev/null").write("/dev/null").policy));
  EXPECT_THAT(note_codes(plan), ElementsAre("already-there", "already-there"));
}

TEST(Grants, SomebodyElsesLinkCountsOnlyIfTheTargetIsNotTheirs) {
  // Root runs what belongs to "me" as "me": links of theirs are no other user's.
  FakeHost host = with_script("#!/bin/sh", 0);
  host.directory("/home/me/p/real", 1000);
  host.link("/home/me/p/l", "real", 1000);
  EXPECT_TRUE(
      bind_at(must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/home/me/p/l").policy)), "/home/me/p/real"));
  PolicyMaker kept("/home/me/p/run");
  kept.read("/home/me/p/l").policy.posture.as_root = true;
  EXPECT_EQ(testing::must_refuse(host.plan(kept.policy)).items.at(0).code, "path-planted");
}

// --- the program ---

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

// --- who it is ---

TEST(Identity, AnOrdinaryUserMapsItselfAlone) {
  FakeHost host = with_script("#!/bin/sh");
  const auto enter = steps_of<step::EnterNamespaces>(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy))).at(0);
  EXPECT_THAT(enter.uids, ElementsAre(plan::IdRange{1000, 1000, 1}));
  EXPECT_THAT(enter.gids, ElementsAre(plan::IdRange{1000, 1000, 1}));
  EXPECT_TRUE(enter.deny_setgroups);
  EXPECT_FALSE(enter.set_groups);
  EXPECT_EQ(enter.flags, static_cast<std::uint64_t>(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
                                                    CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET));
}

TEST(Identity, RootOnAnothersDirectoryRunsAsTheOwner) {
  FakeHost host = with_script("#!/bin/sh", 0);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p/new").policy));
  EXPECT_THAT(steps_of<step::RunAs>(plan), ElementsAre(step::RunAs{.uid = 1000, .gid = 1000}));
  const auto enter = steps_of<step::EnterNamespaces>(plan).at(0);
  EXPECT_THAT(enter.uids, ElementsAre(plan::IdRange{0, 0, 0xffffffff}));
  EXPECT_TRUE(enter.set_groups);
  EXPECT_THAT(enter.groups, ElementsAre(1000U, 27U));
  EXPECT_EQ(bind_at(plan, "/home/me/p/new")->create_owner_uid, 1000U);
  EXPECT_THAT(note_codes(plan), Contains("runs-as-owner"));
  EXPECT_LT(first<step::RunAs>(plan), first<step::DropPrivileges>(plan));
}

TEST(Identity, RootKeepsItselfIfAskedOrIfTheDirectoryIsItsOwn) {
  FakeHost host = with_script("#!/bin/sh", 0);
  PolicyMaker kept("/home/me/p/run");
  kept.policy.posture.as_root = true;
  EXPECT_THAT(steps_of<step::RunAs>(must_plan(host.plan(kept.policy))), IsEmpty());
  host.program("/srv/run", "#!/bin/sh\n");
  EXPECT_THAT(steps_of<step::RunAs>(must_plan(host.plan(PolicyMaker("/srv/run").policy))), IsEmpty());
}

TEST(Identity, RootOfANamespaceMapsOnlyTheIdsThatItHas) {
  FakeHost host = with_script("#!/bin/sh", 0);
  host.facts.uid_spans = {{.first = 0, .count = 500}, {.first = 600, .count = 10}};
  host.facts.gid_spans = {{.first = 0, .count = 500}};
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_THAT(steps_of<step::EnterNamespaces>(plan).at(0).uids,
              ElementsAre(plan::IdRange{0, 0, 500}, plan::IdRange{600, 600, 10}));
  EXPECT_THAT(steps_of<step::RunAs>(plan), IsEmpty()) << "uid 1000 is no id here";
}

TEST(Identity, AWriteGrantThatTheTargetCannotUseIsSaid) {
  FakeHost host = with_script("#!/bin/sh", 0);
  host.directory("/srv/w", 0, 0755);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/srv/w").policy));
  EXPECT_THAT(note_codes(plan), Contains("write-may-fail"));
}

// --- environment ---

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
    if (file.target == "/etc/passwd") EXPECT_THAT(file.content, HasSubstr("me:x:1000:1000::/home/me:/bin/sh"));
  }
}

// --- Landlock ---

std::uint64_t right_at(const step::Landlock& landlock, std::string_view target) {
  std::uint64_t access = 0;
  for (const step::LandlockRule& rule : landlock.rules) {
    if (rule.target == target) access |= rule.access;
  }
  return access;
}
constexpr std::uint64_t kExecute = 1, kWriteFile = 2, kReadFile = 4, kReadDir = 8, kTruncate = 1U << 14U;

TEST(Landlock, WritesOnlyBelowWhatMayBeWritten) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/srv/w", 1000);
  const auto landlock =
      steps_of<step::Landlock>(must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/opt").write("/srv/w").policy)))
          .at(0);
  for (const step::LandlockRule& rule : landlock.rules) {
    const bool writable = rule.target == "/srv/w" || rule.target == "/tmp" || rule.target == "/dev" ||
                          rule.target == "/dev/shm" || rule.target == "/proc";
    EXPECT_EQ((rule.access & kWriteFile) != 0, writable) << rule.target;
    EXPECT_EQ(rule.access & ~landlock.handled_access, 0U) << rule.target;
  }
  EXPECT_EQ(landlock.handled_access & kReadDir, 0U);
  EXPECT_EQ(landlock.scoped, 3U);
}

TEST(Landlock, UnderExecNoneOnlyTheProgramAndItsLoaderExecute) {
  FakeHost host = with_script("#!/bin/sh");
  const auto none = steps_of<step::Landlock>(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy))).at(0);
  std::vector<std::string> executable;
  for (const step::LandlockRule& rule : none.rules) {
    if ((rule.access & kExecute) != 0) executable.push_back(rule.target);
  }
  EXPECT_THAT(executable, ElementsAre("/usr/bin/dash", "/usr/lib64/ld-linux-x86-64.so.2"));
  const auto all =
      steps_of<step::Landlock>(must_plan(host.plan(PolicyMaker("/home/me/p/run").exec(policy::ExecMode::kAll).policy)))
          .at(0);
  for (const char* target : {"/usr", "/tmp", "/home/me/p/run"}) EXPECT_TRUE(right_at(all, target) & kExecute) << target;
  for (const char* target : {"/dev", "/proc", "/dev/shm"}) EXPECT_FALSE(right_at(all, target) & kExecute) << target;
}

TEST(Landlock, FilesGetOnlyRightsThatAFileCanHave) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/home/me/log", "x", 1000);
  const auto landlock =
      steps_of<step::Landlock>(must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/log").policy))).at(0);
  EXPECT_EQ(right_at(landlock, "/home/me/log") & ~(kExecute | kWriteFile | kReadFile | kTruncate | 1U << 15U), 0U);
  EXPECT_TRUE(right_at(landlock, "/home/me/log") & kTruncate);
  EXPECT_EQ(right_at(landlock, "/etc/passwd"), kReadFile);
}

TEST(Landlock, IsSizedByTheAbiAndLeftOutBelowTwo) {
  FakeHost host = with_script("#!/bin/sh");
  const policy::Policy policy = PolicyMaker("/home/me/p/run").policy;
  struct Case {
    int abi;
    std::uint64_t highest;
  };
  for (const Case& test :
       {Case{2, 1U << 13U}, Case{3, 1U << 14U}, Case{4, 1U << 14U}, Case{5, 1U << 15U}, Case{7, 1U << 15U}}) {
    host.facts.landlock_abi = test.abi;
    const auto landlock = steps_of<step::Landlock>(must_plan(host.plan(policy))).at(0);
    EXPECT_EQ(landlock.abi, test.abi);
    EXPECT_TRUE(landlock.handled_access & test.highest);
    EXPECT_LT(landlock.handled_access, test.highest << 1U);
    EXPECT_EQ(landlock.scoped != 0, test.abi >= 6);
  }
  host.facts.landlock_abi = 1;
  const plan::Plan plan = must_plan(host.plan(policy));
  EXPECT_THAT(steps_of<step::Landlock>(plan), IsEmpty());
  ASSERT_EQ(plan.degradations.size(), 1U);
  EXPECT_EQ(plan.degradations[0].layer, plan::Layer::kLandlock);
}

TEST(Landlock, WhereNobodyAskedTheReleaseTells) {
  FakeHost host = with_script("#!/bin/sh");
  const policy::Policy policy = PolicyMaker("/home/me/p/run").policy;
  host.facts.landlock_abi = 0;
  host.facts.kernel_release = "6.1.0-50-cloud";
  EXPECT_EQ(steps_of<step::Landlock>(must_plan(host.plan(policy))).at(0).abi, 2);
  host.facts.kernel_release = "6.18.44";
  EXPECT_EQ(steps_of<step::Landlock>(must_plan(host.plan(policy))).at(0).abi, 6);
  host.facts.feature(plan::Feature::kLandlock).state = plan::Availability::kNo;
  EXPECT_THAT(steps_of<step::Landlock>(must_plan(host.plan(policy))), IsEmpty());
}

// --- what is held and what is not ---

TEST(Posture, AllowDegradedRunsWithoutANetworkNamespaceAndSaysSo) {
  FakeHost host = with_script("#!/bin/sh");
  host.facts.feature(plan::Feature::kNetNamespace).state = plan::Availability::kNo;
  PolicyMaker maker("/home/me/p/run");
  EXPECT_EQ(testing::must_refuse(host.plan(maker.policy)).items.at(0).layer, plan::Layer::kNetwork);
  maker.policy.posture.allow_degraded = true;
  const plan::Plan plan = must_plan(host.plan(maker.policy));
  EXPECT_FALSE(steps_of<step::EnterNamespaces>(plan).at(0).flags & CLONE_NEWNET);
  EXPECT_THAT(steps_of<step::Loopback>(plan), IsEmpty());
  ASSERT_EQ(plan.degradations.size(), 1U);
  EXPECT_EQ(plan.degradations[0].state, plan::LayerState::kUnavailable);
}

TEST(Posture, AllowDegradedNeverDoesWithoutTheFileSystem) {
  FakeHost host = with_script("#!/bin/sh");
  PolicyMaker maker("/home/me/p/run");
  maker.policy.posture.allow_degraded = true;
  for (const plan::Feature feature :
       {plan::Feature::kUserNamespace, plan::Feature::kMountNamespace, plan::Feature::kMountApi,
        plan::Feature::kTmpfsMount, plan::Feature::kProcMount}) {
    host.facts.feature(feature).state = plan::Availability::kNo;
    EXPECT_EQ(testing::must_refuse(host.plan(maker.policy)).items.size(), 1U);
    host.facts.feature(feature).state = plan::Availability::kUnknown;
  }
}

TEST(Posture, ExecNoneIsNotClaimedWhereItIsNotHeld) {
  FakeHost host = with_script("#!/bin/sh");
  host.facts.feature(plan::Feature::kUserNotification).state = plan::Availability::kNo;
  PolicyMaker maker("/home/me/p/run");
  maker.policy.posture.allow_degraded = true;
  const plan::Plan plan = must_plan(host.plan(maker.policy));
  EXPECT_FALSE(plan.exec_closed);
  EXPECT_EQ(steps_of<step::Filter>(plan).size(), 1U);
  EXPECT_EQ(plan.degradations.at(0).layer, plan::Layer::kExec);
}

TEST(Posture, NothingIsDegradedOnAHostThatNobodyProbed) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_THAT(plan.degradations, IsEmpty());
  EXPECT_THAT(plan.requested, Contains(plan::Layer::kExec));
}

}  // namespace
}  // namespace cordon::planner
