#include "planner/landings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

using ::testing::ElementsAre;
using testing::FakeHost;
using ::testing::IsEmpty;
using testing::must_plan;
using testing::PolicyMaker;
using testing::with_script;

std::vector<Landing> landings_of(FakeHost& host, const policy::Policy& policy) {
  const plan::Plan plan = must_plan(host.plan(policy));
  return landings(policy, host.facts, plan);
}

TEST(Landings, OfAPolicyThatSaysItAllAreNone) {
  FakeHost host = with_script("#!/usr/bin/python3");
  host.directory("/home/me/p/data", 1000);
  EXPECT_THAT(landings_of(host, PolicyMaker("/home/me/p/run").read("/home/me/p/data").policy), IsEmpty())
      << "the system's interpreter is in the base";
}

TEST(Landings, AreThePlacesThatLinksLeadTo) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/private", 1000);
  host.link("/home/me/p/data", "../private", 1000);
  host.link("/home/me/p/gone", "../nothing", 1000);
  EXPECT_THAT(landings_of(host, PolicyMaker("/home/me/p/run").read("/home/me/p/data").read("/home/me/p/gone").policy),
              ElementsAre(Landing{"read: /home/me/p/data", "/home/me/private"},
                          Landing{"read: /home/me/p/gone", "/home/me/nothing"}))
      << "what is not there may be there the next time";
}

TEST(Landings, AreTheProgramAndTheFilesThatItBrings) {
  FakeHost host = with_script("#!/opt/tool/bin/run");
  host.program("/opt/tool/bin/run", "ELF:/opt/tool/lib/ld-linux.so.2");
  host.file("/opt/tool/lib/ld-linux.so.2", "ELF", 0, 0755);
  EXPECT_THAT(landings_of(host, PolicyMaker("/home/me/p/run").policy),
              ElementsAre(Landing{"interpreter", "/opt/tool"}));
}

}  // namespace
}  // namespace cordon::planner
