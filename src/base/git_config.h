// The few lines of a git configuration that say where hooks, further configuration and a checkout are, and which
// programs git starts. Pure: text in, values out.
//
// Parsed by ourselves, for the planner (what must be held) and the host (what is told after a run): git itself, started
// in a repository that a target could write, executes what its configuration says. Both read by these rules and no
// others, so that nothing is told or held by one and overlooked by the other. The text may be anybody's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cordon::base {

struct GitConfig {
  enum class Setting : unsigned char { kHooksPath, kInclude, kConditionalInclude, kWorktree, kSubmodule, kProgram };
  struct Line {
    Setting setting = Setting::kHooksPath;
    std::string value;
    /// Of a submodule, whose path the value is; of a program the setting: "core.fsmonitor", "filter.lfs.clean".
    std::string name = {};
    friend bool operator==(const Line&, const Line&) = default;
  };
  std::vector<Line> lines;  ///< in the order of the file
  /// False where git would not read it (git-config(1), "Syntax"). `lines` then has what the rest says: another reader,
  /// or the file once it is mended, obeys that.
  bool well_formed = true;
  friend bool operator==(const GitConfig&, const GitConfig&) = default;
};

GitConfig parse_git_config(std::string_view text);

}  // namespace cordon::base
