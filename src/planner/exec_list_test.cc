#include "planner/exec_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "planner/fake_host_test.h"
#include "planner/landings.h"

namespace cordon::planner {
namespace {

namespace step = plan::step;
using testing::bind_at;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeHost;
using ::testing::IsEmpty;
using testing::must_plan;
using testing::must_refuse;
using ::testing::Not;
using testing::PolicyMaker;
using testing::steps_of;
using ::testing::UnorderedElementsAre;
using testing::with_script;

constexpr std::uint64_t kExecute = 1;
constexpr const char* kLoader = "/usr/lib64/ld-linux-x86-64.so.2";

std::vector<std::string> started(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const step::Landlock& landlock : steps_of<step::Landlock>(plan)) {
    for (const step::LandlockRule& rule : landlock.rules) {
      if ((rule.access & kExecute) != 0) out.push_back(rule.target);
    }
  }
  return out;
}

std::vector<std::string> executable_mounts(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const step::Bind& bind : steps_of<step::Bind>(plan)) {
    if (!bind.attributes.noexec) out.push_back(bind.target);
  }
  return out;
}

FakeHost with_git() {
  FakeHost host = with_script("#!/bin/sh");
  host.program("/usr/bin/git", "ELF:/lib64/ld-linux-x86-64.so.2");
  return host;
}

TEST(ExecList, MountsEverythingNoexecButTheListTheEntrypointAndTheirLibraries) {
  FakeHost host = with_git();
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p/out").exec({"git"}).policy));
  EXPECT_THAT(executable_mounts(plan),
              UnorderedElementsAre("/home/me/p/run", "/usr/bin/dash", "/usr/bin/git", "/usr/lib64"));
  EXPECT_THAT(started(plan), UnorderedElementsAre("/home/me/p/run", "/usr/bin/dash", "/usr/bin/git", kLoader));
  for (const step::MountTmpfs& tmp : steps_of<step::MountTmpfs>(plan)) EXPECT_TRUE(tmp.attributes.noexec);
  EXPECT_FALSE(plan.exec_closed);
  EXPECT_THAT(plan.requested, Contains(plan::Layer::kExec));
}

TEST(ExecList, AsksNothingWhereExecIsNoList) {
  FakeHost host = with_git();
  (void)host.know(PolicyMaker("/home/me/p/run").exec(policy::ExecMode::kAll).policy);
  EXPECT_THAT(host.facts.libraries, IsEmpty());
  EXPECT_FALSE(host.facts.paths.contains("/usr/lib/dash"));
}

TEST(ExecList, LibrariesElsewhereAreMappedAndNotStarted) {
  FakeHost host = with_git();
  host.file("/usr/lib/git/libgit.so", "ELF");
  host.file("/usr/lib/git/program", "ELF");
  host.libraries["/usr/bin/git"] = {"/usr/lib/git/libgit.so", "/usr/lib64/libc.so.6", "/nowhere/libabsent.so"};
  host.file("/usr/lib64/libc.so.6", "ELF");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").exec({"git"}).policy));
  EXPECT_THAT(executable_mounts(plan), Contains("/usr/lib/git/libgit.so"));
  EXPECT_THAT(executable_mounts(plan), Not(Contains("/usr/lib/git"))) << "git is no interpreter";
  EXPECT_THAT(started(plan), Not(Contains("/usr/lib/git/libgit.so")));
  EXPECT_FALSE(bind_at(plan, "/usr/lib64/libc.so.6")) << "its directory is open";
  EXPECT_THAT(testing::note_codes(plan), Contains("exec-library-not-found"));
}

TEST(ExecList, ALibraryInAnUnknownPlaceIsBoundByItself) {
  FakeHost host = with_git();
  host.file("/usr/share/odd/libodd.so", "ELF");
  host.libraries["/usr/bin/git"] = {"/usr/share/odd/libodd.so"};
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").exec({"git"}).policy));
  ASSERT_TRUE(bind_at(plan, "/usr/share/odd/libodd.so"));
  EXPECT_FALSE(bind_at(plan, "/usr/share/odd/libodd.so")->attributes.noexec);
}

