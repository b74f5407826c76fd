#include "enforce/supervise/run_clock.h"

#include <gtest/gtest.h>

namespace cordon::enforce::supervise {
namespace {

TEST(RunClock, DoesNotRunWhileStopped) {
  RunClock clock(1000);
  EXPECT_EQ(clock.running_ns(1500), 500U);
  clock.stop(2000);
  EXPECT_EQ(clock.running_ns(9000), 1000U);
  clock.go(10'000);
  EXPECT_EQ(clock.running_ns(10'500), 1500U);
  EXPECT_EQ(clock.wall_ns(10'500), 9500U);
}

TEST(RunClock, TakesTwoStopsForOne) {
  RunClock clock(0);
  clock.stop(100);
  clock.stop(200);
  clock.go(300);
  clock.go(400);
  EXPECT_EQ(clock.running_ns(400), 200U);
}

TEST(TimeLimit, AsksFirstAndKillsAfterTheGrace) {
  TimeLimit limit(5000);
  EXPECT_EQ(limit.due(4999), TimeLimit::Act::kNothing);
  EXPECT_FALSE(limit.reached());
  EXPECT_EQ(limit.due(5000), TimeLimit::Act::kAsk);
  EXPECT_TRUE(limit.reached());
  EXPECT_EQ(limit.due(5001), TimeLimit::Act::kNothing);
  EXPECT_EQ(limit.next(), 5000 + TimeLimit::kGraceNs);
  EXPECT_EQ(limit.due(5000 + TimeLimit::kGraceNs), TimeLimit::Act::kKill);
  EXPECT_EQ(limit.due(~0ULL), TimeLimit::Act::kNothing);
}

TEST(TimeLimit, OfZeroIsNone) {
  TimeLimit limit(0);
  EXPECT_EQ(limit.due(~0ULL), TimeLimit::Act::kNothing);
  EXPECT_EQ(limit.next(), std::nullopt);
}

}  // namespace
}  // namespace cordon::enforce::supervise
