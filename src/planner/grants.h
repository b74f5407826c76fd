// read:, write: and deny: become wants, or refusals with the line that asked.
//
// Everything is judged where it really lies: a grant is its resolved path, and the links of its spelling are made again
// in the private root.
#pragma once

#include <string>
#include <vector>

#include "planner/draft.h"
#include "planner/identity.h"
#include "planner/mounts.h"
#include "planner/program.h"

namespace cordon::planner {

/// Directories whose children must be listed: "/" where it is granted for reading.
std::vector<std::string> grant_listings(const policy::Policy& policy, const plan::HostFacts& facts);

void want_grants(Draft& draft, const Identity& identity, std::vector<Want>& wants, std::vector<Link>& links);

/// Refuses grants and programs that lie in something denied. After every want is known.
void check_denials(Draft& draft, const Program& program, const std::vector<Want>& wants);

/// Drops denials of what does not exist: there is nothing to mount over.
void forget_missing_denials(std::vector<Want>& wants);

}  // namespace cordon::planner
