// A command's run under the landlock engine (SPEC §9.4): there are no views. The workspace is shown as it stands and
// read-only; outputs and lock files that stand, and outputs that the profile declares, are written in place.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace cordon::cli {

/// Why there is no view; "" under the other engine.
std::string no_views(const policy::Posture& posture);

/// Grants for writing, at each of these directories of the workspace: outputs and lock files that stand there, and at
/// the last of them (where the command stands) declared output directories that are to be made.
void write_in_place(CommandRun& run, const std::vector<std::string>& levels,
                    const std::function<bool(const std::string&)>& is_denied);

/// What that engine has not: places of Cordon's own at other paths, settings made for the run, and the network that a
/// profile would give a command which works without. Told in notes.
void leave_out_on_host(CommandRun& run);

/// Directories that write_in_place() had made and the run left empty.
void remove_empty_outputs(const CommandRun& run);

}  // namespace cordon::cli
