#include "planner/git_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

using ::testing::Contains;
using testing::FakeHost;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::must_plan;
using testing::must_refuse;
using ::testing::Not;
using testing::PolicyMaker;
using testing::steps_of;
using testing::with_script;

FakeHost checkout(const std::string& config) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/p", 1000);
  host.directory("/home/me/p/.git/hooks", 1000);
  host.file("/home/me/p/.git/config", config, 1000);
  host.file("/home/me/p/tools/clean", "safe", 1000);
  return host;
}

PolicyMaker writing(const std::string& place) { return PolicyMaker("/home/me/p/run").write(place); }

/// What is read-only, and what is held although it is not there.
std::vector<std::string> held(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const auto& bind : steps_of<plan::step::Bind>(plan)) {
    if (bind.attributes.read_only) out.push_back(bind.target);
  }
  for (const auto& pin : steps_of<plan::step::Pin>(plan)) {
    if (pin.read_only) out.push_back(pin.target);
  }
  for (const auto& hold : steps_of<plan::step::HoldPoint>(plan)) out.push_back(hold.target);
  return out;
}

std::vector<std::string> said(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const plan::Note& note : plan.notes) {
    if (note.code == "git-program") out.push_back(note.text);
  }
  return out;
}

TEST(GitPrograms, AFileThatGitStartsUnaskedIsHeldHoweverItIsNamed) {
  const char* const program = "/home/me/p/tools/clean";
  EXPECT_THAT(held(must_plan(checkout("[core]").plan(writing("/home/me/p").policy))), Not(Contains(program)))
      << "the control";
  for (const char* config :
       {"[core]\nfsmonitor = tools/clean", "[core]\nfsmonitor = /home/me/p/tools/clean",
        "[core]\npager = ~/p/tools/clean", "[filter \"x\"]\nclean = python3 tools/clean %f",
        "[filter \"x\"]\nprocess = sh -c './tools/clean \"$@\"'",
        "[diff \"x\"]\ntextconv = $(git rev-parse --show-toplevel)/tools/clean",
        "[merge \"x\"]\ndriver = ./tools/clean %A", "[credential]\nhelper = !./tools/clean",
        "[credential \"https://a.example\"]\nhelper = /home/me/p/tools/clean", "[gpg \"ssh\"]\nprogram = tools/clean",
        "[pager]\nlog = ./tools/clean", "[submodule \"s\"]\nupdate = !./tools/clean"}) {
    EXPECT_THAT(held(must_plan(checkout(config).plan(writing("/home/me/p").policy))), Contains(program)) << config;
  }
}

TEST(GitPrograms, WhatTheUsersConfigurationOrAnIncludedOneNamesIsHeldAsWell) {
  FakeHost host = checkout("[include]\npath = more");
  host.file("/home/me/p/.git/more", "[core]\neditor = tools/clean", 1000);
  EXPECT_THAT(held(must_plan(host.plan(writing("/home/me/p").policy))), Contains("/home/me/p/tools/clean"));
  FakeHost users = checkout("");
  users.file("/home/me/.gitconfig", "[diff]\nexternal = ~/p/tools/clean", 1000);
  EXPECT_THAT(held(must_plan(users.plan(writing("/home/me/p").policy))), Contains("/home/me/p/tools/clean"));
}

TEST(GitPrograms, OneThatIsNotThereIsNotMade) {
  EXPECT_THAT(
      held(must_plan(checkout("[filter \"x\"]\nclean = python3 tools/absent").plan(writing("/home/me/p").policy))),
      Contains("/home/me/p/tools/absent"));
  EXPECT_THAT(held(must_plan(checkout("[filter \"x\"]\nclean = a/b c/d").plan(writing("/home/me/p").policy))),
              Not(Contains("/home/me/p/c")))
      << "data of a program";
}

TEST(GitPrograms, OneWhoseDirectoryIsMissingIsToldForAllOfThatWouldBeHeld) {
  const plan::Plan plan =
      must_plan(checkout("[merge \"x\"]\ndriver = node_modules/.bin/x %A").plan(writing("/home/me/p").policy));
  EXPECT_THAT(held(plan), Not(Contains("/home/me/p/node_modules")));
  ASSERT_EQ(said(plan).size(), 1U);
  EXPECT_THAT(said(plan)[0], HasSubstr("git on this host runs /home/me/p/node_modules/.bin/x for 'merge.x.driver'"));
}

TEST(GitPrograms, ItsExactNameLiftsItAndIsSaid) {
  const FakeHost host = checkout("[core]\nfsmonitor = tools/clean");
  const policy::Policy lifted = writing("/home/me/p").write("/home/me/p/tools/clean").policy;
  FakeHost one = host;
  const plan::Plan plan = must_plan(one.plan(lifted));
  EXPECT_THAT(held(plan), Not(Contains("/home/me/p/tools/clean")));
  std::string texts;
  for (const plan::Note& note : plan.notes) texts += note.code + note.text;
  EXPECT_THAT(texts, HasSubstr("shield-lifted"));
}

TEST(GitPrograms, AnAliasIsToldAndNotHeld) {
  FakeHost host = checkout("[alias]\nst = !tools/clean\nlog2 = log -p\nmk = !make -C tools");
  const policy::Policy policy = writing("/home/me/p").policy;
  const plan::Plan plan = must_plan(host.plan(policy));
  EXPECT_THAT(held(plan), Not(Contains("/home/me/p/tools/clean")));
  ASSERT_EQ(said(plan).size(), 1U);
  EXPECT_EQ(said(plan)[0],
            "git on this host runs /home/me/p/tools/clean for 'alias.st' (/home/me/p/.git/config says so): the target "
            "may write it");
  std::vector<std::string> codes;
  for (const Callout& callout : callouts(policy, host.facts)) codes.push_back(callout.code);
  EXPECT_THAT(codes, Contains("git-program"));
}

TEST(GitPrograms, WhatLiesOutsideTheGrantIsNoneOfItsBusiness) {
  FakeHost host = checkout("[core]\nfsmonitor = tools/clean\n[alias]\nx = !tools/clean");
  host.directory("/home/me/p/out", 1000);
  const plan::Plan plan = must_plan(host.plan(writing("/home/me/p/out").policy));
  EXPECT_THAT(held(plan), Not(Contains("/home/me/p/tools/clean")));
  EXPECT_THAT(said(plan), IsEmpty());
}

TEST(GitPrograms, ACommandOfMoreWordsThanAreLookedAtRefuses) {
  std::string words;
  for (int i = 0; i < 300; ++i) words += " a/b";
  FakeHost host = checkout("[core]\neditor = x" + words);
  EXPECT_EQ(must_refuse(host.plan(writing("/home/me/p").policy)).items.at(0).code, "shield-cannot-be-held");
}

}  // namespace
}  // namespace cordon::planner
