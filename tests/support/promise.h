// What the promise tests share: one fixture per promise, run as every identity, with a control that shows the same act
// to succeed outside the sandbox.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/scene.h"

namespace cordon::test {

class Promise : public testing::TestWithParam<Identity> {
 protected:
  Scene scene{GetParam()};

  /// Every act is allowed bare (the control) and denied inside, under a manifest with these further lines.
  void denied_inside(const std::vector<std::string>& acts, std::string_view extra = "") const {
    const Finished outside = scene.acts_bare(acts);
    const Finished inside = scene.acts(acts, extra);
    for (const auto& act : acts) {
      EXPECT_EQ(verdict(outside, act), "ALLOWED") << "the control, bare: " << act << outside;
      EXPECT_THAT(verdict(inside, act), testing::StartsWith("DENIED")) << "inside: " << act << inside;
    }
  }

  void allowed_inside(const std::vector<std::string>& acts, std::string_view extra = "") const {
    const Finished inside = scene.acts(acts, extra);
    for (const auto& act : acts) EXPECT_EQ(verdict(inside, act), "ALLOWED") << act << inside;
    EXPECT_EQ(inside.code, 0) << inside;
  }
};

/// Defines a fixture of its own name and runs it as every identity.
#define CORDON_PROMISE(Suite)                      \
  class Suite : public ::cordon::test::Promise {}; \
  INSTANTIATE_TEST_SUITE_P(As, Suite, testing::ValuesIn(::cordon::test::identities()), ::cordon::test::identity_name)

/// The same for what concerns root alone; where the suite does not run as root these tests do not exist.
#define CORDON_ROOT_PROMISE(Suite)                      \
  class Suite : public ::cordon::test::Promise {};      \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Suite); \
  INSTANTIATE_TEST_SUITE_P(As, Suite, testing::ValuesIn(::cordon::test::root_identity()), ::cordon::test::identity_name)

inline std::string identity_name(const testing::TestParamInfo<Identity>& with) { return with.param.name; }

inline std::vector<Identity> root_identity() {
  std::vector<Identity> all = identities();
  std::erase_if(all, [](const Identity& who) { return !who.is_root(); });
  return all;
}

}  // namespace cordon::test