TEST(ExecList, AnInterpretersModulesMayBeMapped) {
  FakeHost host = with_git();
  host.directory("/usr/lib/python3.11");
  host.directory("/usr/lib/python3");
  host.directory("/usr/local/lib/python3.11");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").exec({"python3"}).policy));
  EXPECT_THAT(executable_mounts(plan), ::testing::IsSupersetOf({"/usr/lib/python3.11", "/usr/lib/python3",
                                                                "/usr/local/lib/python3.11", "/usr/bin/python3.11"}));
}

TEST(ExecList, AJavaMachinesLibrariesMayBeMappedWhereItHasADirectoryOfItsOwn) {
  const auto mounts = [](const std::string& prefix, bool machine) {
    FakeHost host = with_git();
    host.program(prefix + "/bin/java", "ELF:/lib64/ld-linux-x86-64.so.2");
    host.directory(prefix + "/lib");
    if (machine) host.file(prefix + "/lib/server/libjvm.so", "ELF");
    return executable_mounts(must_plan(host.plan(PolicyMaker("/home/me/p/run").exec({prefix + "/bin/java"}).policy)));
  };
  EXPECT_THAT(mounts("/usr/lib/jvm/17", true), Contains("/usr/lib/jvm/17/lib"));
  EXPECT_THAT(mounts("/usr/lib/jvm/17", false), Not(Contains("/usr/lib/jvm/17/lib"))) << "another program of that name";
  EXPECT_THAT(mounts("/usr", true), Not(Contains("/usr/lib"))) << "everybody's";
}

TEST(ExecList, ADirectoryOfModulesThatTheTargetWritesStaysNoexec) {
  FakeHost host = with_git();
  host.program("/home/me/p/bin/tool", "ELF:/lib64/ld-linux-x86-64.so.2", 1000);
  host.directory("/home/me/p/lib/tool", 1000);
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p").exec({"/home/me/p/bin/tool"}).policy));
  EXPECT_THAT(executable_mounts(plan), Not(Contains("/home/me/p/lib/tool")));
  ASSERT_TRUE(bind_at(plan, "/home/me/p/bin/tool"));
  EXPECT_TRUE(bind_at(plan, "/home/me/p/bin/tool")->attributes.read_only);
  EXPECT_TRUE(testing::has_pin(plan, "/home/me/p/bin")) << "or its directory is exchanged for another";
}

TEST(ExecList, ModulesAreAKnownInterpretersOwnAndLieBelowItsOwnPrefix) {
  FakeHost host = with_git();
  host.program("/home/me/p/bin/mytool", "ELF:/lib64/ld-linux-x86-64.so.2", 1000);
  host.directory("/home/me/p/lib/mytool", 1000);
  host.link("/home/me/p/bin/python3", "/usr/bin/python3.11", 1000);
  host.directory("/home/me/p/lib/python3.11", 1000);
  host.program("/opt/x/bin/ruby", "ELF:/lib64/ld-linux-x86-64.so.2");
  host.link("/opt/x/lib/ruby", "/usr/bin");
  const policy::Policy policy = PolicyMaker("/home/me/p/run")
                                    .read("/home/me/p")
                                    .read("/opt/x")
                                    .exec({"/home/me/p/bin/mytool", "/home/me/p/bin/python3", "/opt/x/bin/ruby"})
                                    .policy;
  const std::vector<std::string> mounts = executable_mounts(must_plan(host.plan(policy)));
  EXPECT_THAT(mounts, Not(Contains("/home/me/p/lib/mytool")));
  EXPECT_THAT(mounts, Not(Contains("/home/me/p/lib/python3.11"))) << "no environment";
  EXPECT_THAT(mounts, Not(Contains("/usr/bin")));
}

