#include "cli/profiles_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cordon::cli {
namespace {
using testing::HasSubstr;

namespace ecosystem = policy::ecosystem;

TEST(ProfilesView, shows_each_profile_in_the_list) {
  const std::string text = profiles_text(ecosystem::profiles(), {});
  for (const auto& profile : ecosystem::profiles()) EXPECT_THAT(text, HasSubstr("\n" + std::string(profile.name)));
}

TEST(ProfilesView, shows_one_profile_in_a_screen) {
  for (const auto& profile : ecosystem::profiles()) {
    const std::string text = profile_text(profile, {});
    EXPECT_LE(std::ranges::count(text, '\n'), 70) << text;
  }
}

TEST(ProfilesView, says_what_stays_out_and_where_hosts_come_from) {
  const std::string text = profile_text(*ecosystem::find_profile("node"), {});
  EXPECT_THAT(text, HasSubstr("kept out"));
  EXPECT_THAT(text, HasSubstr("~/.npmrc"));
  EXPECT_THAT(text, HasSubstr("what npm config get registry answers"));
}

TEST(ProfilesView, gives_machines_everything) {
  const auto document = profiles_json(ecosystem::profiles());
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["profiles"].size(), ecosystem::profiles().size());
  for (const auto& one : document["profiles"])
    EXPECT_EQ(one["environment"].size(), ecosystem::find_profile(one["name"].get<std::string>())->environment.size());
}

}  // namespace
}  // namespace cordon::cli
