#include "planner/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeHost;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::must_plan;
using testing::must_refuse;
using testing::Node;
using ::testing::Not;
using testing::PolicyMaker;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::steps_of;
using testing::with_script;

constexpr const char* kSocket = "/run/user/1000/agent";

FakeHost with_agent(std::uint32_t uid = 1000, std::uint32_t owner = 1000) {
  FakeHost host = with_script("#!/bin/sh", uid);
  host.special(kSocket, Node::Kind::kSocket, owner);
  host.environment["SSH_AUTH_SOCK"] = kSocket;
  return host;
}

PolicyMaker signing(const std::string& source = "") {
  PolicyMaker out("/home/me/p/run");
  out.policy.agent.push_back({"ssh", {{"m.yaml", 2, 1, 1}, source}});
  return out;
}

std::vector<std::string> environment_of(const plan::Plan& plan) {
  return steps_of<plan::step::Execute>(plan).at(0).environment;
}

TEST(AgentPlan, ListensInsideAndNamesTheHostsSocketToTheSupervisorAlone) {
  FakeHost host = with_agent();
  const plan::Plan plan = must_plan(host.plan(signing().policy));
  const auto steps = steps_of<plan::step::AgentSocket>(plan);
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_EQ(steps[0].target, "/run/cordon/ssh-agent.sock");
  EXPECT_EQ(steps[0].source, kSocket);
  EXPECT_EQ(steps[0].id, host.resolve(kSocket).id);
  EXPECT_EQ(steps[0].owner, 1000U);
  EXPECT_THAT(environment_of(plan), Contains("SSH_AUTH_SOCK=/run/cordon/ssh-agent.sock"));
  EXPECT_LT(testing::first<plan::step::BuildRoot>(plan), testing::first<plan::step::AgentSocket>(plan));
  EXPECT_LT(testing::first<plan::step::AgentSocket>(plan), testing::first<plan::step::EnterRoot>(plan));
}

TEST(AgentPlan, WithoutTheLineNothingIsAskedOrMade) {
  FakeHost host = with_agent();
  const policy::Policy policy = PolicyMaker("/home/me/p/run").policy;
  EXPECT_EQ(agent_path(policy, host.know(policy)), "");
  const plan::Plan plan = must_plan(host.plan(policy));
  EXPECT_THAT(steps_of<plan::step::AgentSocket>(plan), IsEmpty());
  EXPECT_THAT(environment_of(plan), Not(Contains(StartsWith("SSH_AUTH_SOCK"))));
  EXPECT_FALSE(host.facts.environment.contains("SSH_AUTH_SOCK"));
}

TEST(AgentPlan, TheVariableIsTheRelaysWhateverAnEnvLineSays) {
  FakeHost host = with_agent();
  for (const auto& supplied : {std::optional<std::string>(), std::optional<std::string>("/elsewhere")}) {
    PolicyMaker maker = signing();
    maker.env("SSH_AUTH_SOCK", supplied);
    std::vector<std::string> named = environment_of(must_plan(host.plan(maker.policy)));
    std::erase_if(named, [](const std::string& one) { return !one.starts_with("SSH_AUTH_SOCK="); });
    EXPECT_THAT(named, ElementsAre("SSH_AUTH_SOCK=/run/cordon/ssh-agent.sock"));
  }
}

TEST(AgentPlan, WhereAGrantShowsTheHostsRunTheSocketIsElsewhere) {
  FakeHost host = with_agent();
  host.directory("/run/x");
  const plan::Plan plan = must_plan(host.plan(signing().read("/run").policy));
  EXPECT_EQ(steps_of<plan::step::AgentSocket>(plan).at(0).target, "/.cordon/ssh-agent.sock");
  EXPECT_THAT(environment_of(plan), Contains("SSH_AUTH_SOCK=/.cordon/ssh-agent.sock"));
}

