// Which engine holds a run (SPEC §11): --engine, and what `auto` comes to on this host.
//
// Auto is planned for namespaces. Where this host refuses one of those, found by doing, the same policy is planned for
// Landlock alone, and that plan is taken if it holds what the policy needs; else both reasons are told. Never under
// --strict.
#pragma once

#include <string>

#include "cli/parse.h"
#include "cli/verdict.h"
#include "plan/host_facts.h"
#include "plan/plan.h"
#include "plan/refusal.h"
#include "policy/policy.h"

namespace cordon::cli {

/// The engine that --engine names; auto where it is not given.
base::Result<policy::EngineChoice, Stop> engine_asked(const Arguments& arguments);

/// The feature that the namespace engine lacks here, as far as anybody asked; nothing where it has all.
std::optional<plan::Feature> lacks_namespaces(const plan::HostFacts& facts);

/// Before a command's policy is made, which is another for each engine.
policy::EngineChoice settled(const policy::Posture& posture, const plan::HostFacts& facts);

/// This refusal is the host's alone, and the other engine may do without what it lacks.
bool is_for_other_engine(const policy::Policy& policy, const plan::Refusal& refusal);

/// That Landlock alone holds the run, and why: one line.
plan::Note chosen_note(const plan::HostFacts& facts);

/// Both reasons: what the host lacks for one engine stands first.
plan::Refusal both(plan::Refusal namespaces, plan::Refusal landlock);

/// A run's private directory, where the warden that removes it was killed itself.
void remove_private_directory(const plan::Plan& plan);

}  // namespace cordon::cli
