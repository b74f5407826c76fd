// Where git's files are, as far as names and texts alone say it. Pure and lexical: what stands at a path is the matter
// of whoever walks there (planner/checkout.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/host_facts.h"

namespace cordon::planner {

/// The configuration that git reads before a repository's own, in every one: the machine's and the user's.
std::vector<std::string> users_git_files(const plan::HostFacts& facts);

/// Of "~name"; "" is whoever runs this. Nothing where it is not known.
std::optional<std::string> home_named(const plan::HostFacts& facts, std::string_view name);

/// `path` seen from `directory`, normalised; nothing where it is no path.
std::optional<std::string> below(const std::string& directory, std::string_view path);

}  // namespace cordon::planner
