// What stands around a command: the directories above it, the homes that count, the files that must not be read yet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/abs_path.h"
#include "base/fd.h"
#include "host/host.h"
#include "plan/host_facts.h"
#include "policy/ecosystem/detect.h"
#include "policy/policy.h"

namespace cordon::cli {

/// From `from` to the root, each with the names that detection looks at. A directory that cannot be read has none.
/// A name that somebody else put there (in a directory that all may write) tells nothing: of the names count those of
/// `uid`, of root, and of the owner of `from`.
std::vector<policy::ecosystem::Directory> upwards(const std::string& from, std::uint32_t uid);

std::vector<base::AbsPath> homes_of(const plan::HostFacts& facts);

/// Files of variables (".env" and its kind) in the directory and some levels below it, not in what tools made; paths
/// relative to it. `whole` is false where there was more to look at than is looked at.
struct EnvironmentFiles {
  std::vector<std::string> paths;
  bool whole = true;
};
EnvironmentFiles environment_files(const std::string& directory);

/// Why there can be no view of this workspace here; "" where nothing is known against it.
std::string obstacle_to_view(const plan::HostFacts& facts, const std::string& state, const std::string& workspace);

/// The content of a regular file of a tool's settings; "" where there is none, or where it is too long for one.
std::string small_text(const std::string& path);

/// A directory at `below` in `root`, reached through no link: what a link in a project leads to is not the project's.
bool is_directory_below(const std::string& root, const std::string& below);

policy::WorkspaceMode in_policy(policy::ecosystem::WorkspaceMode mode);

/// `root`, and each directory on the way down `below` it ("/a/b", or "").
std::vector<std::string> levels_down(const std::string& root, const std::string& below);

/// The names in a directory, in no order.
std::vector<std::string> names_in(base::FdView directory);

bool exists(const std::string& path);
bool is_directory(const std::string& path);
/// An output of this name holds programs that the project's commands start.
bool holds_programs(std::string_view output);

/// `real` as $PWD spells it, where the working directory lies in it and $PWD is another spelling of that.
std::string as_spelled(const std::string& real, const host::Caller& caller);

}  // namespace cordon::cli
