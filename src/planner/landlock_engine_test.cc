#include "planner/landlock_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "plan/not_held.h"
#include "planner/fake_host_test.h"
#include "planner/landlock_rights.h"

namespace cordon::planner {
namespace {

using ::testing::Contains;
using testing::FakeHost;
using ::testing::HasSubstr;
using testing::must_plan;
using testing::must_refuse;
using ::testing::Not;
using testing::PolicyMaker;
using testing::steps_of;

FakeHost host_with(int abi = 7, std::uint32_t uid = 1000) {
  FakeHost host = FakeHost::debian(uid);
  host.program("/home/me/p/run.sh", "#!/bin/sh\necho\n", 1000);
  host.directory("/tmp", 0, 01777);
  host.facts.landlock_abi = abi;
  host.facts.feature(plan::Feature::kLandlock).state = plan::Availability::kYes;
  host.facts.private_name = "cordon-7";
  return host;
}

PolicyMaker on_landlock() {
  PolicyMaker maker("/home/me/p/run.sh");
  maker.policy.posture.engine = policy::EngineChoice::kLandlock;
  return maker;
}

const plan::step::Grant* grant_of(const plan::Plan& plan, std::string_view source) {
  for (const plan::Step& step : plan.steps) {
    const auto* grant = std::get_if<plan::step::Grant>(&step.act);
    if (grant != nullptr && grant->source == source) return grant;
  }
  return nullptr;
}

std::uint64_t rule_of(const plan::Plan& plan, std::string_view target) {
  const auto landlock = steps_of<plan::step::Landlock>(plan);
  for (const auto& rule : landlock.at(0).rules)
    if (rule.target == target) return rule.access;
  return 0;
}

std::set<std::string> codes(const plan::Plan& plan) {
  std::set<std::string> out;
  for (const plan::Degradation& one : plan.degradations) out.insert(one.code);
  return out;
}

std::string says(const plan::Refusal& refusal) {
  std::string out;
  for (const plan::RefusedItem& item : refusal.items) out += item.code + ": " + item.message + "\n";
  return out;
}

TEST(LandlockEngine, ItsPlanHasNoNamespaceAndNoMount) {
  FakeHost host = host_with();
  const plan::Plan plan = must_plan(host.plan(on_landlock().policy));
  EXPECT_EQ(plan.engine, plan::Engine::kLandlock);
  EXPECT_TRUE(std::holds_alternative<plan::step::StartWarden>(plan.steps.front().act));
  for (const plan::Step& step : plan.steps) {
    const std::string_view name = plan::step_name(step.act);
    EXPECT_THAT((std::set<std::string_view>{"start-warden", "grant", "private-directory", "resource-limit", "run-as",
                                            "drop-privileges", "landlock", "filter", "execute"}),
                Contains(name));
  }
  EXPECT_TRUE(plan.serves_attributes);
}

TEST(LandlockEngine, AutoIsPlannedForNamespaces) {
  FakeHost host = host_with();
  PolicyMaker maker = on_landlock();
  maker.policy.posture.engine = policy::EngineChoice::kAuto;
  EXPECT_EQ(must_plan(host.plan(maker.policy)).engine, plan::Engine::kNamespace);
}

TEST(LandlockEngine, GrantsCarryTheRightsOfTheirLines) {
  FakeHost host = host_with();
  host.directory("/home/me/data", 1000);
  host.directory("/home/me/out", 1000);
  host.file("/home/me/one.txt", "x", 1000);
  PolicyMaker maker = on_landlock();
  maker.read("/home/me/data").write("/home/me/out").write("/home/me/one.txt");
  const plan::Plan plan = must_plan(host.plan(maker.policy));
  ASSERT_NE(grant_of(plan, "/home/me/data"), nullptr);
  EXPECT_EQ(grant_of(plan, "/home/me/data")->access, kReadFile | kReadDir);
  ASSERT_NE(grant_of(plan, "/home/me/out"), nullptr);
  EXPECT_EQ(grant_of(plan, "/home/me/out")->access & (kWriteFile | kMakeReg | kReadDir),
            kWriteFile | kMakeReg | kReadDir);
  EXPECT_EQ(grant_of(plan, "/home/me/out")->access & (kExecute | kMakeChar | kMakeBlock), 0U);
  ASSERT_NE(grant_of(plan, "/home/me/one.txt"), nullptr);
  EXPECT_EQ(grant_of(plan, "/home/me/one.txt")->access & ~kFileRights, 0U) << "of a file";
  EXPECT_EQ(steps_of<plan::step::Landlock>(plan).at(0).handled_network, 3U);
  EXPECT_EQ(rule_of(plan, "/proc"), kReadFile | kReadDir) << "uid 0 must not write what is the machine's";
}

TEST(LandlockEngine, UnderExecNoneOnlyTheProgramExecutes) {
  FakeHost host = host_with();
  const plan::Plan plan = must_plan(host.plan(on_landlock().policy));
  for (const auto& grant : steps_of<plan::step::Grant>(plan)) EXPECT_EQ(grant.access & kExecute, 0U) << grant.source;
  EXPECT_NE(rule_of(plan, testing::execute_of(plan).path) & kExecute, 0U);
  FakeHost open = host_with();
  PolicyMaker all = on_landlock();
  all.exec(policy::ExecMode::kAll);
  const plan::Plan runs_all = must_plan(open.plan(all.policy));
  ASSERT_NE(grant_of(runs_all, "/usr"), nullptr);
  EXPECT_NE(grant_of(runs_all, "/usr")->access & kExecute, 0U) << "the control";
}

TEST(LandlockEngine, HomeAndTemporaryFilesAreTheRunsOwn) {
  FakeHost host = host_with();
  const plan::Plan plan = must_plan(host.plan(on_landlock().policy));
  const auto& environment = testing::execute_of(plan).environment;
  EXPECT_THAT(environment, Contains("HOME=/tmp/cordon-7/home"));
  EXPECT_THAT(environment, Contains("TMPDIR=/tmp/cordon-7/tmp"));
  FakeHost again = host_with();
  again.environment["HOME"] = "/home/me";
  PolicyMaker maker = on_landlock();
  maker.env("HOME");
  EXPECT_THAT(testing::execute_of(must_plan(again.plan(maker.policy))).environment, Contains("HOME=/home/me"));
}

TEST(LandlockEngine, WhatIsHiddenInAReadGrantIsLeftOutSiblingBySibling) {
  FakeHost host = host_with();
  host.directory("/home/me/.ssh", 1000, 0700);
  host.file("/home/me/.ssh/id_rsa", "key", 1000, 0600);
  host.directory("/home/me/docs", 1000);
  host.directory("/home/me/docs/secret", 1000);
  host.directory("/home/me/docs/open", 1000);
  PolicyMaker maker = on_landlock();
  maker.read("/home/me").deny("/home/me/docs/secret");
  const plan::Plan plan = must_plan(host.plan(maker.policy));
  EXPECT_EQ(grant_of(plan, "/home/me"), nullptr);
  EXPECT_EQ(rule_of(plan, "/home/me"), 0U);
  EXPECT_EQ(rule_of(plan, "/home/me/docs"), 0U) << "its right would reach what is denied in it";
  EXPECT_EQ(rule_of(plan, "/home/me/docs/secret"), 0U);
  EXPECT_EQ(rule_of(plan, "/home/me/.ssh"), 0U);
  EXPECT_EQ(rule_of(plan, "/home/me/docs/open"), kReadFile | kReadDir);
  EXPECT_EQ(rule_of(plan, "/home/me/p"), kReadFile | kReadDir);
}

TEST(LandlockEngine, TooManySiblingsRefuse) {
  FakeHost host = host_with();
  host.directory("/home/me/big/secret", 1000);
  for (int i = 0; i < 1'100; ++i) host.directory("/home/me/big/d" + std::to_string(i), 1000);
  PolicyMaker maker = on_landlock();
  maker.read("/home/me/big").deny("/home/me/big/secret");
  EXPECT_THAT(says(must_refuse(host.plan(maker.policy))), HasSubstr("hidden-in-read"));
}

TEST(LandlockEngine, WhatIsHeldInAWriteGrantRefusesWithItsLine) {
  FakeHost host = host_with();
  host.directory("/home/me/w/.git/hooks", 1000);
  host.directory("/home/me/w/out", 1000);
  PolicyMaker maker = on_landlock();
  maker.write("/home/me/w");
  const plan::Refusal refusal = must_refuse(host.plan(maker.policy));
  EXPECT_EQ(refusal.items.front().code, "engine-cannot-hold");
  EXPECT_EQ(refusal.items.front().at.line, 2U);
  EXPECT_THAT(refusal.items.front().message, HasSubstr("held-in-write"));
  FakeHost narrow = host_with();
  narrow.directory("/home/me/w/out", 1000);
  PolicyMaker narrower = on_landlock();
  narrower.write("/home/me/w/out");
  EXPECT_THAT(codes(must_plan(narrow.plan(narrower.policy))), Contains("absent-names")) << "the control";
}

TEST(LandlockEngine, AReadOnlyLineInAWriteGrantAndADeniedOneRefuse) {
  for (const bool denies : {false, true}) {
    FakeHost host = host_with();
    host.directory("/home/me/w/in", 1000);
    PolicyMaker maker = on_landlock();
    maker.write("/home/me/w");
    denies ? maker.deny("/home/me/w/in") : maker.read("/home/me/w/in");
    EXPECT_THAT(says(must_refuse(host.plan(maker.policy))), HasSubstr("held-in-write"));
  }
}

TEST(LandlockEngine, ANameThatLiesDeeperThanTheReportLooksRefuses) {
  FakeHost host = host_with();
  host.directory("/home/me/.config", 1000);
  PolicyMaker maker = on_landlock();
  maker.write("/home/me/.config");
  EXPECT_THAT(says(must_refuse(host.plan(maker.policy))), HasSubstr("held-in-write"));
}

TEST(LandlockEngine, WhatNeedsANetworkOrASizeOrStrictnessRefusesByName) {
  const auto refused = [](const std::function<void(policy::Policy&)>& change) {
    FakeHost host = host_with();
    PolicyMaker maker = on_landlock();
    change(maker.policy);
    return says(must_refuse(host.plan(maker.policy)));
  };
  EXPECT_THAT(refused([](policy::Policy& p) { p.network.push_back({.host = "a.example", .port = "443"}); }),
              HasSubstr("(network)"));
  EXPECT_THAT(refused([](policy::Policy& p) { p.publish.push_back({.value = "8080"}); }), HasSubstr("(network)"));
  EXPECT_THAT(refused([](policy::Policy& p) { p.host_services.push_back({.value = "5432"}); }), HasSubstr("(network)"));
  EXPECT_THAT(refused([](policy::Policy& p) { p.limits.tmp_bytes = 1; }), HasSubstr("(tmp-size)"));
  EXPECT_THAT(refused([](policy::Policy& p) { p.posture.strict = true; }), HasSubstr("--strict"));
  EXPECT_THAT(refused([](policy::Policy& p) { p.posture.home = policy::HomeShown::kEmpty; }),
              HasSubstr("(empty-home)"));
}

TEST(LandlockEngine, AnExecListRefusesUnlessAccepted) {
  FakeHost host = host_with();
  PolicyMaker maker = on_landlock();
  maker.exec(std::vector<std::string>{"/bin/sh"});
  EXPECT_THAT(says(must_refuse(host.plan(maker.policy))), HasSubstr("(loader-starts)"));
  FakeHost again = host_with();
  maker.policy.posture.allow_degraded = true;
  EXPECT_THAT(codes(must_plan(again.plan(maker.policy))), Contains("loader-starts"));
}

TEST(LandlockEngine, OldLandlockAndMissingFiltersRefuse) {
  FakeHost old = host_with(2);
  EXPECT_THAT(says(must_refuse(old.plan(on_landlock().policy))), HasSubstr("needs Landlock ABI 3"));
  FakeHost bare = host_with();
  bare.facts.feature(plan::Feature::kSeccompFilter) = {plan::Availability::kNo, 22, "seccomp", "", ""};
  EXPECT_THAT(says(must_refuse(bare.plan(on_landlock().policy))), HasSubstr("filters of system calls"));
}

TEST(LandlockEngine, NeedsNoNamespaceAndNoProcMount) {
  FakeHost host = host_with();
  for (const auto feature : {plan::Feature::kUserNamespace, plan::Feature::kProcMount, plan::Feature::kMountApi})
    host.facts.feature(feature) = {plan::Availability::kNo, 1, "clone", "", ""};
  EXPECT_EQ(must_plan(host.plan(on_landlock().policy)).engine, plan::Engine::kLandlock);
}

TEST(LandlockEngine, WhereSignalsAreNotScopedNoneCanBeSentAndThatIsSaid) {
  FakeHost host = host_with(5);
  EXPECT_THAT(codes(must_plan(host.plan(on_landlock().policy))), Contains("no-signals"));
  FakeHost scoped = host_with(6);
  EXPECT_THAT(codes(must_plan(scoped.plan(on_landlock().policy))), Not(Contains("no-signals")));
}

TEST(LandlockEngine, EveryRunCarriesWhatIsNeverHeld) {
  FakeHost host = host_with();
  const std::set<std::string> carried = codes(must_plan(host.plan(on_landlock().policy)));
  std::set<std::string_view> names;
  for (const plan::NotHeld& one : plan::not_held()) {
    EXPECT_TRUE(names.insert(one.code).second) << one.code << " is there twice";
    const bool of_a_user = one.code == "bounding-set";
    EXPECT_EQ(carried.contains(std::string(one.code)), one.missing == plan::Missing::kAlways || of_a_user) << one.code;
  }
}

TEST(LandlockEngine, RootRunsTheTargetAsTheOwner) {
  FakeHost host = host_with(7, 0);
  host.account("me", 1000, "/home/me", {1000, 27});
  const plan::Plan plan = must_plan(host.plan(on_landlock().policy));
  const auto own = steps_of<plan::step::PrivateDirectory>(plan).at(0);
  EXPECT_EQ(own.owner_uid, 1000U);
  EXPECT_EQ(steps_of<plan::step::RunAs>(plan).at(0).uid, 1000U);
  EXPECT_TRUE(steps_of<plan::step::StartWarden>(plan).at(0).set_groups);
}

}  // namespace
}  // namespace cordon::planner
