// What the destination has where a promotion would replace or remove it: whether that may go. Read only.
#pragma once

#include <optional>
#include <string_view>

#include "enforce/promote/beneath.h"
#include "enforce/promote/names.h"
#include "enforce/promote/promote.h"

namespace cordon::enforce::promote {

/// Why what stands at `path` must stay: it, or anything below it, changed since `since`, is protected, is a mount.
/// `facts` are of it.
std::optional<Reason> why_not_replaced(FdView destination, std::string_view path, const Facts& facts,
                                       const timespec& since, const ProtectedNames& names, const Bounds& bounds);

}  // namespace cordon::enforce::promote
