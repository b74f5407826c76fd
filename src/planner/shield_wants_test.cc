// What is held below a write grant, and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/fake_host_test.h"
#include "planner/shields.h"

namespace cordon::planner {
namespace {

namespace step = plan::step;
using testing::bind_at;
using ::testing::Contains;
using testing::FakeHost;
using testing::has_mask;
using testing::has_pin;
using testing::must_plan;
using testing::Node;
using ::testing::Not;
using testing::note_codes;
using testing::PolicyMaker;
using testing::steps_of;
using testing::with_script;

bool is_held(const plan::Plan& plan, std::string_view target) {
  for (const step::Pin& pin : steps_of<step::Pin>(plan)) {
    if (pin.target == target && pin.read_only) return true;
  }
  const auto bind = bind_at(plan, target);
  return bind && bind->attributes.read_only;
}

std::string note_of(const plan::Plan& plan, std::string_view code) {
  for (const plan::Note& note : plan.notes)
    if (note.code == code) return note.text;
  return {};
}

TEST(Shields, WhatIsHiddenOrReadOnlyIsNamedAndWhatIsNotThereIsCounted) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/.ssh", 1000);
  host.directory("/home/me/.gnupg", 1000);
  host.directory("/home/me/p/.vscode", 1000);
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/home/me").write("/home/me/p").policy));
  EXPECT_EQ(note_of(plan, "shields-hidden"), "hidden below what is granted: /home/me/.gnupg, /home/me/.ssh");
  EXPECT_EQ(note_of(plan, "shields-read-only"), "read-only below what is granted: /home/me/p/.vscode");
  EXPECT_THAT(note_codes(plan), Contains("shields-absent"));
}

TEST(Shields, OfManyThatAreHiddenTheFirstAreNamedAndTheOthersCounted) {
  FakeHost host = with_script("#!/bin/sh");
  for (const char* store : {".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".electrum",
                            ".minisign", ".mozilla"})
    host.directory(std::string("/home/me/") + store, 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/home/me").policy));
  EXPECT_THAT(note_of(plan, "shields-hidden"), ::testing::EndsWith(" and 2 more (cordon inspect lists them)"));
  EXPECT_EQ(note_of(plan, "shields-read-only") + note_of(plan, "shields-absent"), "");
}

TEST(Shields, RunningServicesAreNotShownByAGrantOfTheRoot) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/run/secret", "x");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/").policy));
  EXPECT_FALSE(bind_at(plan, "/run"));
}

TEST(Shields, OneSocketOfRunningServicesIsShownByItsNameBesideTheRoot) {
  FakeHost host = with_script("#!/bin/sh");
  host.special("/run/docker.sock", Node::Kind::kSocket);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/").read("/run/docker.sock").policy));
  EXPECT_FALSE(bind_at(plan, "/run"));
  EXPECT_TRUE(bind_at(plan, "/run/docker.sock"));
}

TEST(Shields, AsRootEveryHomeIsShielded) {
  FakeHost host = with_script("#!/bin/sh", 0);
  host.facts.account_homes = {"/home/me", "/home/you", "/root", "/usr/sbin", "/nonexistent"};
  host.directory("/home/you/.ssh", 1001);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/home").policy));
  EXPECT_TRUE(has_mask(plan, "/home/you/.ssh"));
}

TEST(Shields, EveryDirectoryOnTheWayToOneBelowAWriteGrantIsPinned) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/p", 1000);
  host.directory("/home/me/p/.git/hooks", 1000);
  host.file("/home/me/p/.git/modules/sub/config", "", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p").policy));
  for (const char* pinned : {"/home/me/p/.git", "/home/me/p/.git/modules", "/home/me/p/.git/modules/sub"}) {
    EXPECT_TRUE(has_pin(plan, pinned)) << pinned;
  }
  EXPECT_TRUE(is_held(plan, "/home/me/p/.git/modules/sub/config"));
}

std::vector<std::string> held_points(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const step::HoldPoint& hold : steps_of<step::HoldPoint>(plan)) out.push_back(hold.target);
  return out;
}

