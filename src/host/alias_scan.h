// The search for other names of credential files: hard links by identity, and mounts that show a store once more.
//
// Two stages. First the stores themselves are looked at, within bounds: which there are, on which mounts, and whether
// any file in them has a second link. Mounts are then compared by the table alone and confirmed by identity. Only if a
// file had a second link are the exposed trees walked: names and inode numbers are read, nothing is opened but
// directories. Directories on devices where no such file lives are pruned.
//
// Nothing here decides: what was found, and how far the search came, is the planner's to judge. Links are never
// followed in an exposed tree; in a store they are, because what they lead to is the credential.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/mounts.h"
#include "host/tree.h"
#include "plan/aliases.h"

namespace cordon::host {

struct AliasBounds {
  std::size_t store_entries = 200'000;
  std::size_t store_depth = 64;
  std::size_t tree_entries = 8'000'000;
  std::size_t quick_entries = 50'000;  ///< for AliasEffort::kQuick
  std::size_t tree_depth = 256;        ///< a descriptor each
  std::size_t names = 10'000;          ///< that are told
  std::chrono::milliseconds time{30'000};
};

struct AliasSettings {
  std::uint32_t uid = 0;                 ///< of the caller: a directory of its own that it cannot list is a failure
  std::vector<std::string> dead_mounts;  ///< nothing below is asked
  std::shared_ptr<Watch> watch;          ///< or nothing
  AliasBounds bounds;
};

plan::AliasAnswer scan_aliases(const plan::AliasQuestion& question, const MountTable& mounts,
                               const AliasSettings& settings);

}  // namespace cordon::host
