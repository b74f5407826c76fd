// The few lines of a git configuration that say where hooks come from. Parsed by ourselves: git itself, started in a
// repository that a target could write, executes what its configuration says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::host {

struct GitConfig {
  enum class Setting : unsigned char { kHooksPath, kInclude, kConditionalInclude };
  struct Line {
    Setting setting = Setting::kHooksPath;
    std::string value;
    friend bool operator==(const Line&, const Line&) = default;
  };
  std::vector<Line> lines;  ///< in the order of the file
  friend bool operator==(const GitConfig&, const GitConfig&) = default;
};

/// Nothing where the text is no configuration that git would read (git-config(1), "Syntax").
std::optional<GitConfig> parse_git_config(std::string_view text);

}  // namespace cordon::host
