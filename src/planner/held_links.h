// Links inside what is held: `.git/hooks/pre-commit -> ../../scripts/pre-commit` runs a file that no shield names.
// Where a link in a directory that is read-only, or hidden because programs start from it, leads below a write grant,
// what it leads to becomes a read-only shield itself.
//
// Only a policy that grants writing asks for them. Looked at: kLinkLevels levels of directories, of the trees that
// package managers fill one. What is deeper is data of programs and thousands of directories. A walk that did not come
// to its end refuses every write grant: nobody knows what it would have led to. Links inside stores of credentials are
// followed in the home whatever is granted (shield_rules.h); those that lead out of it are held here.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/host_facts.h"
#include "planner/shield_rules.h"
#include "policy/policy.h"

namespace cordon::planner {

/// Levels of directories below a held one in which links count.
inline constexpr std::size_t kLinkLevels = 4;

void ask_for_held_links(const policy::Policy& policy, const plan::HostFacts& facts, const std::vector<Shield>& shields,
                        ShieldQuestions& questions);

/// `shields`: those that stand, checkouts' as well.
void add_held_links(const policy::Policy& policy, const plan::HostFacts& facts, std::vector<Shield>& shields);

}  // namespace cordon::planner
