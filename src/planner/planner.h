// The planner: Policy + HostFacts -> Plan or Refusal. Pure: no kernel, no disk, no clock, no environment.
//
// `validate`, `approve`, `inspect`, `run --dry-run` and `run` reach their verdict through plan(); there is no second
// opinion. A caller loops until nothing is unanswered, then plans:
//
//   plan::HostFacts facts = host::facts(…);
//   planner::Memory memory;
//   for (auto ask = planner::next_questions(policy, facts, memory); !planner::empty(ask); ask = …) answer(ask, facts);
//   auto verdict = planner::plan(policy, facts, memory);
//
// The policy must be resolved (every PathGrant's `path` set). A fact that is kUnknown is assumed to be available
// (SPEC §11); a path that the policy names and that nobody answered refuses. Same input, same output, byte for byte.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/diagnostic.h"
#include "plan/host_facts.h"
#include "plan/plan.h"
#include "plan/refusal.h"
#include "policy/policy.h"

namespace cordon::planner {

struct KnownRules;

/// What the rounds of one verdict share: worked out once, for these facts, and again where the facts say otherwise.
/// Answers are the same with it and without, as long as the facts change by answers alone.
struct Memory {
  std::shared_ptr<const KnownRules> rules;
  bool only_aliases_left = false;  ///< the last round asked for nothing else; plan() looks whether that was answered
};

/// What is still unanswered; empty when plan() has all it needs. Rounds are few: first what the policy names and the
/// base, then what follows from the answers (an interpreter's prefix, the children of "/", the owner's account).
/// Every question that is once answered is never asked again: an answer that says "absent" or "failed" is an answer.
plan::Questions next_questions(const policy::Policy& policy, const plan::HostFacts& facts, Memory& memory);
plan::Questions next_questions(const policy::Policy& policy, const plan::HostFacts& facts);

/// Nothing left to ask. `working_directory` alone asks nothing.
bool empty(const plan::Questions& questions);

using Verdict = std::variant<plan::Plan, plan::Refusal>;

/// All problems in one Refusal, each with its code, blame, mend and the policy line that asked.
Verdict plan(const policy::Policy& policy, const plan::HostFacts& facts, Memory& memory);
Verdict plan(const policy::Policy& policy, const plan::HostFacts& facts);

/// The steps that the plan will begin with, as far as that can be told from the first answers: the base, which most
/// policies leave alone. Empty where it cannot. A guess: who acts on it compares it with the plan.
std::vector<plan::Step> beginning(const policy::Policy& policy, const plan::HostFacts& facts);

/// Something about the policy on this host that a reviewer should look at twice. Refuses nothing.
struct Callout {
  std::string code;  ///< stable, kebab-case: "grant-in-tmp"
  std::string text;  ///< one sentence without a full stop, bytes from outside quoted
  base::Span at;     ///< the policy line; line 0 where no line asked
  friend bool operator==(const Callout&, const Callout&) = default;
};

/// For `approve` and `validate`, in the order of the manifest. Works on facts that are only partly answered.
std::vector<Callout> callouts(const policy::Policy& policy, const plan::HostFacts& facts);

/// The interpreter (or the program itself) that would really be started on this host; empty where it cannot be told.
std::string resolved_program(const policy::Policy& policy, const plan::HostFacts& facts);

/// Where the program is started: the directory of the entrypoint itself, links followed; empty where it cannot be told.
std::string working_directory(const policy::Policy& policy, const plan::HostFacts& facts);

}  // namespace cordon::planner
