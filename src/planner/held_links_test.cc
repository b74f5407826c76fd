#include "planner/held_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "planner/fake_host_test.h"
#include "planner/shields.h"

namespace cordon::planner {
namespace {

namespace step = plan::step;
using ::testing::Contains;
using testing::FakeHost;
using testing::must_plan;
using testing::must_refuse;
using ::testing::Not;
using testing::PolicyMaker;
using testing::steps_of;
using testing::targets;
using testing::with_script;

bool is_held(const plan::Plan& plan, std::string_view target) {
  for (const step::Pin& pin : steps_of<step::Pin>(plan)) {
    if (pin.target == target && pin.read_only) return true;
  }
  const auto bind = testing::bind_at(plan, target);
  return bind && bind->attributes.read_only;
}

FakeHost checkout() {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/p", 1000);
  host.directory("/home/me/p/.git/hooks", 1000);
  host.file("/home/me/p/.git/config", "", 1000);
  host.file("/home/me/p/scripts/pre-commit", "#!/bin/sh", 1000);
  return host;
}

policy::Policy writing(const std::string& path) { return PolicyMaker("/home/me/p/run").write(path).policy; }

TEST(HeldLinks, WhatAHookLeadsToIsHeld) {
  FakeHost host = checkout();
  host.link("/home/me/p/.git/hooks/pre-commit", "../../scripts/pre-commit", 1000);
  const plan::Plan plan = must_plan(host.plan(writing("/home/me/p")));
  EXPECT_TRUE(is_held(plan, "/home/me/p/scripts/pre-commit"));
  EXPECT_THAT(targets<step::Pin>(plan), Contains("/home/me/p/scripts"));
  // The hook itself stands in what is held.
  EXPECT_THAT(targets<step::Pin>(plan), Not(Contains("/home/me/p/.git/hooks/pre-commit")));
}

TEST(HeldLinks, TheLinksOnTheWayAreHeldAndWhatDoesNotExistYet) {
  FakeHost host = checkout();
  host.link("/home/me/p/.git/hooks/pre-commit", "../../next", 1000);
  host.link("/home/me/p/next", "none", 1000);
  const plan::Plan plan = must_plan(host.plan(writing("/home/me/p")));
  EXPECT_THAT(targets<step::Pin>(plan), Contains("/home/me/p/next"));
  EXPECT_THAT(targets<step::HoldPoint>(plan), Contains("/home/me/p/none"));
}

TEST(HeldLinks, OfSettingsOfEditorsAndOfWhereTheConfigurationPutHooks) {
  FakeHost host = checkout();
  host.file("/home/me/p/.git/config", "[core]\nhooksPath = hk\n", 1000);
  host.link("/home/me/p/hk/pre-commit", "../scripts/pre-commit", 1000);
  host.file("/home/me/p/tj", "", 1000);
  host.link("/home/me/p/.vscode/tasks.json", "../tj", 1000);
  const plan::Plan plan = must_plan(host.plan(writing("/home/me/p")));
  EXPECT_TRUE(is_held(plan, "/home/me/p/scripts/pre-commit"));
  EXPECT_TRUE(is_held(plan, "/home/me/p/tj"));
}

TEST(HeldLinks, OfStoresInTheHomeThatLeadIntoDotfiles) {
  for (const char* link : {".config/systemd/user/x", ".config/autostart/x", ".config/fish/conf.d/x", ".vim/plugin/x",
                           ".local/bin/x", ".ssh/config"}) {
    SCOPED_TRACE(link);
    for (const char* place : {"/home/me/dots", "/srv/dots"}) {
      if (std::string_view(link) == ".ssh/config" && std::string_view(place) != "/srv/dots") continue;  // hidden there
      FakeHost host = checkout();
      host.directory(place, 1000);
      host.file(std::string(place) + "/x", "", 1000);
      host.link("/home/me/" + std::string(link), std::string(place) + "/x", 1000);
      EXPECT_TRUE(is_held(must_plan(host.plan(writing(place))), std::string(place) + "/x"));
    }
  }
}

TEST(HeldLinks, OfADirectoryThatALinkLeadsTo) {
  FakeHost host = checkout();
  host.directory("/home/me/dots", 1000);
  host.link("/home/me/.vim/plugin", "../dots/plugin", 1000);
  host.link("/home/me/dots/plugin/a.vim", "../other/a.vim", 1000);
  host.file("/home/me/dots/other/a.vim", "", 1000);
  const plan::Plan plan = must_plan(host.plan(writing("/home/me/dots")));
  EXPECT_TRUE(is_held(plan, "/home/me/dots/plugin"));
  EXPECT_TRUE(is_held(plan, "/home/me/dots/other/a.vim"));
}

TEST(HeldLinks, AGrantThatALinkLeadsToOrIntoIsRefused) {
  FakeHost host = checkout();
  host.directory("/home/me/dots/plug/x", 1000);
  host.link("/home/me/.vim/pack/a/start/plug", "/home/me/dots/plug", 1000);
  host.link("/home/me/.local/bin/dots", "/home/me/dots", 1000);
  for (const char* path : {"/home/me/dots/plug", "/home/me/dots/plug/x"}) {
    EXPECT_EQ(must_refuse(host.plan(writing(path))).items.at(0).code, "write-inside-read-only-shield");
  }
  // A shortcut among programs.
  must_plan(host.plan(writing("/home/me/dots")));
}

TEST(HeldLinks, OnlyAPolicyThatWritesAsks) {
  FakeHost host = checkout();
  host.directory("/home/me/.vim", 1000);
  EXPECT_TRUE(host.know(PolicyMaker("/home/me/p/run").read("/home/me/p").policy).near_links.empty());
  EXPECT_TRUE(host.know(writing("/home/me/p")).near_links.contains("/home/me/.vim"));
}

TEST(HeldLinks, AStoreThatWasNotSearchedWholeRefusesWriting) {
  FakeHost host = checkout();
  host.directory("/home/me/.vim", 1000);
  const policy::Policy policy = writing("/home/me/p");
  host.know(policy);
  host.facts.near_links["/home/me/.vim"] = {
      {.asked = "/home/me/.vim/a", .state = plan::PathState::kFailed, .real = "/home/me/.vim/a"}};
  EXPECT_EQ(must_refuse(planner::plan(policy, host.facts)).items.at(0).code, "shield-cannot-be-held");
}

}  // namespace
}  // namespace cordon::planner
