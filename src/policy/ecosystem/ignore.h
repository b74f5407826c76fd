// IgnoreRules: git's ignore patterns (gitignore(5)), as far as whole directories go.
//
// Pure text in, answer out; bounded in patterns, their length and the work of a match, because the files may be
// anybody's. A file beyond a bound, and one that takes back ("!") what is not understood, ignores nothing: then less is
// promoted. The caller adds the files from the weakest to the strongest: core.excludesFile, info/exclude, then
// .gitignore from the workspace's root downwards.
//
// Not seen here: git's index. A folder that is ignored and yet holds files of a commit is ignored here as well.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::policy::ecosystem {

class IgnoreRules {
 public:
  static constexpr std::size_t kMostPatterns = 20'000;
  static constexpr std::size_t kLongestPattern = 1'024;
  static constexpr std::size_t kLargestFile = std::size_t{1} << 20;

  enum class Added : std::uint8_t { kAll, kNothing };
  /// The patterns of one file. `base`: the directory that they are seen from, relative to the workspace, "" for it.
  Added add(std::string_view text, std::string_view base);

  /// The outermost directory at or above `path` (relative to the workspace, normal) that git ignores as a whole;
  /// nothing where there is none.
  [[nodiscard]] std::optional<std::string_view> ignored_root(std::string_view path) const;

  /// One step of a pattern. Private in spirit: glob() makes them.
  struct Token {
    enum class Kind : std::uint8_t {
      kByte,
      kOneOf,
      kAny,          ///< '?'
      kStar,         ///< '*': any bytes of one component
      kDirectories,  ///< "**/": no or some whole components
      kRest,         ///< "**" at the end
    };
    Kind kind = Kind::kByte;
    char byte = 0;
    std::bitset<256> set = {};
  };

 private:
  struct Pattern {
    std::vector<Token> tokens;
    std::string base;
    bool negated = false, anchored = false;
  };
  [[nodiscard]] bool is_ignored_itself(std::string_view path) const;

  std::vector<Pattern> patterns_;
};

/// Nothing where the pattern is not understood; it then matches nothing.
std::optional<std::vector<IgnoreRules::Token>> glob(std::string_view pattern);
bool matches(const std::vector<IgnoreRules::Token>& tokens, std::string_view text);

}  // namespace cordon::policy::ecosystem
