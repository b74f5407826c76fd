// Draft: a plan in the making, and every problem met on the way. Each mechanism's file takes one and adds to it; none
// stops at the first problem, so that a person sees them all at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/host_facts.h"
#include "plan/plan.h"
#include "plan/refusal.h"
#include "planner/refusals.h"
#include "policy/policy.h"

namespace cordon::planner {

struct Draft {
  const policy::Policy& policy;
  const plan::HostFacts& facts;
  plan::Plan plan;
  std::vector<plan::RefusedItem> items;

  void refuse(Code code, const base::Span& at, std::string message, std::string mend);
  void note(std::string code, std::string text, const base::Span& at);
  void step(plan::step::Any act, plan::Layer layer, std::string reason, const base::Span& at = {});
};

/// exec: none or none-strict: one start, the launcher's.
bool exec_closed(const policy::Policy& policy);

/// exec: all.
bool starts_anything(const policy::Policy& policy);

/// What the target writes on the host may be executed: exec: all of a manifest. In command mode no host path is both
/// written and executed.
bool writes_execute(const policy::Policy& policy);

/// exec: as a list: nothing is executed but what is in it.
bool exec_listed(const policy::Policy& policy);

/// The answer about a path, or nothing where nobody answered.
const plan::PathFact* fact_of(const plan::HostFacts& facts, std::string_view path);
const plan::ProgramFact* program_of(const plan::HostFacts& facts, const std::string& name);
const plan::Account* account_of(const plan::HostFacts& facts, std::uint32_t uid);

bool is_directory(const plan::PathFact& fact);
bool is_regular(const plan::PathFact& fact);
bool is_socket(const plan::PathFact& fact);

/// How the policy asks for its program: the interpreter (a path, or a name for PATH), else the entrypoint itself.
std::string program_key(const policy::Policy& policy);

/// Directories whose own children are homes.
bool is_home_container(std::string_view path);

/// Homes that are the run's own: $HOME and the account's, spelled and resolved. Never "/".
std::vector<std::string> own_homes(const plan::HostFacts& facts);

}  // namespace cordon::planner
