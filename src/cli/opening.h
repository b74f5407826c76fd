// A guess at the first step of a plan, from the facts that are there before anything is asked: what the planner says
// for a policy that wants nothing of its own. Only a guess: enforce/launch/start.h says what becomes of a wrong one.
#pragma once

#include "plan/host_facts.h"
#include "plan/plan.h"

namespace cordon::cli {

plan::step::EnterNamespaces usual_opening(const plan::HostFacts& facts);

}  // namespace cordon::cli
