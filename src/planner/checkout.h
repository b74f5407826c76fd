// The shields of a checkout: git's own files and what editors and agents run when a project is opened.
//
// For each write grant: the nearest directory at or above it that holds `.git`, up to a home, else the grant itself; at
// the root of a grant inside a checkout what stands of the corpus' workspace rules as well.
// Read-only there: hooks, configuration (that of submodules and worktrees as well, and where core.hooksPath leads),
// the `.git` file of a worktree, programs that its configuration names, and the corpus' workspace rules. Objects, refs
// and the index stay writable.
//
// What the user's and the machine's own git configuration says of hooks and further files counts in each of them. Git
// is never asked: its files are read as text, bounded. Nothing makes the checkout itself a repository of another kind,
// and submodules that were not fetched yet get no repository. What else the target makes anew below the grant (a nested
// repository) is not covered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/host_facts.h"
#include "planner/git_programs.h"
#include "planner/shield_rules.h"
#include "policy/policy.h"

namespace cordon::planner {

void ask_for_checkouts(const policy::Policy& policy, const plan::HostFacts& facts, ShieldQuestions& questions);

/// Gives the programs that git starts and nothing holds.
std::vector<ToldProgram> add_checkouts(const policy::Policy& policy, const plan::HostFacts& facts,
                                       std::vector<Shield>& shields);

}  // namespace cordon::planner
