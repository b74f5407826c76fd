#include "planner/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <vector>

#include "planner/fake_host_test.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

namespace step = plan::step;
using testing::bind_at;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeHost;
using testing::first;
using ::testing::IsEmpty;
using testing::must_plan;
using testing::must_refuse;
using testing::note_codes;
using testing::PolicyMaker;
using testing::steps_of;
using testing::with_script;

TEST(Identity, AnOrdinaryUserMapsItselfAlone) {
  FakeHost host = with_script("#!/bin/sh");
  const auto enter = steps_of<step::EnterNamespaces>(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy))).at(0);
  EXPECT_THAT(enter.uids, ElementsAre(plan::IdRange{1000, 1000, 1}));
  EXPECT_THAT(enter.gids, ElementsAre(plan::IdRange{1000, 1000, 1}));
  EXPECT_TRUE(enter.deny_setgroups);
  EXPECT_FALSE(enter.set_groups);
  EXPECT_EQ(enter.flags, static_cast<std::uint64_t>(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
                                                    CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET));
}

TEST(Identity, RootOnAnothersDirectoryRunsAsTheOwner) {
  FakeHost host = with_script("#!/bin/sh", 0);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p/new").policy));
  EXPECT_THAT(steps_of<step::RunAs>(plan), ElementsAre(step::RunAs{.uid = 1000, .gid = 1000}));
  const auto enter = steps_of<step::EnterNamespaces>(plan).at(0);
  EXPECT_THAT(enter.uids, ElementsAre(plan::IdRange{0, 0, 0xffffffff}));
  EXPECT_TRUE(enter.set_groups);
  EXPECT_THAT(enter.groups, ElementsAre(1000U, 27U));
  EXPECT_EQ(bind_at(plan, "/home/me/p/new")->create_owner_uid, 1000U);
  EXPECT_THAT(note_codes(plan), Contains("runs-as-owner"));
  EXPECT_LT(first<step::RunAs>(plan), first<step::DropPrivileges>(plan));
}

TEST(Identity, RootKeepsItselfIfAskedOrIfTheDirectoryIsItsOwn) {
  FakeHost host = with_script("#!/bin/sh", 0);
  PolicyMaker kept("/home/me/p/run");
  kept.policy.posture.as_root = true;
  EXPECT_THAT(steps_of<step::RunAs>(must_plan(host.plan(kept.policy))), IsEmpty());
  host.program("/srv/run", "#!/bin/sh\n");
  EXPECT_THAT(steps_of<step::RunAs>(must_plan(host.plan(PolicyMaker("/srv/run").policy))), IsEmpty());
}

FakeHost with_shut_places() {
  FakeHost host = with_script("#!/bin/sh", 0);
  host.directory("/root/priv");
  host.directory("/home/you", 1001, 0700);
  host.directory("/home/you/open", 1001);
  host.directory("/srv/open/deep");
  return host;
}

TEST(Identity, TheOwnersLinksLeadRootNowhereThatTheOwnerCouldNotGo) {
  for (const char* place : {"/root/priv", "/home/you/open", "/root/missing"}) {
    for (const char* key : {"read", "write"}) {
      FakeHost host = with_shut_places();
      host.link("/home/me/p/data", place, 1000);
      PolicyMaker policy("/home/me/p/run");
      const bool reads = std::string_view(key) == "read";
      const auto refusal =
          must_refuse(host.plan((reads ? policy.read("/home/me/p/data") : policy.write("/home/me/p/data")).policy));
      EXPECT_EQ(refusal.items.front().code, "path-planted") << key << " " << place;
      EXPECT_THAT(refusal.items.front().mend, ::testing::HasSubstr(place));
    }
  }
}

TEST(Identity, TheOwnersLinksAreFollowedWhereTheOwnerCouldGoAndRootsOwnAnywhere) {
  FakeHost host = with_shut_places();
  host.link("/home/me/p/data", "/srv/open/deep", 1000);
  host.link("/srv/mine", "/root/priv", 0);
  const plan::Plan plan = must_plan(
      host.plan(PolicyMaker("/home/me/p/run").read("/home/me/p/data").read("/srv/mine").read("/home/you/open").policy));
  EXPECT_TRUE(bind_at(plan, "/srv/open/deep"));
  EXPECT_TRUE(bind_at(plan, "/root/priv"));
  EXPECT_TRUE(bind_at(plan, "/home/you/open")) << "named by root itself";
}

TEST(Identity, AnAccessControlListOnTheWayOfTheOwnersLinkIsDoubt) {
  FakeHost host = with_shut_places();
  host.link("/home/me/p/data", "/srv/open/deep", 1000);
  PolicyMaker policy("/home/me/p/run");
  policy.read("/home/me/p/data");
  host.know(policy.policy);
  host.facts.paths.at("/home/me/p/data").gates = {{"/srv/open", 0, 0, 0755, true}};
  EXPECT_EQ(must_refuse(planner::plan(policy.policy, host.facts)).items.front().code, "path-planted");
}

TEST(Identity, NothingIsMadeWhereTheOwnerCouldNotMakeIt) {
  FakeHost host = with_shut_places();
  host.directory("/etc");
  host.link("/home/me/p/out", "/etc", 1000);
  const auto refusal = must_refuse(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p/out/x").policy));
  EXPECT_EQ(refusal.items.front().code, "write-not-permitted");
  EXPECT_THAT(refusal.items.front().mend, ::testing::HasSubstr("install -d -o 1000 /etc/x"));
  FakeHost own = with_shut_places();
  EXPECT_TRUE(
      bind_at(must_plan(own.plan(PolicyMaker("/home/me/p/run").write("/home/me/p/out/x").policy)), "/home/me/p/out/x"));
}

TEST(Identity, RootOfANamespaceMapsOnlyTheIdsThatItHas) {
  FakeHost host = with_script("#!/bin/sh", 0);
  host.facts.uid_spans = {{.first = 0, .count = 500}, {.first = 600, .count = 10}};
  host.facts.gid_spans = {{.first = 0, .count = 500}};
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_THAT(steps_of<step::EnterNamespaces>(plan).at(0).uids,
              ElementsAre(plan::IdRange{0, 0, 500}, plan::IdRange{600, 600, 10}));
  EXPECT_THAT(steps_of<step::RunAs>(plan), IsEmpty()) << "uid 1000 is no id here";
}

TEST(Identity, AWriteGrantThatTheTargetCannotUseIsSaid) {
  FakeHost host = with_script("#!/bin/sh", 0);
  host.directory("/srv/w", 0, 0755);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/srv/w").policy));
  EXPECT_THAT(note_codes(plan), Contains("write-may-fail"));
}

TEST(Identity, TheTargetMayHoldAsManyDescriptorsAsTheCaller) {
  FakeHost host = with_script("#!/bin/sh");
  const policy::Policy policy = PolicyMaker("/home/me/p/run").policy;
  const step::ResourceLimit callers{.resource = RLIMIT_NOFILE, .soft = 1024, .hard = 4096};
  EXPECT_THAT(steps_of<step::ResourceLimit>(must_plan(host.plan(policy))), ::testing::Not(Contains(callers)));
  host.facts.descriptor_limit = plan::DescriptorLimit{.soft = 1024, .hard = 4096};
  EXPECT_THAT(steps_of<step::ResourceLimit>(must_plan(host.plan(policy))), Contains(callers));
}

}  // namespace
}  // namespace cordon::planner
