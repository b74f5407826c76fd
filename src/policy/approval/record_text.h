// Small records of this host as JSON. Paths are bytes; JSON holds text: hexadecimal keeps two different paths two
// different texts. Private to this room.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace cordon::policy::approval {

std::string to_hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view text);
/// What stands at `key` in hexadecimal.
std::optional<std::string> bytes_at(const nlohmann::json& object, const char* key);

/// A file that was opened by O_PATH, read whole and steadily; nothing where it is longer than `most`.
std::optional<std::string> content_of(base::FdView object, std::size_t most);

}  // namespace cordon::policy::approval
