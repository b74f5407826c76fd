// Shields for what does not exist yet, below a writable mount: held without leaving anything behind where an overlay
// can be mounted over the grant, else by a mount point that the host has for the time of the run (SPEC §5).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "planner/draft.h"
#include "planner/identity.h"
#include "planner/mounts.h"

namespace cordon::planner {

class Stubs {
 public:
  Stubs(const Draft& draft, const Identity& identity, const Arranged& arranged);

  /// True where this writable mount is an overlay that holds its absent shields.
  bool mount(Draft& draft, const Mount& mount) const;
  /// A mount point for one that no overlay holds.
  void hold(Draft& draft, const Mount& mount) const;

 private:
  const Identity& identity_;
  std::unordered_map<const Want*, std::vector<const Want*>> below_;  ///< of writable mounts with an overlay
};

}  // namespace cordon::planner