TEST(ExecList, AnEnvironmentsModulesAreCalledOutAndTurnableOnesStayNoexec) {
  const auto made = [](const char* granted) {
    FakeHost host = with_git();
    host.file("/home/me/p/venv/pyvenv.cfg", "home = /usr/bin", 1000);
    host.link("/home/me/p/venv/bin/python3", "/usr/bin/python3.11", 1000);
    host.directory("/home/me/p/venv/lib/python3.11", 1000);
    const policy::Policy policy = PolicyMaker("/home/me/p/run")
                                      .read("/home/me/p/venv")
                                      .write(granted)
                                      .exec({"/home/me/p/venv/bin/python3"})
                                      .policy;
    std::vector<std::string> codes;
    for (const Callout& callout : callouts(policy, host.know(policy))) codes.push_back(callout.code);
    EXPECT_THAT(codes, Contains("exec-modules"));
    return executable_mounts(must_plan(host.plan(policy)));
  };
  EXPECT_THAT(made("/home/me/out"), Contains("/home/me/p/venv/lib/python3.11"));
  EXPECT_THAT(made("/home/me/p/venv/lib"), Not(Contains("/home/me/p/venv/lib/python3.11")));
}

TEST(ExecList, ALoaderIsOneByItsNameAndPlace) {
  for (const char* loader : {"/usr/bin/perl", "/usr/bin/ld.so.1", "/usr/lib64/program", "/usr/lib64/ld-linux.so.9"}) {
    FakeHost host = with_git();
    host.program("/usr/bin/ld.so.1", "ELF");
    host.program("/usr/lib64/program", "ELF");
    host.link("/usr/lib64/ld-linux.so.9", "/usr/bin/perl");
    host.program("/home/me/p/tool", std::string("ELF:") + loader, 1000);
    const plan::Refusal refusal =
        must_refuse(host.plan(PolicyMaker("/home/me/p/run").read("/home/me/p/tool").exec({"/home/me/p/tool"}).policy));
    ASSERT_FALSE(refusal.items.empty());
    EXPECT_EQ(refusal.items[0].code, "exec-not-a-program") << loader;
  }
}

TEST(ExecList, ALibraryIsOneByItsNameAndPlace) {
  FakeHost host = with_git();
  host.link("/home/me/p/lib/libx.so", "/usr/bin/perl", 1000);
  host.libraries["/usr/bin/git"] = {"/home/me/p/lib/libx.so"};
  const plan::Refusal refusal =
      must_refuse(host.plan(PolicyMaker("/home/me/p/run").read("/home/me/p/lib").exec({"git"}).policy));
  EXPECT_EQ(refusal.items[0].code, "exec-not-a-program");
}

