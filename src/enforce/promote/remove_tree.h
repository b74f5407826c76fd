// The end of a private directory: everything below it, whatever its depth and its modes.
//
// For uppers and scratch directories, in which a run could make ten million entries, a chain of a hundred thousand
// directories, or directories that nobody may enter. Through no link and no mount, with a handful of descriptors and
// without recursion. It must never be handed a name in a directory that others can write.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::enforce::promote {

struct Removal {
  std::uint64_t entries = 0;  ///< removed
};

/// Removes `name` in `directory`, be it a file, a link or a directory with all that is in it. Nothing there is no
/// failure. At most `most` entries; EFBIG where there are more, and the next call goes on from there.
base::Result<Removal> remove_tree(base::FdView directory, const std::string& name, std::uint64_t most = UINT64_MAX);

}  // namespace cordon::enforce::promote
