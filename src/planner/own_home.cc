#include "planner/own_home.h"

#include "planner/named_path.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

const plan::PathFact* home_of(const policy::Policy& policy, const plan::HostFacts& facts) {
  if (policy.posture.home != policy::HomeShown::kEmpty || facts.home.empty()) return nullptr;
  const plan::PathFact* fact = fact_of(facts, facts.home);
  const bool stands = fact != nullptr && fact->state == plan::PathState::kPresent && is_directory(*fact);
  if (!stands || fact->real == "/" || !managed_by_us(fact->real).empty()) return nullptr;
  return fact;
}

}  // namespace

void want_home_links(const Draft& draft, std::vector<Link>& links) {
  const plan::PathFact* home = home_of(draft.policy, draft.facts);
  if (home == nullptr) return;
  for (const plan::LinkHop& hop : home->hops)
    links.push_back({.at = hop.at, .text = hop.target, .reason = "home", .span = {}});
}

std::string empty_home(const policy::Policy& policy, const plan::HostFacts& facts, const Arranged& arranged) {
  const plan::PathFact* home = home_of(policy, facts);
  if (home == nullptr) return {};
  for (std::string_view at = home->real;; at = parent_of(at)) {
    if (arranged.showing(at) != nullptr) return {};
    if (at == "/") return home->real;
  }
}

}  // namespace cordon::planner