TEST(ExecList, ANameThatIsLookedForWhereTheTargetMayWriteIsRefused) {
  for (const char* path : {"/home/me/p/bin:/usr/bin", "/home/me/p/l:/usr/bin", "/home/me/p/bin/absent:/usr/bin",
                           "/home/me/p/bin/sub/../../empty:/usr/bin"}) {
    FakeHost host = with_git();
    host.directory("/home/me/p/bin/sub", 1000);
    host.directory("/home/me/p/empty", 1000);
    host.link("/home/me/p/l", "bin", 1000);
    const plan::Refusal refusal = must_refuse(
        host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p/bin").exec({"git"}).env("PATH", path).policy));
    ASSERT_FALSE(refusal.items.empty());
    EXPECT_EQ(refusal.items[0].code, "exec-writable") << path;
  }
  FakeHost host = with_git();
  host.directory("/home/me/p/bin", 1000);
  must_plan(host.plan(PolicyMaker("/home/me/p/run")
                          .write("/home/me/p/bin")
                          .exec({"git"})
                          .env("PATH", "/usr/bin:/home/me/p/bin")
                          .policy));
}

TEST(ExecList, ALibraryThatIsLookedForWhereTheTargetMayWriteIsRefused) {
  FakeHost host = with_git();
  host.directory("/home/me/p/out", 1000);
  host.searched["/usr/bin/git"] = {"/home/me/p/out"};
  PolicyMaker maker("/home/me/p/run");
  const plan::Refusal refusal = must_refuse(host.plan(maker.write("/home/me/p/out").exec({"git"}).policy));
  EXPECT_EQ(refusal.items[0].code, "exec-writable");
  FakeHost found = with_git();
  found.file("/home/me/p/out/liba.so", "ELF", 1000);
  found.libraries["/usr/bin/git"] = {"/home/me/p/out/liba.so"};
  EXPECT_EQ(must_refuse(found.plan(maker.policy)).items[0].code, "exec-writable");
}

TEST(ExecList, LibrariesThatCannotBeToldAreRefused) {
  FakeHost host = with_git();
  host.untold.insert("/usr/bin/git");
  const plan::Refusal refusal = must_refuse(host.plan(PolicyMaker("/home/me/p/run").exec({"git"}).policy));
  EXPECT_THAT(refusal.items[0].message, ::testing::HasSubstr("cannot be told"));
}

TEST(ExecList, AnotherNameBelowAWriteGrantIsLookedForWhereThereIsOneAndRefused) {
  FakeHost host = with_git();
  host.program("/home/me/p/tool", "ELF", 1000);
  host.directory("/home/me/p/out", 1000);
  const policy::Policy policy =
      PolicyMaker("/home/me/p/run").read("/home/me/p/tool").write("/home/me/p/out").exec({"/home/me/p/tool"}).policy;
  (void)host.know(policy);
  EXPECT_TRUE(!host.facts.aliases || host.facts.aliases->asked.code.empty()) << "one link";
  FakeHost linked = with_git();
  linked.program("/home/me/p/tool", "ELF", 1000).links = 2;
  linked.directory("/home/me/p/out", 1000);
  linked.aliases.found = {{.path = "/home/me/p/out/tool-1", .credential = "/home/me/p/tool"}};
  const plan::Refusal refusal = must_refuse(linked.plan(policy));
  EXPECT_THAT(linked.facts.aliases->asked.code, ElementsAre("/home/me/p/tool"));
  EXPECT_EQ(refusal.items[0].code, "exec-writable");
  EXPECT_THAT(refusal.items[0].message, ::testing::HasSubstr("/home/me/p/out/tool-1"));
}

TEST(ExecList, WhatCannotBeStartedIsNotTakenForALibrary) {
  FakeHost host = with_git();
  host.file("/home/me/p/nox", "ELF:/lib64/ld-linux-x86-64.so.2", 1000);
  const plan::Refusal refusal =
      must_refuse(host.plan(PolicyMaker("/home/me/p/run").read("/home/me/p/nox").exec({"/home/me/p/nox"}).policy));
  EXPECT_THAT(refusal.items[0].mend, ::testing::HasSubstr("chmod +x"));
}

TEST(ExecList, ASetIdBitIsSaidNotToCount) {
  FakeHost host = with_git();
  host.at("/usr/bin/git").mode = 04755;
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").exec({"git"}).policy));
  EXPECT_THAT(testing::note_codes(plan), Contains("exec-set-id"));
}

TEST(ExecList, WhatItsLinesStartIsRecordedForTheApproval) {
  FakeHost host = with_git();
  host.program("/usr/local/bin/git", "ELF");
  host.program("/home/me/p/tool", "#!/usr/bin/perl\n", 1000);
  PolicyMaker maker("/home/me/p/run");
  maker.read("/home/me/p/tool").exec({"git", "/home/me/p/tool"});
  const auto recorded = [&](FakeHost on) {
    const plan::Plan plan = must_plan(on.plan(maker.policy));
    return landings(maker.policy, on.facts, plan);
  };
  EXPECT_THAT(recorded(host), ::testing::IsSupersetOf({Landing{"exec: git", "/usr/bin/git"},
                                                       Landing{"exec: /home/me/p/tool", "/home/me/p/tool"},
                                                       Landing{"exec: /home/me/p/tool", "/usr/bin/perl"}}));
  maker.env("PATH", "/usr/local/bin:/usr/bin");
  EXPECT_THAT(recorded(host), Contains(Landing{"exec: git", "/usr/local/bin/git"}));
}

TEST(ExecList, EnvAndWhatItLooksUpComeWithAScript) {
  FakeHost host = with_git();
  host.program("/usr/bin/tool", "#!/usr/bin/env node\n");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").exec({"tool"}).policy));
  EXPECT_THAT(started(plan), ::testing::IsSupersetOf({"/usr/bin/tool", "/usr/bin/env", "/usr/bin/node"}));
}

TEST(ExecList, ANameIsLookedUpOnTheTargetsPathAndNotTheCallers) {
  FakeHost host = with_git();
  host.program("/usr/local/bin/git", "ELF");
  PolicyMaker maker("/home/me/p/run");
  EXPECT_THAT(started(must_plan(host.plan(maker.exec({"git"}).policy))), Contains("/usr/bin/git"));
  FakeHost other = with_git();
  other.program("/usr/local/bin/git", "ELF");
  maker.env("PATH", "/usr/local/bin:/usr/bin");
  EXPECT_THAT(started(must_plan(other.plan(maker.policy))), Contains("/usr/local/bin/git"));
}

TEST(ExecList, ALibraryThatIsLoadedByNameCanBeListed) {
  FakeHost host = with_git();
  host.file("/home/me/p/plugin.so", "ELF", 1000);
  const plan::Plan plan = must_plan(
      host.plan(PolicyMaker("/home/me/p/run").read("/home/me/p/plugin.so").exec({"/home/me/p/plugin.so"}).policy));
  EXPECT_THAT(executable_mounts(plan), Contains("/home/me/p/plugin.so"));
  EXPECT_THAT(started(plan), Not(Contains("/home/me/p/plugin.so")));
}

TEST(ExecList, ALinkThatTheTargetCouldTurnIsRefused) {
  FakeHost host = with_git();
  host.link("/home/me/p/tool", "/usr/bin/git", 1000);
  const plan::Refusal refusal =
      must_refuse(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p").exec({"/home/me/p/tool"}).policy));
  ASSERT_THAT(refusal.items, ::testing::SizeIs(1));
  EXPECT_EQ(refusal.items[0].code, "path-planted");
  EXPECT_THAT(refusal.items[0].mend, ::testing::HasSubstr("/usr/bin/git"));
}

TEST(ExecList, WhatADenyLineHidesIsNotInIt) {
  FakeHost host = with_git();
  const plan::Refusal refusal =
      must_refuse(host.plan(PolicyMaker("/home/me/p/run").deny("/usr/bin/git").exec({"git"}).policy));
  ASSERT_FALSE(refusal.items.empty());
  EXPECT_EQ(refusal.items.back().code, "exec-not-visible");
}

TEST(ExecList, WithoutLandlockTheReportSaysWhatIsNotHeld) {
  FakeHost host = with_git();
  host.facts.landlock_abi = 0;
  host.facts.feature(plan::Feature::kLandlock).state = plan::Availability::kNo;
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").exec({"git"}).policy));
  EXPECT_TRUE(std::ranges::any_of(plan.degradations, [](const plan::Degradation& one) {
    return one.layer == plan::Layer::kExec && one.state == plan::LayerState::kDegraded;
  }));
}

TEST(ExecList, InterpretersInItAreCalledOut) {
  FakeHost host = with_git();
  const policy::Policy policy = PolicyMaker("/home/me/p/run").exec({"python3", "git"}).policy;
  std::vector<std::string> texts;
  for (const Callout& callout : callouts(policy, host.know(policy))) {
    if (callout.code == "exec-interpreter") texts.push_back(callout.text);
  }
  EXPECT_THAT(texts, Contains(::testing::HasSubstr("/usr/bin/python3.11")));
  EXPECT_THAT(texts, Contains(::testing::HasSubstr("/usr/bin/dash"))) << "the entrypoint's own";
  EXPECT_THAT(texts, Not(Contains(::testing::HasSubstr("ld-linux"))));
}

}  // namespace
}  // namespace cordon::planner
