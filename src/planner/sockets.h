// Sockets of services that act for whoever connects: a read-only mount does not keep a target from connecting, and
// Landlock does not either. Below a grant that is broader than the socket itself they are hidden; a line that names one
// exactly opts it in (SPEC §4).
//
// A list, not a search: no tree is walked at start-up. What listens elsewhere below a broad grant is not hidden.
#pragma once

#include <string>
#include <vector>

#include "planner/draft.h"
#include "planner/mounts.h"

namespace cordon::planner {

/// Known sockets that lie below a grant of this policy, to be looked up.
std::vector<std::string> socket_questions(const policy::Policy& policy, const plan::HostFacts& facts);

void hide_sockets(Draft& draft, std::vector<Want>& wants);

}  // namespace cordon::planner
