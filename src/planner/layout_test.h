// Layouts: what stands on a host, what a policy asks, and the verdict that must come of it. For tables of tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/fake_host_test.h"

namespace cordon::planner::testing {

/// "" for a plan, else the refusal's code.
struct Layout {
  std::string what;
  std::function<void(FakeHost&, PolicyMaker&)> make;
  std::string code;
  std::vector<std::string> masked = {}, read_only = {}, open = {}, links = {};
};

void expect_verdicts(const std::vector<Layout>& layouts);

}  // namespace cordon::planner::testing
