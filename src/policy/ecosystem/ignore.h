// IgnoreRules: git's ignore patterns (gitignore(5)), as far as whole directories go.
//
// Pure text in, answer out; bounded in patterns, their length and the work of a match, because the files may be
// anybody's. A file beyond a bound, or a pattern that is not understood, ignores nothing: then less is promoted.
// The caller adds the files from the weakest to the strongest: core.excludesFile, info/exclude, then .gitignore from
// the workspace's root downwards.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::policy::ecosystem {

class IgnoreRules {
 public:
  static constexpr std::size_t kMostPatterns = 20'000;
  static constexpr std::size_t kLongestPattern = 4'096;
  static constexpr std::size_t kLargestFile = std::size_t{1} << 20;

  /// The patterns of one file. `base`: the directory that they are seen from, relative to the workspace, "" for it.
  /// False where the file is beyond a bound; nothing of it counts then.
  bool add(std::string_view text, std::string_view base);

  /// Whether git would ignore the directory at `path` (relative, normal) as a whole: it or one above it matches, and
  /// nothing stronger takes it back.
  [[nodiscard]] bool ignores_directory(std::string_view path) const;

 private:
  struct Pattern {
    std::string text;  ///< without '!', leading and trailing '/'
    std::string base;
    bool negated = false, anchored = false;
  };
  [[nodiscard]] bool decides(std::string_view path) const;

  std::vector<Pattern> patterns_;
};

}  // namespace cordon::policy::ecosystem
