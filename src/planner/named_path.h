// The checks that every path passes which the policy itself names: can it be told what it is, could somebody else have
// put it there, is it something that the sandbox has of its own. A path that cannot be checked refuses by its name;
// only paths that nobody named (the base, children of "/") are left out without a word.
#pragma once

#include <string>
#include <string_view>

#include "planner/draft.h"
#include "planner/identity.h"

namespace cordon::planner {

struct Named {
  std::string label;  ///< "read: ~/data", quoted where need be
  std::string path;   ///< resolved spelling
  base::Span at;
  bool is_grant = true;
};

/// "read: ~/data" for a grant under this key.
std::string label_of(std::string_view key, std::string_view written);

/// The fact of a path that is present or absent; nothing where it was refused.
const plan::PathFact* check_named(Draft& draft, const Identity& identity, const Named& named);

/// Others than root, the caller and who runs the target could have chosen what the path leads to.
bool is_planted(const Draft& draft, const Identity& identity, const plan::PathFact& fact);

/// The directory or node that the sandbox has of its own and that `path` is or lies in; "" if none. /tmp counts only
/// itself: what lies below the host's may be granted.
std::string_view managed_by_us(std::string_view path);

/// A node that the sandbox's own /dev has, so that granting the host's adds nothing.
bool is_own_device_node(std::string_view path);

}  // namespace cordon::planner
