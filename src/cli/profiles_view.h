// What `cordon profiles` shows: each profile in a line, or one of them in a screen, as text and as JSON. Data only;
// what it means on this machine is `inspect`'s.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "policy/ecosystem/profile.h"
#include "report/layout.h"

namespace cordon::cli {

std::string profiles_text(std::span<const policy::ecosystem::Profile> profiles, const report::Style& style);
std::string profile_text(const policy::ecosystem::Profile& profile, const report::Style& style);
nlohmann::ordered_json profiles_json(std::span<const policy::ecosystem::Profile> profiles);

}  // namespace cordon::cli
