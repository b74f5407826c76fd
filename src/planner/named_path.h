// The checks that every path passes which the policy itself names: can it be told what it is, could somebody else have
// put it there, is it something that the sandbox has of its own. A path that cannot be checked refuses by its name;
// only paths that nobody named (the base, children of "/") are left out without a word.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "planner/draft.h"
#include "planner/identity.h"
#include "planner/kernel_files.h"

namespace cordon::planner {

struct Named {
  std::string label;  ///< "read: ~/data", quoted where need be
  std::string path;   ///< resolved spelling
  base::Span at;
  bool is_grant = true;
  bool hides = false;  ///< a deny line: the path is not shown
};

/// "read: ~/data" for a grant under this key.
std::string label_of(std::string_view key, std::string_view written);

/// Where the target of this policy could have made links in earlier runs: its write grants.
class Places {
 public:
  explicit Places(const Draft& draft);

  /// A link on the way to `fact` that stands below a write grant of this policy and leads to what neither the policy
  /// nor the base shows anyway: the target itself could have put it there, and so choose what the next run mounts
  /// (GHSA-8688-9x26-hhxj).
  [[nodiscard]] const plan::LinkHop* left_by_a_run(const plan::PathFact& fact) const;

  /// The type of the kernel's file system that the path is or lies in, and where that is mounted; nothing if in none.
  [[nodiscard]] std::optional<plan::MountPlace> kernel_files(const plan::PathFact& fact) const;

 private:
  [[nodiscard]] const plan::LinkHop* first_hop_below(const plan::PathFact& fact) const;
  const plan::HostFacts& facts_;
  KernelPlaces kernel_;
  std::unordered_set<std::string_view> writable_, granted_;
};

/// The fact of a path that is present or absent; nothing where it was refused.
const plan::PathFact* check_named(Draft& draft, const Identity& identity, const Places& places, const Named& named);

/// Others than root and the caller could have chosen what the path leads to. Where root runs the target as somebody
/// else, that somebody may choose among what it could have reached itself, and nothing more: root resolves, but lends
/// nobody its eyes.
bool is_planted(const Draft& draft, const Identity& identity, const plan::PathFact& fact);

/// These ids could have gone there themselves, by the modes of every directory on the way. In doubt (an access control
/// list) they could not.
bool may_reach(const Identity& identity, const plan::PathFact& fact);

/// The directory or node that the sandbox has of its own and that `path` is or lies in; "" if none. /tmp counts only
/// itself: what lies below the host's may be granted.
std::string_view managed_by_us(std::string_view path);

/// A node that the sandbox's own /dev has, so that granting the host's adds nothing.
bool is_own_device_node(std::string_view path);

}  // namespace cordon::planner
