#include "egress/bounds.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace cordon::egress {
namespace {

std::string row_of(const BoundInfo& info) {
  const std::string unit = info.unit.empty() ? "" : " " + std::string(info.unit);
  return "| `" + std::string(info.name) + "` | " + std::to_string(Bounds{}.*info.value) + unit + " | " +
         std::to_string(info.least) + " – " + std::to_string(info.most) + " | " + std::string(info.meaning) + " |\n";
}

TEST(BoundTable, StandsInTheManualAsItIs) {
  std::ifstream in("../../docs/network.md");  // the tests run in build/PRESET
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  std::string table;
  for (const BoundInfo& info : kBounds) table += row_of(info);
  EXPECT_NE(page.find(table), std::string::npos) << table;
}

TEST(BoundTable, HoldsEveryBoundOnce) {
  EXPECT_EQ(kBounds.size() * sizeof(std::uint64_t), sizeof(Bounds));
  Bounds seen{};
  for (const BoundInfo& info : kBounds) seen.*info.value = ~0ULL;
  for (const BoundInfo& info : kBounds) EXPECT_EQ(seen.*info.value, ~0ULL);
}

TEST(BoundTable, RefusesWhatIsOutsideItsLimits) {
  for (const BoundInfo& info : kBounds) {
    Bounds bounds;
    bounds.*info.value = info.most + 1;
    EXPECT_FALSE(within_limits(bounds)) << info.name;
    bounds.*info.value = info.most;
    EXPECT_TRUE(within_limits(bounds)) << info.name;
    if (info.least == 0) continue;
    bounds.*info.value = info.least - 1;
    EXPECT_FALSE(within_limits(bounds)) << info.name;
  }
}

}  // namespace
}  // namespace cordon::egress
