// TOML, read by toml++ and handed on as JSON: nothing here but what the two have in common is ever compared. Private to
// this room.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace cordon::policy::ecosystem {

/// Nothing where it is not TOML, or nested deeper than 64 levels. Dates and times are texts, marked as such.
std::optional<nlohmann::json> toml_as_json(std::string_view text);

/// A user's cargo configuration without what opens registries or hands secrets to a build: of its tables those that say
/// what to build and where from. "" where nothing is left, or where it is not TOML.
std::string cargo_settings(std::string_view text);

}  // namespace cordon::policy::ecosystem
