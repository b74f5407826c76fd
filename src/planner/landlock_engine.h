// The second engine: no namespaces, the host's own file system, Landlock and seccomp alone (SPEC §11).
//
// It takes the same wants, arranged the same way, and turns what would be mounts into rules for objects where they
// stand. A right reaches everything below its object and cannot be taken back there, so what lies hidden in a read
// grant is left out sibling by sibling, within bounds; and what would have to be hidden or read-only in a write grant
// cannot be held, and refuses. What it does not hold of the other engine's promises stands in not_held.h: what a policy
// needs refuses with the line that asked, the rest is carried in the plan and repeated by the report.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "planner/draft.h"
#include "planner/environment.h"
#include "planner/identity.h"
#include "planner/mounts.h"
#include "planner/planner.h"
#include "planner/program.h"

namespace cordon::planner {

/// The engine that this policy is planned for. `auto` is planned for namespaces; who finds that the host refuses those
/// plans again.
plan::Engine engine_of(const policy::Policy& policy);

/// More paths to ask about, and directories whose entries must be known: those on the way to what is hidden.
std::vector<std::string> engine_questions(const policy::Policy& policy);
std::vector<std::string> engine_listings(const Arranged& arranged);
/// Of those what is not known yet. Asked when all else is.
std::vector<std::string> engine_listings(const policy::Policy& policy, const plan::HostFacts& facts, Memory& memory);

/// Refuses what this policy asks for and the engine does not hold, before anything is arranged.
void check_engine(Draft& draft);

/// First step of the plan.
void start_warden(Draft& draft, const Identity& identity);
/// A Grant for each object, and the private directory; refuses what is hidden or held in a write grant. The answer is
/// to be a step once the target has given up its powers.
plan::step::Landlock grant_on_host(Draft& draft, const Identity& identity, const Arranged& arranged,
                                   const Program& program, std::span<const std::string> listed);
/// HOME and the directory for temporary files are the run's own.
void set_private_places(const Draft& draft, Environment& environment);

}  // namespace cordon::planner
