#include "planner/layout_test.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cordon::planner::testing {
namespace {

namespace step = plan::step;

bool is_held(const plan::Plan& plan, std::string_view target) {
  for (const step::Pin& pin : steps_of<step::Pin>(plan)) {
    if (pin.target == target && pin.read_only) return true;
  }
  const auto bind = bind_at(plan, target);
  return bind && bind->attributes.read_only;
}

bool is_link_held(const plan::Plan& plan, std::string_view target) {
  return std::ranges::any_of(steps_of<step::Pin>(plan),
                             [&](const step::Pin& pin) { return pin.target == target && !pin.link.empty(); });
}

Verdict verdict_of(const Layout& layout) {
  FakeHost host = with_script("#!/bin/sh");
  PolicyMaker maker("/home/me/p/run");
  layout.make(host, maker);
  return host.plan(maker.policy);
}

}  // namespace

void expect_verdicts(const std::vector<Layout>& layouts) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.what);
    const Verdict verdict = verdict_of(layout);
    if (!layout.code.empty()) {
      const plan::Refusal refusal = must_refuse(verdict);
      ASSERT_FALSE(refusal.items.empty());
      EXPECT_EQ(refusal.items.front().code, layout.code) << refusal.items.front().message;
      EXPECT_TRUE(refusal.items.front().is_grant);
      continue;
    }
    const plan::Plan plan = must_plan(verdict);
    for (const std::string& path : layout.masked) EXPECT_TRUE(has_mask(plan, path)) << path;
    for (const std::string& path : layout.read_only) EXPECT_TRUE(is_held(plan, path)) << path;
    for (const std::string& path : layout.links) EXPECT_TRUE(is_link_held(plan, path)) << path;
    for (const std::string& path : layout.open) {
      EXPECT_FALSE(has_mask(plan, path)) << path;
      EXPECT_TRUE(bind_at(plan, path) || bind_at(plan, "/home/me")) << path;
    }
  }
}

}  // namespace cordon::planner::testing
