// The profiles as constant tables: the C++ source behind policy/ecosystem/profile.h.
#pragma once

#include <span>
#include <string>

#include "policy/ecosystem/profile.h"

namespace cordon::profiles {

std::string tables_source(std::span<const policy::ecosystem::Profile> profiles);

}  // namespace cordon::profiles
