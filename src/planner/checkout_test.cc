#include "planner/checkout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using testing::FakeHost;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using testing::must_plan;
using testing::must_refuse;
using ::testing::Not;
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

// The host's git makes config.lock, writes to it, renames it over config: who had it open has config open. A mount
// point there would keep the host's git from its own configuration.
TEST(Checkout, GitsLockOfItsConfigurationIsHeldWhereTheHostDoesNotSeeIt) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/p/.git/hooks", 1000);
  host.file("/home/me/p/.git/config", "[core]", 1000);
  host.directory("/home/me/p", 1000);
  const policy::Policy policy = PolicyMaker("/home/me/p/run").write("/home/me/p").policy;
  for (const auto& hold : steps_of<plan::step::HoldPoint>(must_plan(host.plan(policy)))) {
    EXPECT_THAT(hold.target, Not(EndsWith(".lock"))) << "on the host";
  }
  EXPECT_THAT(testing::note_codes(must_plan(host.plan(policy))), Contains("lock-not-held"));
  host.directory("/home/me/work", 1000);
  host.facts.work_place = "/home/me/work";
  const plan::Plan plan = must_plan(host.plan(policy));
  EXPECT_THAT(testing::note_codes(plan), Not(Contains("lock-not-held")));
  const auto overlays = steps_of<plan::step::StubOverlay>(plan);
  ASSERT_EQ(overlays.size(), 1U);
  std::vector<std::string> files;
  for (const plan::step::Stub& stub : overlays[0].stubs) {
    if (!stub.directory) files.push_back(stub.path);
  }
  EXPECT_THAT(files, IsSupersetOf({".git/config.lock", ".git/config.worktree.lock"}));
}

FakeHost checkout() {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/p", 1000);
  host.directory("/home/me/p/.git/hooks", 1000);
  host.file("/home/me/p/.git/config", "", 1000);
  return host;
}

policy::Policy writing(const std::string& place) { return PolicyMaker("/home/me/p/run").write(place).policy; }

std::vector<std::string> held_points(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const auto& hold : steps_of<plan::step::HoldPoint>(plan)) out.push_back(hold.target);
  return out;
}

// An output in a checkout: what stands there is held, and what does not is no obstacle to those who empty it.
TEST(Checkout, InAGrantInsideItWhatStandsIsHeldAndNothingElse) {
  FakeHost host = checkout();
  host.directory("/home/me/p/sub/.vscode", 1000);
  host.file("/home/me/p/sub/.mcp.json", "{}", 1000);
  host.directory("/home/me/p/sub", 1000);
  const plan::Plan plan = must_plan(host.plan(writing("/home/me/p/sub")));
  std::vector<std::string> pinned;
  for (const auto& pin : steps_of<plan::step::Pin>(plan)) {
    if (pin.read_only) pinned.push_back(pin.target);
  }
  EXPECT_THAT(pinned, IsSupersetOf({"/home/me/p/sub/.vscode", "/home/me/p/sub/.mcp.json"}));
  EXPECT_THAT(held_points(plan), IsEmpty());
  // Editors' settings are lifted by their exact name, as anywhere.
  const policy::Policy lifted =
      PolicyMaker("/home/me/p/run").write("/home/me/p/sub").write("/home/me/p/sub/.vscode").policy;
  must_plan(host.plan(lifted));
  EXPECT_EQ(
      must_refuse(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p/sub/.mcp.json").policy)).items.at(0).code,
      "write-inside-read-only-shield");
}

// The target spoils .git/HEAD; git goes on looking and takes the checkout itself for a repository.
TEST(Checkout, IsMadeNoRepositoryOfAnotherKind) {
  EXPECT_THAT(held_points(must_plan(checkout().plan(writing("/home/me/p")))),
              IsSupersetOf({"/home/me/p/refs", "/home/me/p/commondir"}));
  FakeHost host = checkout();
  host.directory("/home/me/p/refs", 1000);
  const auto held = held_points(must_plan(host.plan(writing("/home/me/p"))));
  EXPECT_THAT(held, Contains("/home/me/p/objects"));
  EXPECT_THAT(held, Not(Contains("/home/me/p/refs")));
}

TEST(Checkout, ASubmoduleThatWasNotFetchedGetsNoRepository) {
  const auto make = [] {
    FakeHost host = checkout();
    host.file("/home/me/p/.gitmodules", "[submodule \"a/b\"]\npath = lib/s\n[submodule \"..\"]\npath = gone\n", 1000);
    host.directory("/home/me/p/lib/s", 1000);
    return host;
  };
  FakeHost host = make();
  EXPECT_THAT(held_points(must_plan(host.plan(writing("/home/me/p")))),
              IsSupersetOf({"/home/me/p/.git/modules", "/home/me/p/lib/s/.git"}));
  FakeHost other = make();
  other.directory("/home/me/p/.git/modules/a", 1000);
  const auto held = held_points(must_plan(other.plan(writing("/home/me/p"))));
  EXPECT_THAT(held, Contains("/home/me/p/.git/modules/a/b"));
  EXPECT_THAT(held, Not(Contains("/home/me/p/gone")));
}

// Git goes on to use what is made there later.
TEST(Checkout, AGitDirectoryThatIsNotThereIsNotMade) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/p", 1000);
  host.file("/home/me/p/.git", "gitdir: gone/git\n", 1000);
  EXPECT_THAT(held_points(must_plan(host.plan(writing("/home/me/p")))), Contains("/home/me/p/gone"));
}

TEST(Checkout, AGitFileThatLeadsWhereNobodyCanTellRefuses) {
  for (const char* text : {"gitdir: link/../g\n", "gitdir: g/../g\n", "gitdir: g \n", "gitdir: g\nmore"}) {
    FakeHost host = with_script("#!/bin/sh");
    host.directory("/home/me/p/a/b", 1000);
    host.directory("/home/me/p/g/hooks", 1000);
    host.directory("/home/me/p", 1000);
    host.link("/home/me/p/link", "a/b", 1000);
    host.file("/home/me/p/.git", text, 1000);
    const plan::Refusal refusal = must_refuse(host.plan(writing("/home/me/p")));
    EXPECT_EQ(refusal.items.at(0).code, "shield-cannot-be-held") << text;
    EXPECT_THAT(refusal.items.at(0).message, HasSubstr("/home/me/p/.git")) << text;
  }
}

TEST(Checkout, MoreSubmodulesThanAreFollowedRefuse) {
  FakeHost host = checkout();
  std::string list;
  for (int i = 0; i < 2'000; ++i)
    list += "[submodule \"s" + std::to_string(i) + "\"]\npath = s" + std::to_string(i) + "\n";
  host.file("/home/me/p/.gitmodules", list, 1000);
  const plan::Refusal refusal = must_refuse(host.plan(writing("/home/me/p")));
  EXPECT_THAT(refusal.items.at(0).message, HasSubstr("more submodules than are followed"));
}

}  // namespace
}  // namespace cordon::planner
