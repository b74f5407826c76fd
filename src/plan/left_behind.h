// LeftBehind: what a run left in its write grants that a tool executes without being asked: package.json and its kind,
// the hooks that git takes, repositories and folder hooks that were not there before.
//
// Told, never judged: a build may well have reason to change package.json. Filled by host/auto_exec.h, read by report/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cordon::plan {

enum class FileChange : std::uint8_t { kChanged, kMade, kRemoved };

struct AutoExecChange {
  std::string path;  ///< absolute
  FileChange change = FileChange::kChanged;
  bool is_hook = false;         ///< in a directory that git takes hooks from
  bool is_git_program = false;  ///< git's configuration names it
  friend bool operator==(const AutoExecChange&, const AutoExecChange&) = default;
};

/// Paths are absolute, from outside (unquoted), sorted, each once.
struct LeftBehind {
  std::vector<AutoExecChange> changed;
  std::vector<std::string> redirected_hooks;  ///< directories that git takes hooks from now and did not before
  std::vector<std::string> unresolved_hooks;  ///< checkouts of which it could not be told where git takes hooks from
  std::vector<std::string> repositories;      ///< directories that became a checkout of git
  bool partial = false;                       ///< more was changed than was looked at
  [[nodiscard]] bool empty() const {
    return changed.empty() && redirected_hooks.empty() && unresolved_hooks.empty() && repositories.empty();
  }
  friend bool operator==(const LeftBehind&, const LeftBehind&) = default;
};

}  // namespace cordon::plan
