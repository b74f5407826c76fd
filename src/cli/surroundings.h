// What stands around a command: the directories above it, the homes that count, the files that must not be read yet.
#pragma once

#include <string>
#include <vector>

#include "base/abs_path.h"
#include "plan/host_facts.h"
#include "policy/ecosystem/detect.h"

namespace cordon::cli {

/// From `from` to the root, each with the names that detection looks at. A directory that cannot be read has none.
std::vector<policy::ecosystem::Directory> upwards(const std::string& from);

std::vector<base::AbsPath> homes_of(const plan::HostFacts& facts);

/// Names in this directory that begin with ".env".
std::vector<std::string> environment_files(const std::string& directory);

/// The content of a regular file of a tool's settings; "" where there is none, or where it is too long for one.
std::string small_text(const std::string& path);

bool exists(const std::string& path);
bool is_directory(const std::string& path);

/// `real` as $PWD spells it, where `working_directory` lies in it and $PWD is another spelling of that.
std::string as_spelled(const std::string& real, const std::string& working_directory, const std::string& pwd);

}  // namespace cordon::cli
