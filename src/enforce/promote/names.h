// Which names never arrive: `.git`, and the names of shields, in whatever case and disguise a file system may take for
// them. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "enforce/promote/promote.h"

namespace cordon::enforce::promote {

/// As a case-folding file system compares: letters small, what is invisible gone, letters that fold to ASCII as that.
std::string fold(std::string_view name);

class ProtectedNames {
 public:
  explicit ProtectedNames(const std::vector<std::string>& shields);
  /// By the last component of a relative path; those above it have been asked about before.
  [[nodiscard]] std::optional<Reason> why_not(std::string_view path) const;

 private:
  std::set<std::string, std::less<>> names_;
  std::map<std::string, std::vector<std::string>, std::less<>> tails_;  ///< by their last component, folded
};

/// Collects the names in one directory: whether git would take it for a repository without a work tree.
class BareRepository {
 public:
  void add(std::string_view name);
  [[nodiscard]] bool is_suspected() const { return head_ || objects_ || refs_ || common_; }
  [[nodiscard]] bool is_one() const { return head_ && (common_ || (objects_ && refs_)); }

 private:
  bool head_ = false, objects_ = false, refs_ = false, common_ = false;
};

}  // namespace cordon::enforce::promote
