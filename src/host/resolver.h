// Resolver: one path, walked component by component over the Tree, symbolic links expanded here, to a PathFact.
//
// What it must get right, because the planner sees only the fact: where a write would land through links, `..` behind
// them and components that do not exist; and whether somebody other than the caller and root could have planted, or
// could exchange, what was followed (an attacker's link in /tmp is followed by nobody).
#pragma once

#include <string>
#include <vector>

#include "host/accounts.h"
#include "host/tree.h"
#include "plan/host_facts.h"

namespace cordon::host {

/// As the kernel's MAXSYMLINKS: the 41st link is ELOOP (path_resolution(7)).
inline constexpr std::size_t kMostLinks = 40;

/// Bytes of a path that a system call takes, less the NUL.
inline constexpr std::size_t kLongestPath = 4095;

class Resolver {
 public:
  Resolver(Tree& tree, const AccountBook& accounts, std::uint32_t caller)
      : tree_(tree), accounts_(accounts), caller_(caller) {}

  [[nodiscard]] plan::PathFact resolve(const std::string& asked, Keep keep);
  /// The same with the object itself, for whoever reads on; nullptr unless the fact is kPresent.
  struct Found {
    plan::PathFact fact;
    Node* node = nullptr;
  };
  [[nodiscard]] Found find(const std::string& asked, Keep keep);

 private:
  friend class Walk;
  Tree& tree_;
  const AccountBook& accounts_;
  std::uint32_t caller_;
};

}  // namespace cordon::host
