#include "planner/own_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/fake_host_test.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using testing::bind_at;
using ::testing::Contains;
using testing::FakeHost;
using testing::has_pin;
using ::testing::HasSubstr;
using testing::must_plan;
using testing::must_refuse;
using testing::PolicyMaker;
using testing::steps_of;
using testing::targets;
using testing::with_script;

class OwnPlaces : public ::testing::Test {
 protected:
  OwnPlaces() {
    host.program("/home/me/.local/bin/cordon", "ELF", 1000);
    host.directory("/home/me/.local/libexec/cordon", 1000);
    host.directory("/home/me/.cache/cordon", 1000, 0700);
    host.facts.own_places = {{"/home/me/.local/bin/cordon", "Cordon's own program"},
                             {"/home/me/.local/libexec/cordon", "where Cordon looks for its launcher"},
                             {"/home/me/.cache/cordon", "Cordon's cache"},
                             {"/home/me/.config/cordon", "Cordon's configuration"}};
  }
  plan::RefusedItem refused(const char* write) {
    return must_refuse(host.plan(PolicyMaker("/home/me/p/run").write(write).policy)).items.front();
  }
  /// By itself, or with a shield that it lies in: the innermost mount decides.
  static bool is_read_only(const plan::Plan& plan, std::string_view place) {
    for (std::string_view at = place; at != "/"; at = parent_of(at)) {
      for (const auto& pin : steps_of<plan::step::Pin>(plan)) {
        if (pin.target == at && pin.read_only) return true;
      }
      if (const auto bind = bind_at(plan, at)) return bind->attributes.read_only;
    }
    return false;
  }
  FakeHost host = with_script("#!/bin/sh");
};

TEST_F(OwnPlaces, BelowAWriteGrantAreReadOnly) {
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/.local").write("/home/me/.cache").policy));
  for (const char* place : {"/home/me/.local/bin/cordon", "/home/me/.local/libexec/cordon", "/home/me/.cache/cordon"}) {
    EXPECT_TRUE(is_read_only(plan, place)) << place;
  }
  EXPECT_TRUE(has_pin(plan, "/home/me/.local/libexec")) << "or it is exchanged with all that is in it";
  EXPECT_TRUE(has_pin(plan, "/home/me/.local/bin"));
}

TEST_F(OwnPlaces, AreNoGrant) {
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p").policy));
  EXPECT_FALSE(bind_at(plan, "/home/me/.cache/cordon"));
}

TEST_F(OwnPlaces, CannotBeGrantedForWritingNorAnythingInThem) {
  host.directory("/home/me/.cache/cordon/in", 1000);
  for (const char* write : {"/home/me/.cache/cordon", "/home/me/.cache/cordon/in", "/home/me/.cache/cordon/new",
                            "/home/me/.local/bin/cordon"}) {
    EXPECT_EQ(refused(write).code, "grant-managed") << write;
    EXPECT_THAT(refused(write).message, HasSubstr("Cordon's")) << write;
  }
}

TEST_F(OwnPlaces, ThatDoNotExistCannotBeLeftToTheTargetToMake) {
  host.directory("/home/me/opt", 1000);
  host.facts.own_places.push_back({"/home/me/opt/cordon", "Cordon's own program"});
  EXPECT_THAT(refused("/home/me/opt").message, HasSubstr("the target could make it"));
  host.directory("/home/me/opt/cordon", 1000);
  host.facts.paths.clear();
  EXPECT_TRUE(is_read_only(must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/opt").policy)),
                           "/home/me/opt/cordon"));
}

TEST_F(OwnPlaces, ThatDoNotExistAreHeldWhereTheyAreShields) {
  host.directory("/home/me/.config", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/.config").policy));
  EXPECT_THAT(targets<plan::step::HoldPoint>(plan), Contains("/home/me/.config/cordon"));
}

TEST_F(OwnPlaces, ReachedThroughALinkThatTheTargetCouldExchangeRefuse) {
  host.link("/home/me/p/state", "/home/me/.cache/cordon", 1000);
  host.facts.own_places.push_back({"/home/me/p/state", "Cordon's state"});
  EXPECT_THAT(refused("/home/me/p").message, HasSubstr("through a link"));
}

TEST_F(OwnPlaces, ThatCouldBeLockedAreNotReadEither) {
  host.directory("/home/me/.local/state/cordon/holds", 1000, 0700);
  host.facts.own_places.push_back({"/home/me/.local/state/cordon/holds", "the journal", true});
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/home/me").policy));
  EXPECT_THAT(targets<plan::step::Mask>(plan), Contains("/home/me/.local/state/cordon"));
  host.facts.paths.clear();
  const PolicyMaker named = PolicyMaker("/home/me/p/run").read("/home/me/.local/state/cordon/holds");
  EXPECT_THAT(must_refuse(host.plan(named.policy)).items.front().message, HasSubstr("the journal"));
}

}  // namespace
}  // namespace cordon::planner
