// What a directory holds, asked for names. It never says that a name is missing which a directory that folds
// case would find under another spelling.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace cordon::host {

/// `name` in `directory`; the directory itself where the name is empty.
std::string below_of(std::string_view directory, std::string_view name);

class DirectoryListing {
 public:
  explicit DirectoryListing(const std::vector<std::string>& entries);
  /// False: no spelling of it stands there.
  [[nodiscard]] bool may_have(std::string_view name) const;

 private:
  static constexpr std::size_t kMarks = 2048;
  std::bitset<kMarks> marks_;  ///< one for each name: hundreds are asked for, and nearly none stands there
  std::unordered_set<std::string> ascii_;
  std::vector<std::string> others_;  ///< names that are not ASCII, by what of them is
};

}  // namespace cordon::host
