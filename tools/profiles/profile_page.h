// docs/profiles.md, whole, from the profiles.
#pragma once

#include <span>
#include <string>

#include "policy/ecosystem/profile.h"

namespace cordon::profiles {

std::string page(std::span<const policy::ecosystem::Profile> profiles);

}  // namespace cordon::profiles
