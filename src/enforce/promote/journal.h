// The journal of a promotion: its Work, in one file of the scratch directory, whole or not there at all. It is synced
// under another name and then renamed, so that what can be read under its own name was all written before any act.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "enforce/promote/work.h"

namespace cordon::enforce::promote {

std::string encode(const Work& work);
/// Nothing for what encode() did not write: a bound, a path that leaves, a list that ends early.
std::optional<Work> decode(std::string_view text);

base::Result<void> write_journal(FdView scratch, const Work& work);
/// Nothing where there is none.
base::Result<std::optional<Work>> read_journal(FdView scratch);
base::Result<void> remove_journal(FdView scratch);

}  // namespace cordon::enforce::promote
