// `wx`: what is written there may be executed in the same run. For everything but execution such an entry is a `write`
// entry: judged, shielded, mounted and reported as one.
#pragma once

#include <optional>
#include <string>

#include "planner/draft.h"

namespace cordon::planner {

/// The policy with its `wx` entries among `write`, which is what the rest of the planner reads; nothing where it has
/// none. Where both name one path, the `wx` entry stays.
std::optional<policy::Policy> with_wx(const policy::Policy& policy);

/// Whether this entry of `write` came from `wx`.
bool is_wx(const policy::Policy& policy, const policy::PathGrant& grant);

/// "write: ./out", or "wx: ./out" for what came from there.
std::string write_label(const policy::Policy& policy, const policy::PathGrant& grant);

/// Says what each of them opens, and that under exec: none nothing is started there either.
void note_wx(Draft& draft);

}  // namespace cordon::planner
