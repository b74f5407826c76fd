#include "policy/config/keys.h"

#include <array>

namespace cordon::policy::config {
namespace {

constexpr std::array kKeys = {
    BlockKey{"extends", Holds::kProfile, Effect::kWidens, &Block::extends, "has all of the profile",
             "a block of this file, or a built-in profile, that this one begins with", "--profile"},
    BlockKey{"allowWrite", Holds::kPaths, Effect::kWidens, &Block::allow_write, "may write",
             "files and directories that may be written", "--allow-write"},
    BlockKey{"denyRead", Holds::kPaths, Effect::kNarrows, &Block::deny_read, "does not see", "paths that are hidden",
             "--deny-read"},
    BlockKey{"allowRead", Holds::kPaths, Effect::kWidens, &Block::allow_read, "may read",
             "files and directories that are shown", "--allow-read"},
    BlockKey{"allowDomains", Holds::kHosts, Effect::kWidens, &Block::allow_domains, "may reach",
             "hosts that may be reached: a name, or *.name with the name itself; on port 443, or HOST:PORT",
             "--allow-domain"},
    BlockKey{"denyDomains", Holds::kHostsOnly, Effect::kNarrows, &Block::deny_domains, "does not reach",
             "hosts that are taken away again, with every entry that covers them", "--deny-domain"},
    BlockKey{"denyExec", Holds::kPaths, Effect::kNarrows, &Block::deny_exec, "does not see the program",
             "programs that are hidden", "--deny-exec"},
    BlockKey{"allowExec", Holds::kPaths, Effect::kWidens, &Block::allow_exec, "may execute",
             "trees that are shown, to be executed from", "--allow-exec"},
    BlockKey{"allowFetch", Holds::kHosts, Effect::kWidens, &Block::allow_fetch, "may reach", "as allowDomains",
             "--allow-fetch"},
    BlockKey{"allowAllNetwork", Holds::kSwitch, Effect::kWidensWhereTrue, &Block::allow_all_network,
             "may reach any host on any port", "true: any host on any port; through the broker all the same", ""},
    BlockKey{"enableProxy", Holds::kSwitch, Effect::kWidensWhereFalse, &Block::enable_proxy,
             "may reach any host on port 443", "false: any host on port 443; true: the named hosts alone",
             "--no-proxy"},
    BlockKey{"allowDegraded", Holds::kSwitch, Effect::kRefusedWhereTrue, &Block::allow_degraded, "",
             "false alone: running with what a host can hold is decided run by run", "--allow-degraded"},
    BlockKey{"env", Holds::kVariables, Effect::kWidens, &Block::env, "has the variable",
             "variables that are set: NAME: VALUE", "--env"},
};

}  // namespace

std::span<const BlockKey> block_keys() { return kKeys; }

}  // namespace cordon::policy::config
