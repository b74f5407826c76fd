#include "cli/opening.h"

#include "planner/identity.h"

namespace cordon::cli {

plan::step::EnterNamespaces usual_opening(const plan::HostFacts& facts) {
  const policy::Policy wants_nothing;
  planner::Draft draft{.policy = wants_nothing, .facts = facts, .plan = {}, .items = {}};
  planner::enter_namespaces(draft, {.uid = facts.uid, .gid = facts.gid, .groups = {}, .name = {}, .run_as = false});
  return std::get<plan::step::EnterNamespaces>(draft.plan.steps.front().act);
}

}  // namespace cordon::cli
