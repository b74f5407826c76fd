// Where Cordon keeps what decides the next run: its program, its launcher, and the caller's configuration, state and
// cache. The planner holds them against write grants (planner/own_places.h).
#pragma once

#include <string>
#include <vector>

#include "cli/invocation.h"
#include "plan/host_facts.h"

namespace cordon::cli {

/// $HOME, or the account's home where $HOME is another user's: nothing of root's is kept in a home that root borrows.
/// "" where neither will do.
std::string own_home(const plan::HostFacts& facts);

std::vector<plan::OwnPlace> own_places(const Invocation& invocation, const plan::HostFacts& facts);

}  // namespace cordon::cli
