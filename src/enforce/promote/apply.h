// The second half of a promotion: carries out a Work. Each act is done once, however often apply() runs: it looks which
// of its two ends has the inode that it was decided about. A replacement is an exchange, and what came back is looked
// at before it is thrown away: who changed the place in the last moment gets it back.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "enforce/promote/work.h"

namespace cordon::enforce::promote {

enum class Round : std::uint8_t { kFirst, kReplay };

struct Ends {
  FdView upper, destination, scratch;
};

/// Then everything is synced, what was replaced is removed, and the journal too. Adds to `outcome`, whose lists are
/// held to `bounds`.
base::Result<void> apply(const Work& work, const Ends& ends, Round round, const Bounds& bounds, Outcome& outcome);

}  // namespace cordon::enforce::promote
