#include "enforce/supervise/run_clock.h"

#include <gtest/gtest.h>

namespace cordon::enforce::supervise {
namespace {

TEST(RunClock, CountsFromItsStart) {
  const RunClock clock(1000);
  EXPECT_EQ(clock.running_ns(1000), 0U);
  EXPECT_EQ(clock.running_ns(9000), 8000U);
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
