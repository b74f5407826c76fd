// Paths as text: absolute, lexically normal, as facts and plans carry them. Compared by whole components, never as
// plain strings: "/home/ab" is not below "/home/a".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/path_order.h"

namespace cordon::planner {

/// `path` is `ancestor` or lies below it.
bool within(std::string_view path, std::string_view ancestor);

std::string_view parent_of(std::string_view path);  ///< "/" is its own parent
std::string_view name_of(std::string_view path);    ///< last component; "" for "/"
bool looks_like_file(std::string_view path);        ///< "out/result.json", by its name alone
std::size_t depth_of(std::string_view path);        ///< number of components; 0 for "/"

using base::path_before;

/// The directories strictly between `top` and `path`, from the top down. `path` lies below `top`.
std::vector<std::string> between(std::string_view top, std::string_view path);

}  // namespace cordon::planner
