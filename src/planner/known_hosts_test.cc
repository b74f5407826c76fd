#include "planner/known_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeHost;
using ::testing::IsEmpty;
using testing::must_plan;
using testing::PolicyMaker;
using testing::with_script;

policy::Policy reaching(const std::string& host, const std::string& port) {
  policy::Policy policy = PolicyMaker("/home/me/p/run").policy;
  policy.network.push_back({host, port, "", {{"m.yaml", 2, 1, 1}, ""}});
  return policy;
}

const plan::step::MakeFile* known_hosts_of(const plan::Plan& plan) {
  for (const plan::Step& step : plan.steps) {
    const auto* file = std::get_if<plan::step::MakeFile>(&step.act);
    if (file != nullptr && file->target == kKnownHostsFile) return file;
  }
  return nullptr;
}

bool may_read(const plan::Plan& plan) {
  for (const plan::Step& step : plan.steps) {
    const auto* landlock = std::get_if<plan::step::Landlock>(&step.act);
    if (landlock != nullptr)
      return std::ranges::find(landlock->rules, kKnownHostsFile, &plan::step::LandlockRule::target) !=
             landlock->rules.end();
  }
  return false;
}

TEST(KnownHosts, OfTheSystemAndTheCallerAreSuppliedForGrantedHosts) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/etc/ssh/ssh_known_hosts", "a.example ssh-ed25519 AAAA\n");
  host.file("/home/me/.ssh/known_hosts", "a.example,b.example ssh-rsa BBBB me@here\nb.example ssh-rsa CCCC\n", 1000,
            0600);
  const plan::Plan plan = must_plan(host.plan(reaching("a.example", "22")));
  const auto* file = known_hosts_of(plan);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->content, "a.example ssh-ed25519 AAAA\na.example ssh-rsa BBBB\n");
  EXPECT_EQ(file->mode, 0444U);
  EXPECT_TRUE(may_read(plan));
}

TEST(KnownHosts, AreNotEvenReadWhereNoRuleIsAboutSsh) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/home/me/.ssh/known_hosts", "a.example ssh-rsa BBBB\n", 1000, 0600);
  EXPECT_THAT(known_hosts_questions(reaching("a.example", "443"), host.facts), IsEmpty());
  const plan::Plan plan = must_plan(host.plan(reaching("a.example", "443")));
  EXPECT_EQ(known_hosts_of(plan), nullptr);
  EXPECT_FALSE(may_read(plan));
  EXPECT_THAT(known_hosts_questions(reaching("a.example", "*"), host.facts), Contains("/home/me/.ssh/known_hosts"));
}

TEST(KnownHosts, ThatSayNothingOfAGrantedHostMakeNoFile) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/home/me/.ssh/known_hosts", "b.example ssh-rsa BBBB\n", 1000, 0600);
  EXPECT_EQ(known_hosts_of(must_plan(host.plan(reaching("a.example", "22")))), nullptr);
}

}  // namespace
}  // namespace cordon::planner
