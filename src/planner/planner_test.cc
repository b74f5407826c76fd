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
using testing::FakeHost;
using testing::first;
using ::testing::IsEmpty;
using testing::must_plan;
using ::testing::Not;
using testing::PolicyMaker;
using testing::steps_of;
using testing::with_script;

template <class T>
void ask_once(std::vector<T>& asked, const std::vector<T>& next) {
  for (const T& each : next) EXPECT_THAT(asked, Not(Contains(each)));
  asked.insert(asked.end(), next.begin(), next.end());
}

/// What beginning() says of a policy, once its first questions are answered as this host answers them.
std::vector<plan::Step> beginning_of(FakeHost& host, const policy::Policy& policy) {
  return beginning(policy, host.know(policy));
}

TEST(Beginning, IsWhatThePlanBeginsWith) {
  for (const auto& [uid, with_network] : {std::pair{0U, false}, {1000U, false}, {0U, true}, {1000U, true}}) {
    FakeHost host = with_script("#!/usr/bin/env python3");
    host.facts.uid = uid;
    host.directory("/home/me/p/data", 1000);
    host.directory("/usr/share/there", 0);
    policy::Policy policy = PolicyMaker("/home/me/p/run")
                                .read("/home/me")
                                .read("/usr/share/there")
                                .write("/home/me/p/data")
                                .deny("/home/me/p/.env")
                                .policy;
    if (with_network) policy.network.push_back({"a.example", "443", "", {}});
    const std::vector<plan::Step> begun = beginning_of(host, policy);
    ASSERT_GT(begun.size(), 10U);
    const plan::Plan whole = must_plan(host.plan(policy));
    ASSERT_GT(whole.steps.size(), begun.size());
    EXPECT_TRUE(std::equal(begun.begin(), begun.end(), whole.steps.begin())) << uid;
  }
}

TEST(Beginning, IsNotGuessedWhereAPolicyNamesTheBase) {
  const auto begins = [](auto change) {
    FakeHost host = with_script("#!/usr/bin/env python3");
    PolicyMaker maker("/home/me/p/run");
    change(maker);
    return !beginning_of(host, maker.policy).empty();
  };
  EXPECT_TRUE(begins([](PolicyMaker&) {}));
  EXPECT_FALSE(begins([](PolicyMaker& maker) { maker.read("/"); }));
  EXPECT_FALSE(begins([](PolicyMaker& maker) { maker.read("/etc"); }));
  EXPECT_FALSE(begins([](PolicyMaker& maker) { maker.write("/usr"); }));
  EXPECT_FALSE(begins([](PolicyMaker& maker) { maker.deny("/etc/ssl"); }));
}

TEST(Questions, NothingAnsweredIsAskedAgain) {
  FakeHost host = with_script("#!/usr/bin/env python3");
  host.directory("/home/me/p/a/b/c", 1000);
  const policy::Policy policy = PolicyMaker("/home/me/p/run").read("/").write("/home/me/p/a/b/c").env("TOKEN").policy;
  plan::Questions asked;
  for (int round = 0;; ++round) {
    ASSERT_LT(round, 6) << "too many rounds";
    const plan::Questions next = next_questions(policy, host.facts);
    if (empty(next)) break;
    ask_once(asked.paths, next.paths);
    ask_once(asked.programs, next.programs);
    ask_once(asked.directories, next.directories);
    ask_once(asked.environment, next.environment);
    ask_once(asked.accounts, next.accounts);
    ask_once(asked.texts, next.texts);
    ask_once(asked.links, next.links);
    ask_once(asked.relocations, next.relocations);
    for (const auto& [directory, levels] : next.near_links) {
      EXPECT_TRUE(asked.near_links.emplace(directory, levels).second) << directory;
    }
    for (const auto& [directory, names] : next.names) {
      EXPECT_TRUE(asked.names.emplace(directory, names).second) << directory;
    }
    EXPECT_FALSE(asked.aliases && next.aliases);
    if (next.aliases) asked.aliases = next.aliases;
    host.answer(next);
  }
  EXPECT_THAT(asked.environment, ElementsAre("TOKEN"));
  EXPECT_TRUE(host.facts.children.contains("/"));
}

TEST(Questions, AreTheSameWithAMemoryAndWithout) {
  FakeHost host = with_script("#!/usr/bin/env python3");
  host.directory("/home/me/p/a/b/c", 1000);
  const policy::Policy policy = PolicyMaker("/home/me/p/run").read("/home/me").write("/home/me/p/a/b/c").policy;
  Memory memory;
  for (int round = 0;; ++round) {
    ASSERT_LT(round, 6) << "too many rounds";
    const plan::Questions fresh = next_questions(policy, host.facts);
    const plan::Questions next = next_questions(policy, host.facts, memory);
    EXPECT_EQ(empty(next), empty(fresh)) << "round " << round;
    if (empty(next)) break;
    EXPECT_EQ(next, fresh) << "round " << round;
    host.answer(next);
  }
  EXPECT_TRUE(std::get<plan::Plan>(plan(policy, host.facts, memory)) == std::get<plan::Plan>(plan(policy, host.facts)));
}

TEST(Questions, NamesBelowADirectoryComeInTheOrderOfPaths) {
  FakeHost host = with_script("#!/bin/sh");
  const policy::Policy policy = PolicyMaker("/home/me/p/run").read("/home/me").policy;
  std::size_t names = 0;
  for (int round = 0; round < 6; ++round) {
    const plan::Questions next = next_questions(policy, host.facts);
    for (const auto& [directory, below] : next.names) {
      EXPECT_TRUE(std::ranges::is_sorted(below, path_before)) << directory;
      names += below.size();
    }
    host.answer(next);
  }
  EXPECT_GT(names, 1'000U) << "the corpus";
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
    const auto* link = std::get_if<step::MakeSymlink>(&step.act);
    EXPECT_TRUE(link == nullptr || !shown(link->target)) << link->target;
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
