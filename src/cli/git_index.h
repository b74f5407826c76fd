// Which files git tracks in a checkout, and which directories hold such files: sources, which no run changes by calling
// them an output.
//
// Read from the host's own index, by descriptor, without git. Bounded; an index that is not understood (a split one, a
// later version, a damaged one) is taken to track everything that stands.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace cordon::cli {

class Tracked {
 public:
  enum class Known : std::uint8_t { kNoRepository, kAll, kNothing };
  Tracked(Known known, std::set<std::string, std::less<>> paths) : known_(known), paths_(std::move(paths)) {}

  /// Whether `path` (relative to the workspace) is a tracked file, or a directory that holds one at any depth.
  [[nodiscard]] bool holds(std::string_view path) const { return known_ == Known::kNothing || paths_.contains(path); }
  /// There is a repository, and its index was read.
  [[nodiscard]] bool knows() const { return known_ == Known::kAll; }
  [[nodiscard]] bool is_unreadable() const { return known_ == Known::kNothing; }
  /// The same, and not where the index could not be read.
  [[nodiscard]] bool surely_holds(std::string_view path) const {
    return known_ == Known::kAll && paths_.contains(path);
  }

 private:
  Known known_;
  std::set<std::string, std::less<>> paths_;
};

Tracked read_git_index(base::FdView workspace);
Tracked tracked_in(const std::string& workspace);

/// For tests: the content of an index.
Tracked parse_git_index(std::string_view bytes);

}  // namespace cordon::cli
