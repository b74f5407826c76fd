// What a directory holds, asked for names. It never says that a name is missing which a directory that folds
// case would find under another spelling.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace cordon::host {

class DirectoryListing {
 public:
  explicit DirectoryListing(const std::vector<std::string>& entries);
  /// False: no spelling of it stands there.
  [[nodiscard]] bool may_have(std::string_view name) const;

 private:
  std::unordered_set<std::string> ascii_;
  std::vector<std::string> others_;  ///< names that are not ASCII, by what of them is
};

}  // namespace cordon::host
