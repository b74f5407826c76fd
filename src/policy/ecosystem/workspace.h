// The workspace root: the directory that a command sees as its own (SPEC §9.4).
//
// The nearest directory with ".git" (a directory or a worktree's file), else the nearest with a marker, else the
// working directory. Never "/", a home or what holds one, or a place shared by all: that is refused with the `cd` that
// would do. Pure; lexical. The caller gives real paths.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/abs_path.h"
#include "base/diagnostic.h"
#include "base/result.h"
#include "policy/ecosystem/detect.h"

namespace cordon::policy::ecosystem {

struct WorkspaceRoot {
  base::AbsPath path;
  std::string because;  ///< ".git", "package.json", "" for the working directory itself
  friend bool operator==(const WorkspaceRoot&, const WorkspaceRoot&) = default;
};

/// `upwards` as in detect(), its first is the working directory; `homes`: of every account that counts. A `.git` or a
/// marker in a home or above does not count (dotfiles kept in git): what lies below it does.
base::Result<WorkspaceRoot, base::Diagnostic> workspace_root(std::span<const Directory> upwards,
                                                             std::span<const base::AbsPath> homes);

}  // namespace cordon::policy::ecosystem
