#include "planner/landlock.h"

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
using ::testing::ElementsAre;
using testing::FakeHost;
using ::testing::IsEmpty;
using testing::must_plan;
using testing::PolicyMaker;
using testing::steps_of;
using testing::with_script;

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

FakeHost with_key(std::size_t others = 0) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/home/me/.ssh/id", "k", 1000);
  host.file("/home/me/.netrc", "k", 1000);
  host.file("/home/me/.config/gh/hosts.yml", "k", 1000);
  host.file("/home/me/.config/app", "x", 1000);
  host.file("/home/me/notes", "x", 1000);
  host.file("/home/me/data/x", "x", 1000);
  for (std::size_t i = 0; i < others; ++i) host.file("/home/me/o" + std::to_string(i), "x", 1000);
  return host;
}

step::Landlock landlock_of(FakeHost& host, const PolicyMaker& maker) {
  return steps_of<step::Landlock>(must_plan(host.plan(maker.policy))).at(0);
}

TEST(Landlock, CredentialsBelowAReadGrantHaveNoRightOfTheirOwn) {
  FakeHost host = with_key();
  const auto landlock = landlock_of(host, PolicyMaker("/home/me/p/run").read("/home/me"));
  for (const char* none : {"/home/me", "/home/me/.ssh", "/home/me/.config", "/home/me/.config/gh"})
    EXPECT_EQ(right_at(landlock, none), 0U) << none;
  for (const char* own : {"/home/me/notes", "/home/me/data", "/home/me/.config/app"})
    EXPECT_EQ(right_at(landlock, own), kReadFile) << own;
  EXPECT_EQ(right_at(landlock, "/home/me/data/x"), 0U) << "given by its directory";
  EXPECT_EQ(right_at(landlock, "/home/me/.netrc"), kReadFile) << "of what stands for it";
  for (const step::LandlockRule& rule : landlock.rules) {
    if (!rule.target.starts_with("/home/me/")) continue;
    const bool masked = rule.target == "/home/me/.netrc";
    EXPECT_EQ(rule.object, masked ? step::RuleFor::kMaskedFile : step::RuleFor::kTargetIfThere) << rule.target;
  }
}

TEST(Landlock, TheMachinesOwnKeysHaveNoRightWhereRootRuns) {
  FakeHost host = with_script("#!/bin/sh", 0);
  const auto root = landlock_of(host, PolicyMaker("/home/me/p/run").read("/etc"));
  EXPECT_EQ(right_at(root, "/etc"), 0U);
  EXPECT_EQ(right_at(root, "/etc/services"), kReadFile);
  FakeHost other = with_script("#!/bin/sh");
  EXPECT_EQ(right_at(landlock_of(other, PolicyMaker("/home/me/p/run").read("/etc")), "/etc"), kReadFile)
      << "a user is kept from them by their permissions";
}

TEST(Landlock, AGrantThatHoldsNoCredentialHasOneRule) {
  FakeHost host = with_key();
  EXPECT_EQ(right_at(landlock_of(host, PolicyMaker("/home/me/p/run").read("/home/me/data")), "/home/me/data"),
            kReadFile);
  FakeHost named = with_key();
  EXPECT_EQ(right_at(landlock_of(named, PolicyMaker("/home/me/p/run").read("/home/me/.ssh")), "/home/me/.ssh"),
            kReadFile);
}

TEST(Landlock, TooManySiblingsAreToldAndLeftToTheMasks) {
  FakeHost host = with_key(2'000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/home/me").policy));
  EXPECT_EQ(right_at(steps_of<step::Landlock>(plan).at(0), "/home/me"), kReadFile);
  EXPECT_THAT(testing::note_codes(plan), ::testing::Contains("landlock-not-split"));
}

TEST(Landlock, NoRuleOpensWhatMayNotAnswer) {
  FakeHost host = with_key();
  host.mount("/home/me/server", "nfs4");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/home/me").policy));
  EXPECT_EQ(right_at(steps_of<step::Landlock>(plan).at(0), "/home/me"), kReadFile);
  EXPECT_THAT(testing::note_codes(plan), ::testing::Contains("landlock-not-split"));
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

}  // namespace
}  // namespace cordon::planner
