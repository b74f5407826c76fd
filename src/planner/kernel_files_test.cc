#include "planner/kernel_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

using testing::bind_at;
using ::testing::Contains;
using testing::FakeHost;
using testing::has_mask;
using testing::has_pin;
using ::testing::HasSubstr;
using testing::must_plan;
using testing::must_refuse;
using testing::Node;
using ::testing::Not;
using testing::note_codes;
using testing::PolicyMaker;
using testing::with_script;

PolicyMaker policy() { return PolicyMaker("/home/me/p/run"); }

TEST(KernelFiles, BelowAWriteGrantAreHiddenAndNamed) {
  for (const char* type :
       {"proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "configfs", "efivarfs", "pstore",
        "bpf", "devtmpfs", "devpts", "mqueue", "fusectl", "binfmt_misc", "rpc_pipefs", "selinuxfs", "hugetlbfs"}) {
    FakeHost host = with_script("#!/bin/sh", 0);
    host.directory("/srv/c");
    host.mount("/srv/c/deep/k", type);
    const plan::Plan plan = must_plan(host.plan(policy().write("/srv/c").policy));
    EXPECT_TRUE(has_mask(plan, "/srv/c/deep/k")) << type;
    EXPECT_TRUE(has_pin(plan, "/srv/c/deep")) << "or it is renamed away";
    ASSERT_THAT(note_codes(plan), Contains("kernel-files-hidden")) << type;
  }
}

TEST(KernelFiles, BelowAReadGrantTheRootAndTheBaseAreHiddenToo) {
  FakeHost host = with_script("#!/bin/sh");
  host.mount("/srv/c/proc", "proc");
  host.mount("/usr/share/k", "sysfs");
  EXPECT_TRUE(has_mask(must_plan(host.plan(policy().read("/srv").policy)), "/srv/c/proc"));
  const plan::Plan whole = must_plan(host.plan(policy().read("/").policy));
  EXPECT_TRUE(has_mask(whole, "/srv/c/proc"));
  EXPECT_TRUE(has_mask(whole, "/usr/share/k"));
  const plan::Plan none = must_plan(host.plan(policy().policy));
  EXPECT_TRUE(has_mask(none, "/usr/share/k")) << "the base";
  EXPECT_FALSE(has_mask(none, "/srv/c/proc")) << "nothing shows it";
}

TEST(KernelFiles, OrdinaryFileSystemsBelowAGrantAreShown) {
  FakeHost host = with_script("#!/bin/sh");
  for (const char* type : {"ext4", "tmpfs", "overlay", "nfs4", "fuse.sshfs"})
    host.mount("/srv/" + std::string(type), type);
  const plan::Plan plan = must_plan(host.plan(policy().read("/srv").policy));
  EXPECT_FALSE(has_mask(plan, "/srv/ext4"));
  EXPECT_THAT(note_codes(plan), Not(Contains("kernel-files-hidden")));
}

TEST(KernelFiles, ThatAreAFileAreHiddenAsOne) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/srv/netns/blue", "namespace");
  host.facts.mounts->push_back({.point = "/srv/netns/blue", .type = "nsfs"});
  const plan::Plan plan = must_plan(host.plan(policy().read("/srv").policy));
  const auto masks = testing::steps_of<plan::step::Mask>(plan);
  EXPECT_THAT(masks, Contains(plan::step::Mask{.target = "/srv/netns/blue", .directory = false}));
}

TEST(KernelFiles, ThatAreMountedOnDemandAreHiddenWithoutALook) {
  FakeHost host = with_script("#!/bin/sh");
  host.mount("/srv/net", "autofs");
  EXPECT_TRUE(has_mask(must_plan(host.plan(policy().read("/srv").policy)), "/srv/net"));
  EXPECT_FALSE(host.facts.paths.contains("/srv/net")) << "a look would mount it";
}

TEST(KernelFiles, CannotBeGrantedNorAnythingInThem) {
  for (const char* path : {"/srv/k", "/srv/k/below", "/srv/k/on/top", "/srv/k/missing"}) {
    FakeHost host = with_script("#!/bin/sh");
    host.mount("/srv/k", "cgroup2");
    host.directory("/srv/k/below", 1000, 0777);
    host.mount("/srv/k/on/top", "tmpfs").mode = 0777;
    const plan::Refusal refusal = must_refuse(host.plan(policy().write(path).policy));
    EXPECT_EQ(refusal.items.front().code, "grant-managed") << path;
    EXPECT_THAT(refusal.items.front().message, HasSubstr("cgroup2"));
  }
}

TEST(KernelFiles, ThatALineHidesAnywayRefuseNothing) {
  FakeHost host = with_script("#!/bin/sh");
  host.mount("/srv/k/proc", "proc");
  EXPECT_TRUE(has_mask(must_plan(host.plan(policy().read("/srv").deny("/srv/k/proc").policy)), "/srv/k/proc"));
}

TEST(KernelFiles, OfSeveralMountsOnOnePlaceTheOneOnTopCounts) {
  FakeHost host = with_script("#!/bin/sh");
  host.mount("/srv/k", "tmpfs");  // what it covers is not told by the host
  EXPECT_FALSE(has_mask(must_plan(host.plan(policy().read("/srv").policy)), "/srv/k"));
}

TEST(KernelFiles, HideWhatIsMountedInThem) {
  FakeHost host = with_script("#!/bin/sh");
  host.mount("/srv/k", "proc");
  host.mount("/srv/k/sys/fs/b", "binfmt_misc");
  const plan::Plan plan = must_plan(host.plan(policy().read("/srv").policy));
  EXPECT_TRUE(has_mask(plan, "/srv/k"));
  EXPECT_FALSE(has_mask(plan, "/srv/k/sys/fs/b"));
}

TEST(KernelFiles, AnInterpreterInThemIsRefused) {
  FakeHost host = with_script("#!/srv/k/sh");
  host.mount("/srv/k", "configfs");
  host.program("/srv/k/sh", "ELF");
  EXPECT_EQ(must_refuse(host.plan(policy().policy)).items.front().code, "grant-managed");
}

TEST(KernelFiles, WithoutAMountTableNothingIsPlanned) {
  FakeHost host = with_script("#!/bin/sh");
  host.know(policy().policy);
  host.facts.mounts.reset();
  EXPECT_THAT(must_refuse(planner::plan(policy().policy, host.facts)).items.front().message, HasSubstr("mountinfo"));
}

}  // namespace
}  // namespace cordon::planner
