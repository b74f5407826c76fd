// Where git takes the hooks of a checkout from, and which programs its configuration names, read by ourselves and never
// by starting git: a repository that a target may write decides what git executes.
//
// Worktrees and submodules (`.git` is a file), core.hooksPath of the repository, the worktree and the user, and what
// those include. A conditional include counts as a possibility: its hooks are watched too. What lies in a place that
// the target may write is read without following a link, and only if it is a small regular file.
#pragma once

#include <string>
#include <vector>

namespace cordon::host {

struct GitSurroundings {
  std::vector<std::string> user_configs;  ///< /etc/gitconfig, ~/.config/git/config, ~/.gitconfig: the last one decides
  std::string home;
  std::vector<std::string> writable;  ///< real paths that the target may write
};

struct Hooks {
  std::string checkout;                  ///< "" where the directory lies in none
  std::vector<std::string> directories;  ///< absolute, lexically normal, sorted: git takes hooks from one of them
  /// Files that git starts for a setting of these configurations, wherever a word of one leads; sorted. Some may be
  /// no programs, and stand nowhere.
  std::vector<std::string> programs;
  bool unresolved = false;  ///< there may be others
  friend bool operator==(const Hooks&, const Hooks&) = default;
};

/// Of the checkout that `directory` (real, absolute) lies in.
Hooks find_hooks(const std::string& directory, const GitSurroundings& around);

}  // namespace cordon::host
