#include "planner/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::FakeHost;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::must_plan;
using testing::must_refuse;
using ::testing::Not;
using testing::PolicyMaker;
using testing::with_script;
namespace step = plan::step;

PolicyMaker limited() {
  PolicyMaker maker("/home/me/p/run");
  policy::Limits& limits = maker.policy.limits;
  limits.memory = "512M";
  limits.memory_bytes = 512ULL << 20U;
  limits.memory_at = {{"m.yaml", 2, 18, 4}, ""};
  limits.cpu = "150%";
  limits.cpu_hundredths = 150'00;
  limits.cpu_at = {{"m.yaml", 3, 1, 1}, ""};
  limits.pids = 64;
  limits.pids_at = {{"m.yaml", 4, 1, 1}, ""};
  return maker;
}

std::vector<step::Cgroup> groups_of(const plan::Plan& plan) {
  std::vector<step::Cgroup> out;
  for (const plan::Step& one : plan.steps)
    if (const auto* group = std::get_if<step::Cgroup>(&one.act)) out.push_back(*group);
  return out;
}

TEST(Limits, AreOneStepThatNamesTheLinesThatAsked) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(limited().policy));
  ASSERT_EQ(groups_of(plan).size(), 1U);
  EXPECT_EQ(groups_of(plan)[0],
            (step::Cgroup{
                .way = plan::CgroupWay::kScope, .memory_bytes = 512ULL << 20U, .cpu_hundredths = 150'00, .pids = 64}));
  for (const plan::Step& one : plan.steps) {
    if (!std::holds_alternative<step::Cgroup>(one.act)) continue;
    EXPECT_EQ(one.reason, "limits.memory: 512M, limits.cpu: 150%, limits.pids: 64");
    EXPECT_EQ(one.at.line, 2U);
    EXPECT_EQ(one.layer, plan::Layer::kLimits);
  }
  EXPECT_THAT(plan.requested, Contains(plan::Layer::kLimits));
}

TEST(Limits, NobodyIsAskedAndNothingIsMadeWithoutThem) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_THAT(groups_of(plan), IsEmpty());
  EXPECT_FALSE(host.facts.limits.has_value());
  EXPECT_THAT(plan.requested, Not(Contains(plan::Layer::kLimits)));
}

TEST(Limits, EachThatTheHostDoesNotHoldIsRefusedAtItsLineAlsoWithoutStrict) {
  FakeHost host = with_script("#!/bin/sh");
  host.limits = {
      .way = plan::CgroupWay::kScope, .memory = true, .cause = "cpu is not delegated", .mend = "delegate it"};
  const plan::Refusal refusal = must_refuse(host.plan(limited().policy));
  ASSERT_EQ(refusal.items.size(), 2U);
  EXPECT_THAT(refusal.items[0].message,
              AllOf(HasSubstr("cannot limit CPU time to 150% (limits.cpu)"), HasSubstr("cpu is not")));
  EXPECT_EQ(refusal.items[0].code, "limit-not-held");
  EXPECT_EQ(refusal.items[0].mend,
            "delegate it; limits.timeout holds everywhere, and --allow-degraded runs without the limit");
  EXPECT_EQ(refusal.items[1].message, "this host cannot limit the number of processes to 64 (limits.pids) either");
  EXPECT_EQ(refusal.items[1].mend, "") << "the same, and said once";
  EXPECT_EQ(refusal.items[0].at.line, 3U);
  EXPECT_EQ(refusal.items[0].layer, plan::Layer::kLimits);
  EXPECT_EQ(refusal.items[1].at.line, 4U);
}

TEST(Limits, AllowDegradedHoldsWhatCanBeHeldAndNamesTheRest) {
  FakeHost host = with_script("#!/bin/sh");
  host.limits = {
      .way = plan::CgroupWay::kDirect, .memory = true, .cause = "cpu is not delegated", .mend = "delegate it"};
  PolicyMaker maker = limited();
  maker.policy.posture.allow_degraded = true;
  plan::Plan plan = must_plan(host.plan(maker.policy));
  ASSERT_EQ(groups_of(plan).size(), 1U);
  EXPECT_EQ(groups_of(plan)[0], (step::Cgroup{.way = plan::CgroupWay::kDirect, .memory_bytes = 512ULL << 20U}));
  ASSERT_EQ(plan.degradations.size(), 2U);
  EXPECT_EQ(plan.degradations[0].layer, plan::Layer::kLimits);
  EXPECT_THAT(plan.degradations[0].what, HasSubstr("limits.cpu"));
  FakeHost none = with_script("#!/bin/sh");
  none.limits = {.cause = "cgroup v1"};
  plan = must_plan(none.plan(maker.policy));
  EXPECT_THAT(groups_of(plan), IsEmpty());
  EXPECT_EQ(plan.degradations.size(), 3U);
}

TEST(Limits, WhatNothingCouldStartInIsRefusedAsAMistake) {
  FakeHost host = with_script("#!/bin/sh");
  PolicyMaker maker = limited();
  policy::Limits& limits = maker.policy.limits;
  limits.memory_bytes = (4ULL << 20U) - 1;
  limits.cpu_hundredths = 9;
  limits.pids = 1;
  const plan::Refusal refusal = must_refuse(host.plan(maker.policy));
  ASSERT_EQ(refusal.items.size(), 3U);
  for (const plan::RefusedItem& item : refusal.items) EXPECT_EQ(item.code, "limit-too-small");
  EXPECT_EQ(refusal.items[0].mend, "limits: {memory: 4M} or more");
  limits.memory_at = {{}, "--memory"};
  EXPECT_EQ(must_refuse(host.plan(maker.policy)).items[0].mend, "--memory 4M or more");
  limits.memory_bytes = 4ULL << 20U;
  limits.cpu_hundredths = 10;
  limits.pids = 2;
  EXPECT_EQ(groups_of(must_plan(host.plan(maker.policy))).size(), 1U);
}

}  // namespace
}  // namespace cordon::planner