TEST(Shields, WhatDoesNotExistYetIsHeldByItsFirstMissingName) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/out", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/out").policy));
  EXPECT_THAT(held_points(plan), ::testing::IsSupersetOf({"/home/me/out/.git", "/home/me/out/.vscode"}));
}

TEST(Shields, InsideARepositoryNoGitDirectoryIsHeld) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/p/.git", 1000);
  host.directory("/home/me/p/out", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p/out").policy));
  EXPECT_THAT(held_points(plan), Not(Contains("/home/me/p/out/.git")));
}

TEST(Shields, WhereAnOverlayCanBeMountedNothingIsMadeOnTheHost) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/out", 1000);
  host.directory("/home/me/.local/state/cordon/work", 1000);
  host.facts.work_place = "/home/me/.local/state/cordon/work";
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/out").policy));
  EXPECT_TRUE(steps_of<step::HoldPoint>(plan).empty());
  const auto overlays = steps_of<step::StubOverlay>(plan);
  ASSERT_EQ(overlays.size(), 1U);
  EXPECT_EQ(overlays[0].target, "/home/me/out");
  EXPECT_FALSE(bind_at(plan, "/home/me/out"));
  EXPECT_THAT(overlays[0].stubs, Contains(::testing::Field(&step::Stub::path, ".git")));
}

TEST(Shields, AReadGrantHoldsNothingThatDoesNotExist) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/home/me").policy));
  EXPECT_TRUE(steps_of<step::HoldPoint>(plan).empty());
}

TEST(Shields, ALiftedOneIsCalledOut) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/.ssh", 1000);
  const policy::Policy policy = PolicyMaker("/home/me/p/run").read("/home/me/.ssh").policy;
  EXPECT_THAT(note_codes(must_plan(host.plan(policy))), Contains("shield-lifted"));
  std::vector<std::string> codes;
  for (const Callout& callout : callouts(policy, host.facts)) codes.push_back(callout.code);
  EXPECT_THAT(codes, Contains("shield-lifted"));
}

TEST(Shields, TheHooksOfAWorktreeAreHeldWhereTheyReallyAre) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/w", 1000);
  host.directory("/home/me/w/main/.git/hooks", 1000);
  host.file("/home/me/w/main/.git/config", "", 1000);
  host.file("/home/me/w/main/.git/worktrees/t/commondir", "../..\n", 1000);
  host.file("/home/me/w/t/.git", "gitdir: /home/me/w/main/.git/worktrees/t\n", 1000);
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/w/t").write("/home/me/w/main").policy));
  EXPECT_TRUE(is_held(plan, "/home/me/w/t/.git"));
  EXPECT_TRUE(is_held(plan, "/home/me/w/main/.git/hooks"));
  EXPECT_TRUE(is_held(plan, "/home/me/w/main/.git/worktrees/t/commondir"));
}

TEST(Shields, HooksThatTheConfigurationPutElsewhereAreHeldThere) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/p", 1000);
  host.directory("/home/me/p/.githooks", 1000);
  host.file("/home/me/p/.git/config", "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../more\n", 1000);
  host.file("/home/me/p/more", "", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p").policy));
  EXPECT_TRUE(is_held(plan, "/home/me/p/.githooks"));
  EXPECT_TRUE(is_held(plan, "/home/me/p/more"));
}

FakeHost checkout_that_says(const std::string& config) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/p", 1000);
  host.directory("/home/me/p/.git/hooks", 1000);
  host.file("/home/me/p/.git/config", config, 1000);
  host.directory("/home/me/p/hk", 1000);
  host.file("/home/me/p/inc", "", 1000);
  return host;
}

policy::Policy writing_the_checkout() { return PolicyMaker("/home/me/p/run").write("/home/me/p").policy; }

