// Of package.json and its kind only the keys that a command is about may change with it: any other change of the file
// is the target's own idea, and is held back.
#pragma once

#include <string>
#include <string_view>

#include "policy/ecosystem/profile.h"

namespace cordon::policy::ecosystem {

/// True where `before` and `after` differ in nothing but these keys ("dependencies", "a.b" for a nested one). `name`
/// tells how they are written: JSON, TOML (*.toml, Pipfile), or Go's lines (go.mod, go.work). Of what cannot be read
/// that way, nothing may change.
bool only_these_keys_changed(std::string_view name, const std::string& before, const std::string& after, Names keys);

}  // namespace cordon::policy::ecosystem
