// Many names at once: the answers to Questions::names and Questions::links.
//
// The corpus of shields has hundreds of names below each home, and nearly none of them stands there. A directory in
// which several are asked for is therefore listed once (three calls) instead of being asked for each name; what is
// below an absent one costs nothing. Only what stands there is resolved, pinned and told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/resolver.h"
#include "host/tree.h"
#include "plan/host_facts.h"

namespace cordon::host {

/// Entries that are looked at below one directory for its links, and how deep.
inline constexpr std::size_t kMostWalked = 16'384;
inline constexpr std::size_t kDeepestWalk = 64;

/// Of `names` (relative, normal) below `directory` those that stand there, cannot be told, or lead over a link.
std::vector<plan::PathFact> resolve_names(Tree& tree, Resolver& resolver, const std::string& directory,
                                          const plan::NameList& names);

/// Every symbolic link in `directory` and below it, resolved; a directory named ".git" is not entered. Where the walk
/// had to end, the last fact is the directory that it ended at, kFailed. With `levels`, what is deeper is not looked
/// at, and that is no such end.
std::vector<plan::PathFact> find_links(Tree& tree, Resolver& resolver, const std::string& directory,
                                       std::optional<std::size_t> levels = std::nullopt);

}  // namespace cordon::host
