// Promise: nothing in /proc opens for writing but the target's own files, and what tells of the host is masked. As root
// this is a takeover otherwise: uid 0 without a single capability may write core_pattern.

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::Each;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

CORDON_PROMISE(Proc);

TEST_P(Proc, NothingOpensForWritingButTheTargetsOwnFiles) {
  const Finished inside = scene.acts({"show-writable=/proc"});
  EXPECT_THAT(lines(inside, "writable "), IsEmpty()) << inside;
  const auto looked_at = lines(inside, "looked-at ");
  ASSERT_FALSE(looked_at.empty()) << inside;
  EXPECT_GT(std::stoi(looked_at[0]), 20) << "the walk must have seen something";
}

TEST_P(Proc, TheTargetsOwnFilesStillOpen) { allowed_inside({"open-write=/proc/self/comm", "read=/proc/self/status"}); }

TEST_P(Proc, TheSwitchesOfTheHostAreClosed) {
  const std::vector<std::string> acts{"open-write=/proc/sys/kernel/core_pattern", "open-write=/proc/sysrq-trigger",
                                      "open-write=/proc/sys/vm/drop_caches", "open-write=/proc/sys/kernel/hostname"};
  const Finished inside = scene.acts(acts);
  for (const auto& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act;
  if (!GetParam().is_root()) return;
  const Finished outside = scene.acts_bare(acts);
  for (const auto& act : acts) {  // a kernel may have been built without one of them
    EXPECT_THAT(verdict(outside, act), testing::AnyOf("ALLOWED", "DENIED ENOENT")) << "the control, bare: " << act;
  }
  EXPECT_EQ(verdict(outside, acts[0]), "ALLOWED");
}

TEST_P(Proc, MemoryKeysAndTimersOfTheHostAreMasked) {
  const std::vector<std::string> acts{"show-file=/proc/kcore", "show-file=/proc/keys", "show-file=/proc/timer_list",
                                      "show-list=/proc/scsi", "show-list=/proc/acpi"};
  const Finished inside = scene.acts(acts);
  EXPECT_THAT(lines(inside, "| "), IsEmpty()) << inside;
  EXPECT_THAT(lines(inside, "entry "), IsEmpty()) << inside;
  const Finished outside = scene.acts_bare({"show-file=/proc/keys"});
  EXPECT_EQ(verdict(outside, "show-file=/proc/keys"), "ALLOWED") << outside;
}

TEST_P(Proc, OnlyInitAndTheTargetAreToBeSeen) {
  const Finished inside = scene.acts({"show-list=/proc"});
  int processes = 0;
  for (const auto& entry : lines(inside, "entry "))
    processes += std::isdigit(static_cast<unsigned char>(entry[0])) != 0;
  EXPECT_EQ(processes, 2) << inside;
  int outside = 0;
  for (const auto& entry : lines(scene.acts_bare({"show-list=/proc"}), "entry ")) {
    outside += std::isdigit(static_cast<unsigned char>(entry[0])) != 0;
  }
  EXPECT_GT(outside, 2);
}

}  // namespace
}  // namespace cordon::test
