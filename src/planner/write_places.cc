#include "planner/write_places.h"

#include <algorithm>

#include "planner/draft.h"
#include "planner/path_text.h"
#include "planner/shield_rules.h"

namespace cordon::planner {

std::vector<std::string> write_places(const policy::Policy& policy, const plan::HostFacts& facts) {
  std::vector<std::string> out;
  for (const policy::PathGrant& grant : policy.write) {
    const plan::PathFact* fact = fact_of(facts, grant.path);
    if (fact == nullptr || (fact->state != plan::PathState::kPresent && fact->state != plan::PathState::kAbsent))
      continue;
    if (is_too_broad(facts, fact->real)) continue;  // refused
    if (fact->state == plan::PathState::kPresent && !is_directory(*fact)) {
      out.emplace_back(parent_of(fact->real));
    } else {
      out.push_back(fact->real);
    }
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

}  // namespace cordon::planner
