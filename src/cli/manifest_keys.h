// Of package.json and its kind only the keys that a command is about may change with it: any other change of the file
// is the target's own idea, and is held back.
#pragma once

#include <string>

#include "policy/ecosystem/profile.h"

namespace cordon::cli {

/// True where `before` and `after` differ in nothing but these keys ("dependencies", "a.b" for a nested one). JSON; of
/// what is not, nothing may change.
bool only_these_keys_changed(const std::string& before, const std::string& after, policy::ecosystem::Names keys);

}  // namespace cordon::cli
