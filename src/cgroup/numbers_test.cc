#include "cgroup/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::cgroup {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kPage = 4096;

std::string text_of(const Wanted& wanted, const std::string& file) {
  for (const Setting& setting : settings_of(wanted, kPage))
    if (setting.file == file) return setting.text;
  return "none";
}

TEST(Settings, OnlyWhatIsWantedIsSet) {
  EXPECT_THAT(settings_of({}, kPage), IsEmpty());
  EXPECT_THAT(controllers_of({}), IsEmpty());
  EXPECT_THAT(settings_of({.pids = 7}, kPage), ElementsAre(Setting{.file = "pids.max", .text = "7", .expect = "7"}));
  EXPECT_THAT(controllers_of({.memory_bytes = 1, .cpu_hundredths = 1, .pids = 1}),
              ElementsAre("memory", "cpu", "pids"));
}

TEST(Settings, MemoryIsKeptInWholePagesWithoutSwapAndEndsAsAWhole) {
  const auto settings = settings_of({.memory_bytes = 2 * kPage + 1}, kPage);
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0], (Setting{.file = "memory.max", .text = "8193", .expect = "8192"}));
  EXPECT_EQ(settings[1], (Setting{.file = "memory.swap.max", .text = "0", .expect = "0", .needed = false}));
  EXPECT_EQ(settings[2], (Setting{.file = "memory.oom.group", .text = "1", .expect = "1"}));
}

TEST(Settings, AShareOfACpuIsAQuotaThatTheKernelTakes) {
  EXPECT_EQ(text_of({.cpu_hundredths = 50'00}, "cpu.max"), "50000 100000");
  EXPECT_EQ(text_of({.cpu_hundredths = 200'00}, "cpu.max"), "200000 100000");
  EXPECT_EQ(text_of({.cpu_hundredths = 100}, "cpu.max"), "1000 100000");
  EXPECT_EQ(text_of({.cpu_hundredths = 99}, "cpu.max"), "9900 1000000")
      << "a longer period, for a quota of a millisecond";
  EXPECT_EQ(text_of({.cpu_hundredths = 10}, "cpu.max"), "1000 1000000");
}

TEST(Settings, MoreProcessesThanThereCanBeAreAsGood) {
  EXPECT_EQ(text_of({.pids = 4'194'304}, "pids.max"), "4194304");
  EXPECT_EQ(text_of({.pids = 1ULL << 62U}, "pids.max"), "4194304");
}

TEST(Files, ValuesAreFoundByTheirWholeKey) {
  constexpr std::string_view kEvents = "low 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n";
  EXPECT_EQ(value_of(kEvents, "oom_kill"), 2U);
  EXPECT_EQ(value_of(kEvents, "oom"), 3U);
  EXPECT_EQ(value_of(kEvents, "max"), 12U);
  EXPECT_EQ(value_of(kEvents, "high"), std::nullopt);
  EXPECT_EQ(value_of("oom_kill x\n", "oom_kill"), std::nullopt);
}

TEST(Files, WordsAndLinesAreWhole) {
  EXPECT_TRUE(has_word("cpuset cpu io memory\n", "cpu"));
  EXPECT_FALSE(has_word("cpuset io memory\n", "cpu"));
  EXPECT_FALSE(has_word("", "cpu"));
  EXPECT_TRUE(has_line("12\n345\n", 345));
  EXPECT_FALSE(has_line("12\n3456\n", 345));
}

TEST(Membership, TheHierarchyOfV2IsTheOneWithoutAName) {
  constexpr std::string_view kHybrid = "4:memory:/\n2:cpu,cpuacct:/user\n1:name=systemd:/\n0::/a/b\n";
  EXPECT_EQ(unified_path(kHybrid), "/a/b");
  EXPECT_TRUE(is_bound_to_v1(kHybrid, "memory"));
  EXPECT_TRUE(is_bound_to_v1(kHybrid, "cpu"));
  EXPECT_FALSE(is_bound_to_v1(kHybrid, "pids"));
  EXPECT_FALSE(is_bound_to_v1("0::/memory\n", "memory"));
  EXPECT_EQ(unified_path("4:memory:/\n"), std::nullopt);
}

TEST(Membership, TheMountIsTheOneOfTheWholeHierarchy) {
  constexpr std::string_view kMounts =
      "30 1 0:26 / /sys rw - sysfs sysfs rw\n"
      "31 30 0:27 /sub /mnt/part rw - cgroup2 cgroup2 rw\n"
      "32 30 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
  EXPECT_EQ(unified_mount(kMounts), "/sys/fs/cgroup");
  EXPECT_EQ(unified_mount("32 30 0:27 / /sys/fs/cgroup rw - cgroup cgroup rw,memory\n"), "");
}

TEST(Names, AnIdIsAWord) {
  EXPECT_TRUE(is_run_id("a"));
  EXPECT_TRUE(is_run_id("Job_7"));
  EXPECT_TRUE(is_run_id(std::string(64, 'x')));
  for (const char* bad : {"", "a/b", "..", "a-b", "a b", "a.scope", "\xc3\xa4"}) EXPECT_FALSE(is_run_id(bad)) << bad;
  EXPECT_FALSE(is_run_id(std::string(65, 'x')));
  EXPECT_TRUE(is_group_name("cordon-0123"));
  for (const char* bad : {"cordon-", "cordon", "cordon-a.scope", "xcordon-a", "cordon-a/b"})
    EXPECT_FALSE(is_group_name(bad)) << bad;
}

}  // namespace
}  // namespace cordon::cgroup
