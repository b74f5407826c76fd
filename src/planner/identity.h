// Who the target is: the namespaces, the id maps, and for a caller who is root whether the target runs as somebody
// else.
//
// An ordinary caller can map itself alone. Root maps every id onto itself, so that owners keep their meaning; and where
// the entrypoint's directory belongs to another user the target runs as that user, because root without capabilities
// can neither read nor keep the owner of such files (pitfalls B7).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/draft.h"

namespace cordon::planner {

struct Identity {
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups;  ///< supplementary, of run_as
  std::string name;                   ///< "" where no account says
  bool run_as = false;                ///< not the caller's own ids
};

/// The directory whose owner decides; "" where the entrypoint cannot be told.
std::string entrypoint_directory(const policy::Policy& policy, const plan::HostFacts& facts);

/// The account that must be asked for, if the caller is root and the directory another's.
std::vector<std::uint32_t> identity_questions(const policy::Policy& policy, const plan::HostFacts& facts);

Identity decide_identity(const policy::Policy& policy, const plan::HostFacts& facts);

void enter_namespaces(Draft& draft, const Identity& identity);

/// Says as whom the target runs, where root runs it as somebody else.
void note_run_as(Draft& draft, const Identity& identity);

/// May these ids do this by the mode bits alone? `bits` as in "other": 4 read, 2 write, 1 execute.
bool mode_allows(const Identity& identity, const plan::PathFact& fact, std::uint32_t bits);

}  // namespace cordon::planner
