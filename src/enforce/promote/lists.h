// Adding to the bounded lists of an Outcome.
#pragma once

#include <string>
#include <utility>

#include "enforce/promote/promote.h"

namespace cordon::enforce::promote {

inline void add(List& list, std::string path, Reason reason, const Bounds& bounds) {
  ++list.total;
  if (list.entries.size() < bounds.listed) list.entries.push_back({std::move(path), reason});
}

/// The list where an entry belongs that is not promoted.
List& list_of(Outcome& outcome, Reason reason);

}  // namespace cordon::enforce::promote
