#include "planner/checkout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

using testing::FakeHost;
using testing::must_plan;
using testing::must_refuse;
using testing::PolicyMaker;
using testing::steps_of;
using testing::with_script;

// An empty one would make git fail: inside, and on the host as long as a mount point stands there.
TEST(Checkout, GitsCommondirIsHeldByAFileThatSaysHere) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/p/.git/hooks", 1000);
  host.directory("/home/me/p", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p").policy));
  bool held = false;
  for (const auto& hold : steps_of<plan::step::HoldPoint>(plan)) {
    const bool says = hold.text == plan::step::StubText::kDot;
    EXPECT_EQ(says, hold.target == "/home/me/p/.git/commondir") << hold.target;
    held = held || says;
  }
  EXPECT_TRUE(held);
}

TEST(Checkout, AGitConfigurationThatNobodyCouldReadRefuses) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/p/.git/hooks", 1000);
  host.file("/home/me/p/.git/config", "[core]", 1000);
  host.directory("/home/me/p", 1000);
  const policy::Policy policy = PolicyMaker("/home/me/p/run").write("/home/me/p").policy;
  must_plan(host.plan(policy));
  host.facts.unread_texts.insert("/home/me/p/.git/config");
  const plan::Refusal refusal = must_refuse(planner::plan(policy, host.facts));
  EXPECT_EQ(refusal.items.at(0).code, "shield-cannot-be-held");
}

}  // namespace
}  // namespace cordon::planner
