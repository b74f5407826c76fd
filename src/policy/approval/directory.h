// The names in a directory, by descriptor and bounded. Private to this room.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/fd.h"

namespace cordon::policy::approval {

inline constexpr std::size_t kMostNames = 10'000;

/// All names but "." and "..", at most kMostNames of them, in no order; none where it cannot be read. For suggestions
/// only: nothing is decided by what is in the list.
std::vector<std::string> names_in(base::FdView directory);

}  // namespace cordon::policy::approval
