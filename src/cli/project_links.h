// What a command needs from outside its workspace because the workspace, or the program, is one part of a larger whole:
// the repository of a linked worktree or submodule, the package that a tool's entry file belongs to.
//
// A file of the project names the repository, and a project may be hostile: it counts only where that repository lies
// outside the workspace, is laid out as git does it, and names the workspace as its own in turn. A grant that comes of
// it lifts no shield.
#pragma once

#include <string>

namespace cordon::cli {

/// The directory that holds the repository's objects and refs, where `workspace` is a linked worktree or a submodule of
/// it; "" where it is not, or where the repository does not say so too.
std::string repository_of(const std::string& workspace);

/// The directory of the package that `program` (followed through every link) is of: what stands below the outermost
/// "node_modules" of its path; "" where it is of none, or where the workspace's own name for it was taken.
std::string package_of(const std::string& program, const std::string& workspace);

}  // namespace cordon::cli