TEST(Shields, GitsConfigurationIsReadAsGitReadsIt) {
  for (const char* config :
       {"\xef\xbb\xbf[core]\nhooksPath=hk\n", "[core]\nhooksPath=hk\n[core \"x\"]\nhooksPath=/no\n",
        "[core]\nhooksPath = h\\\nk\n", "[core]\nhooksPath = \"h\"k ; c\n", "[core]\nhooksPath = ~/p/hk\n",
        "[core]\nhooksPath = ~me/p/hk\n", "[core]\nhooksPath = ../p/hk\n", "[core]\nx y\nhooksPath = hk\n"}) {
    EXPECT_TRUE(is_held(must_plan(checkout_that_says(config).plan(writing_the_checkout())), "/home/me/p/hk")) << config;
  }
  for (const char* config :
       {"[includeIf \"onbranch:*[m]*\"] path = ../inc\n", "[include]\npath = \"..\\u002finc\"\n[include]\npath=../inc",
        "[include]\r\n\tpath = ../inc\r\n"}) {
    EXPECT_TRUE(is_held(must_plan(checkout_that_says(config).plan(writing_the_checkout())), "/home/me/p/inc"))
        << config;
  }
}

TEST(Shields, AConfigurationThatLeadsWhereNobodyCanTellRefuses) {
  std::string many;
  for (int i = 0; i < 70; ++i) many += "[include]\npath = ../inc" + std::to_string(i) + "\n";
  for (const std::string& config :
       {std::string("[core]\nhooksPath = link/../hk\n"), std::string("[core]\nhooksPath = hk/../hk\n"),
        std::string("[include]\npath = ~nobody/inc\n"), many}) {
    FakeHost host = checkout_that_says(config);
    host.directory("/home/me/p/a/b", 1000);
    host.link("/home/me/p/link", "a/b", 1000);
    for (int i = 0; i < 70; ++i) host.file("/home/me/p/inc" + std::to_string(i), "", 1000);
    EXPECT_EQ(testing::must_refuse(host.plan(writing_the_checkout())).items.at(0).code, "shield-cannot-be-held")
        << config;
  }
  FakeHost whole = checkout_that_says("[core]\nhooksPath = .\n");
  EXPECT_EQ(testing::must_refuse(whole.plan(writing_the_checkout())).items.at(0).code, "write-inside-read-only-shield");
}

TEST(Shields, TheUsersOwnGitConfigurationCountsInEachCheckout) {
  for (const char* file : {"/home/me/.gitconfig", "/home/me/.config/git/config", "/etc/gitconfig"}) {
    FakeHost host = checkout_that_says("");
    host.file(file, "[core]\nhooksPath = hk\n[include]\npath = /home/me/p/inc\n",
              std::string_view(file) == "/etc/gitconfig" ? 0 : 1000);
    const plan::Plan plan = must_plan(host.plan(writing_the_checkout()));
    EXPECT_TRUE(is_held(plan, "/home/me/p/hk")) << file;
    EXPECT_TRUE(is_held(plan, "/home/me/p/inc")) << file;
  }
}

TEST(Shields, AWorktreeBelowTheCheckoutGoesOnBelongingToIt) {
  FakeHost host = checkout_that_says("[core]\nhooksPath = hk\n");
  host.file("/home/me/p/.git/worktrees/wt/gitdir", "/home/me/p/wt/.git\n", 1000);
  host.file("/home/me/p/.git/worktrees/wt/commondir", "../..\n", 1000);
  host.file("/home/me/p/wt/.git", "gitdir: /home/me/p/.git/worktrees/wt\n", 1000);
  host.directory("/home/me/p/wt/hk", 1000);
  const plan::Plan plan = must_plan(host.plan(writing_the_checkout()));
  EXPECT_TRUE(is_held(plan, "/home/me/p/wt/.git"));
  EXPECT_TRUE(is_held(plan, "/home/me/p/wt/hk"));
}

TEST(Shields, ASubmoduleWhoseRepositoryStandsInPlaceIsHeld) {
  FakeHost host = checkout_that_says("");
  host.file("/home/me/p/.gitmodules", "[submodule \"s\"]\n\tpath = lib/s\n\turl = ./s\n", 1000);
  host.directory("/home/me/p/lib/s/.git/hooks", 1000);
  host.file("/home/me/p/lib/s/.git/config", "", 1000);
  const plan::Plan plan = must_plan(host.plan(writing_the_checkout()));
  EXPECT_TRUE(is_held(plan, "/home/me/p/lib/s/.git/hooks"));
  EXPECT_TRUE(is_held(plan, "/home/me/p/lib/s/.git/config"));
}

}  // namespace
}  // namespace cordon::planner
