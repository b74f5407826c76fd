// The words about what a run left behind that a tool executes without being asked. For tired people: the file, what
// became of it, and who will execute it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/left_behind.h"

namespace cordon::report {

/// One sentence for each, paths quoted; few enough for one screen, the rest is counted.
std::vector<std::string> left_behind_sentences(const plan::LeftBehind& left);

/// What executes a file of this name: "npm will run its scripts"; a general sentence for a name that is not known.
std::string_view runner_of(const plan::AutoExecChange& change);

}  // namespace cordon::report
