// The keys by which ssh inside knows the hosts that rules let it reach: where the host keeps them, and the text of
// /etc/ssh/ssh_known_hosts inside. ~/.ssh stays hidden; nothing else of it is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/draft.h"
#include "planner/mounts.h"

namespace cordon::planner {

inline constexpr std::string_view kKnownHostsFile = "/etc/ssh/ssh_known_hosts";  ///< the same inside as on the host

/// Files whose texts are needed: none where no rule lets ssh's own port be reached.
std::vector<std::string> known_hosts_questions(const policy::Policy& policy, const plan::HostFacts& facts);

/// "" where nothing is known of a host that may be reached.
std::string known_hosts_text(const policy::Policy& policy, const plan::HostFacts& facts);

/// Makes the file where there is something to say and no grant shows the host's own.
void make_known_hosts(Draft& draft, const Arranged& arranged);
/// It did.
bool made_known_hosts(const Draft& draft);

}  // namespace cordon::planner
