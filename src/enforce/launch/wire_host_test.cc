// The wire format of the landlock engine's plans: its steps come through, and no plan mixes the engines or does without
// what holds it.
#include <gtest/gtest.h>
#include <linux/filter.h>

#include <cstddef>
#include <string>

#include "enforce/launch/encode.h"
#include "plan/wire_compare.h"

namespace cordon::enforce::launch {
namespace {

namespace wire = plan::wire;
namespace step = plan::step;
using wire::Fault;
using wire::Op;

const plan::FileId kDirectoryId{.device = 66, .inode = 77, .type = S_IFDIR, .has_birth_time = true, .birth_ns = 5};

plan::Plan on_host() {
  plan::Plan plan;
  plan.engine = plan::Engine::kLandlock;
  plan.timeout_ms = 7'000;
  const auto add = [&](step::Any act) { plan.steps.push_back({.act = std::move(act), .reason = "a test"}); };
  add(step::StartWarden{.groups = {4, 24}, .set_groups = true});
  add(step::Grant{.source = "/home/u/new/deep",
                  .id = kDirectoryId,
                  .access = 12,
                  .create = {"new", "deep"},
                  .create_owner_uid = 1000,
                  .create_owner_gid = 1001});
  add(step::PrivateDirectory{
      .parent = "/tmp", .id = kDirectoryId, .name = "cordon-1", .access = 14, .owner_uid = 1000, .owner_gid = 1001});
  add(step::RunAs{.uid = 1000, .gid = 1001});
  add(step::DropPrivileges{});
  add(step::Landlock{.handled_access = 15, .scoped = 3, .handled_network = 3, .abi = 7, .rules = {{"/usr", 4}}});
  add(step::Filter{.name = wire::kSystemCalls, .program = std::vector<std::uint8_t>(sizeof(sock_filter), 6)});
  add(step::Execute{.path = "/usr/bin/env", .argv = {"env"}, .environment = {"A=1"}, .working_directory = "/"});
  return plan;
}

Fault fault_of(const plan::Plan& plan) {
  const auto bytes = encode(plan);
  const auto view = wire::View::decode(bytes);
  EXPECT_FALSE(view.has_value());
  return view ? Fault::kSize : view.error().fault;
}

template <class Act>
Act& act(plan::Plan& plan) {
  for (plan::Step& step : plan.steps)
    if (auto* found = std::get_if<Act>(&step.act)) return *found;
  std::abort();
}

template <class Act>
plan::Plan without() {
  plan::Plan plan = on_host();
  std::erase_if(plan.steps, [](const plan::Step& step) { return std::holds_alternative<Act>(step.act); });
  return plan;
}

TEST(WireOfTheLandlockEngine, ItsStepsComeThrough) {
  const auto bytes = encode(on_host());
  const auto view = wire::View::decode(bytes);
  ASSERT_TRUE(view) << wire::fault_name(view.error().fault);
  const wire::Record warden = view->record(0);
  EXPECT_EQ(warden.op, Op::kStartWarden);
  EXPECT_EQ(warden.args[1], 7'000U);
  EXPECT_EQ(view->bytes(warden.refs[2]).size(), 2 * sizeof(gid_t));
  const wire::Record grant = view->record(1);
  EXPECT_EQ(grant.op, Op::kGrant);
  EXPECT_EQ(std::string(view->string(grant.refs[1])), "/home/u/new/deep");
  EXPECT_EQ(view->list(grant.refs[2]).count(), 2U);
  EXPECT_EQ(grant.args[6], 12U);
  const wire::Record own = view->record(2);
  EXPECT_EQ(std::string(view->string(own.refs[0])), "/tmp/cordon-1");
  EXPECT_EQ(std::string(view->string(own.refs[1])), "/tmp");
  EXPECT_EQ(own.args[4], 1000U);
  EXPECT_EQ(view->record(5).args[3], 3U) << "what of the network Landlock handles";
}

TEST(WireOfTheLandlockEngine, ItsOpeningIsTheWarden) {
  const auto opening = encode(step::Any(step::StartWarden{.groups = {4, 24}, .set_groups = true}));
  const auto view = wire::View::decode(opening, wire::Extent::kOpening);
  ASSERT_TRUE(view);
  const auto bytes = encode(on_host());
  EXPECT_TRUE(wire::same_opening(*view, *wire::View::decode(bytes)));
  const auto other = encode(step::Any(step::StartWarden{}));
  EXPECT_FALSE(wire::same_opening(*wire::View::decode(other, wire::Extent::kOpening), *wire::View::decode(bytes)));
}

TEST(WireOfTheLandlockEngine, NothingThatHoldsItMayBeMissing) {
  EXPECT_EQ(fault_of(without<step::Landlock>()), Fault::kOrder);
  EXPECT_EQ(fault_of(without<step::Filter>()), Fault::kOrder);
  EXPECT_EQ(fault_of(without<step::DropPrivileges>()), Fault::kOrder);
  EXPECT_EQ(fault_of(without<step::Execute>()), Fault::kOrder);
  EXPECT_EQ(fault_of(without<step::StartWarden>()), Fault::kOrder);
}

TEST(WireOfTheLandlockEngine, NoPlanMixesTheEngines) {
  for (const step::Any& of_the_other :
       {step::Any(step::BuildRoot{}), step::Any(step::EnterRoot{}), step::Any(step::MountProc{}),
        step::Any(step::Mask{.target = "/a"}), step::Any(step::EnterNamespaces{})}) {
    plan::Plan plan = on_host();
    plan.steps.insert(plan.steps.begin() + 1, {.act = of_the_other, .reason = "a test"});
    EXPECT_EQ(fault_of(plan), Fault::kOrder) << plan::step_name(of_the_other);
  }
}

TEST(WireOfTheLandlockEngine, APrivateDirectoryLiesDirectlyInItsParent) {
  plan::Plan deep = on_host();
  act<step::PrivateDirectory>(deep).name = "a/b";
  EXPECT_EQ(fault_of(deep), Fault::kValue);
  plan::Plan up = on_host();
  act<step::PrivateDirectory>(up).name = "..";
  EXPECT_EQ(fault_of(up), Fault::kPath);
  plan::Plan file = on_host();
  act<step::PrivateDirectory>(file).id.type = S_IFREG;
  EXPECT_EQ(fault_of(file), Fault::kValue);
}

TEST(WireOfTheLandlockEngine, WhatAGrantMakesIsTheEndOfItsPath) {
  plan::Plan plan = on_host();
  act<step::Grant>(plan).create = {"other", "deep"};
  EXPECT_EQ(fault_of(plan), Fault::kValue);
}

}  // namespace
}  // namespace cordon::enforce::launch
