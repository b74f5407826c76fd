#include "policy/approval/links.h"

#include <gmock/gmock.h>

#include "policy/approval/testing_disk.h"

namespace cordon::policy::approval {
namespace {

using testing::as;

class Links : public testing::DiskOf {};
INSTANTIATE_TEST_SUITE_P(As, Links, ::testing::ValuesIn(testing::everybody()), testing::name_of);

TEST_P(Links, OnTheWayAreNamedWithTheirOwnerAndFollowed) {
  as(me(), [&] {
    std::filesystem::create_directories(at("a/b"));
    ASSERT_EQ(::symlink("a", at("l").c_str()), 0);
    ASSERT_EQ(::symlink((at("l") + "/b").c_str(), at("m").c_str()), 0);
    const Way plain = way_to(at("a/b"));
    EXPECT_TRUE(plain.links.empty());
    EXPECT_EQ(plain.real, at("a/b"));
    const Way led = way_to(at("m/missing/x"));
    ASSERT_EQ(led.links.size(), 2U);
    EXPECT_EQ(led.links[0].at, at("m"));
    EXPECT_EQ(led.links[1].at, at("l"));
    EXPECT_EQ(led.links[1].target, "a");
    EXPECT_EQ(led.links[1].owner, me().uid);
    EXPECT_EQ(led.real, at("a/b/missing/x"));
  });
}

TEST_P(Links, ThatLeadNowhereOrRoundLeaveThePathAsItIs) {
  as(me(), [&] {
    ASSERT_EQ(::symlink("r", at("r").c_str()), 0);
    EXPECT_EQ(way_to(at("r/x")).real, at("r/x"));
    EXPECT_EQ(way_to("/").real, "/");
    EXPECT_EQ(way_to("/no-such-name/x").real, "/no-such-name/x");
  });
}

}  // namespace
}  // namespace cordon::policy::approval
