// What environment variables move: the rules at the places that their values name. Private to this room.
#pragma once

#include "policy/shield/corpus.h"
#include "policy/shield/rules.h"

namespace cordon::policy::shield {

/// Whether a rule may stand at `path`: never at "/", a home or what holds a home, or the sandbox would have no floor.
bool can_be_shielded(std::string_view path, const std::vector<std::string>& anchors);

/// A rule of the corpus at `path`; `variable`: what moved it there, or "".
Rule restated(const HomeRule& rule, std::string_view path, std::string_view variable);

/// Adds the moved rules to `rules.list`, moved wallet keys to `rules.alias_paths`, and what cannot be shielded.
void add_moved(const Situation& situation, Rules& rules);

}  // namespace cordon::policy::shield
