// known_hosts: of the host keys that somebody's ssh knows, those of the hosts that rules let a run reach.
//
// What goes into the sandbox is written anew: the marker, the names that were asked about, the key; no comment, and no
// other name of the same line, so that a run does not learn where else its user goes. A hashed line tells its host only
// to who names it: rules for one host find it, rules for many do not. A revoked key stays revoked. What does not read
// as a line of sshd(8), SSH_KNOWN_HOSTS FILE FORMAT, is passed over: ssh then does not know that host, which is closed.
//
// Pure. Called by the planner.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/network/rule.h"

namespace cordon::policy::ssh {

inline constexpr std::uint16_t kPort = 22;
inline constexpr std::size_t kMostHashed = 100'000;  ///< hashes computed; some 0.1 s

/// "[@marker ]NAMES TYPE KEY", without a line end.
std::vector<std::string> known_hosts(std::string_view text, std::span<const network::Rule> rules);

}  // namespace cordon::policy::ssh