TEST(AgentPlan, ItsOwnSocketIsHiddenBelowAGrant) {
  FakeHost host = with_agent();
  host.special("/srv/agents/mine", Node::Kind::kSocket, 1000);
  host.environment["SSH_AUTH_SOCK"] = "/srv/agents/mine";
  const auto masked = [&](const policy::Policy& policy) {
    std::vector<std::string> out;
    for (const auto& mask : steps_of<plan::step::Mask>(must_plan(host.plan(policy)))) out.push_back(mask.target);
    return out;
  };
  EXPECT_THAT(masked(signing().read("/srv").policy), Contains("/srv/agents/mine"));
  EXPECT_THAT(masked(PolicyMaker("/home/me/p/run").read("/srv").policy), Not(Contains("/srv/agents/mine")))
      << "without the line nobody knows that it is one";
}

TEST(AgentPlan, ALinkOfTheCallersOwnIsFollowedToTheSocket) {
  FakeHost host = with_agent();
  host.link("/home/me/agent", kSocket, 1000);
  host.environment["SSH_AUTH_SOCK"] = "/home/me/agent";
  EXPECT_EQ(steps_of<plan::step::AgentSocket>(must_plan(host.plan(signing().policy))).at(0).source, kSocket);
}

std::string refusal(FakeHost& host, const policy::Policy& policy) {
  const plan::Refusal refused = must_refuse(host.plan(policy));
  EXPECT_THAT(refused.items, SizeIs(1));
  const plan::RefusedItem& item = refused.items.front();
  EXPECT_EQ(item.at.line, 2U);
  EXPECT_TRUE(item.is_grant);
  return item.code + ": " + item.message + "; " + item.mend;
}

TEST(AgentPlan, WithoutAnAgentItIsRefusedAtItsLineWithTheMend) {
  FakeHost host = with_script("#!/bin/sh");
  EXPECT_THAT(refusal(host, signing().policy),
              AllOf(StartsWith("agent-missing: agent: ssh: SSH_AUTH_SOCK is not set"), HasSubstr("remove the line")));
  EXPECT_THAT(refusal(host, signing("--agent").policy), HasSubstr("leave --agent away"));
  const auto with_value = [](const std::string& value) {
    FakeHost out = with_agent();
    out.environment["SSH_AUTH_SOCK"] = value;
    return refusal(out, signing().policy);
  };
  EXPECT_THAT(with_value(""), HasSubstr("is not set"));
  EXPECT_THAT(with_value("agent"), HasSubstr("no absolute path"));
  EXPECT_THAT(with_value("/run/user/1000/none"), HasSubstr("nothing is there"));
  EXPECT_THAT(with_value("/home/me/p/run"), AllOf(StartsWith("agent-foreign"), HasSubstr("is no socket")));
}

TEST(AgentPlan, AnotherUsersAgentIsRefused) {
  FakeHost of_another = with_agent(1000, 2000);
  EXPECT_THAT(refusal(of_another, signing().policy), HasSubstr("belongs to uid 2000"));
  FakeHost of_root = with_agent(1000, 0);
  of_root.at(kSocket).mode = 0777;
  EXPECT_THAT(steps_of<plan::step::AgentSocket>(must_plan(of_root.plan(signing().policy))), SizeIs(1));
}

TEST(AgentPlan, RootAsksItsOwnAgentOrThatOfWhomItRunsAsAndNoThirdOnes) {
  for (const std::uint32_t owner : {0U, 1000U}) {
    FakeHost host = with_agent(0, owner);
    EXPECT_THAT(steps_of<plan::step::AgentSocket>(must_plan(host.plan(signing().policy))), SizeIs(1)) << owner;
  }
  FakeHost third = with_agent(0, 2000);
  EXPECT_THAT(refusal(third, signing().policy), HasSubstr("belongs to uid 2000"));
}

TEST(AgentPlan, WhoeverReviewsItIsToldWhatItMeans) {
  FakeHost host = with_agent();
  const policy::Policy policy = signing().policy;
  const auto all = callouts(policy, host.know(policy));
  const auto found = std::ranges::find(all, "agent", &Callout::code);
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->text, "agent: ssh: the program can sign as you, to any host that it can reach, as long as it runs");
}

}  // namespace
}  // namespace cordon::planner
