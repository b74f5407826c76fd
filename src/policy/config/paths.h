// Paths of a configuration on this machine: "~/x", "$HOME/x", "$PWD/x", "./x" and "x" of the working directory,
// absolute ones. Lexical; whether one is a directory is not said by a trailing '/': "./dist" is the directory where one
// stands.
#pragma once

#include <optional>
#include <string_view>

#include "base/abs_path.h"

namespace cordon::policy::config {

struct Places {
  base::AbsPath home;
  base::AbsPath working_directory;
};

/// Nothing for a text that check_path() refuses.
std::optional<base::AbsPath> expand(std::string_view written, const Places& places);

/// "x", "./x" and "$PWD/x": what it means depends on where a command is run.
bool is_relative(std::string_view written);

}  // namespace cordon::policy::config
