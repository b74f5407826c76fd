// Whether a symbolic link may arrive in the workspace. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "enforce/promote/names.h"
#include "enforce/promote/promote.h"

namespace cordon::enforce::promote {

struct LinkRules {
  std::string workspace;  ///< absolute; "" knows none
  std::vector<std::string> allowed_roots;
};

/// `path`: of the link, relative to the workspace. A target with ".." behind a name is not judged but refused: what the
/// name is, a link perhaps, decides where it leads. A target by way of a protected name is refused: who writes to the
/// link later would write there.
std::optional<Reason> why_not_link(std::string_view path, std::string_view target, const LinkRules& rules,
                                   const ProtectedNames& names);

}  // namespace cordon::enforce::promote
