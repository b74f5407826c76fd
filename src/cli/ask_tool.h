// What a tool says of itself (`npm config get registry`), asked once: in a sandbox without network, with an empty home
// and away from the project, so that nothing that the project holds answers in its place. Remembered by the identity of
// the program, so a new version is asked again.
#pragma once

#include <string>
#include <vector>

#include "cli/command_network.h"
#include "cli/command_places.h"
#include "cli/verdict.h"

namespace cordon::cli {

struct ToolQuestion {
  std::vector<std::string> argv;
  std::string workspace;                ///< no program below it is asked
  std::vector<std::string> toolchains;  ///< shown to the tool
};

/// Its standard output, at most 4 KiB; "" where it says nothing, fails, or is not there.
std::string ask_tool(const Invocation& invocation, CommandPlaces& places, const ToolQuestion& question);

/// As allow_network() asks: with what the profiles show of toolchains. The arguments must outlive it.
AskTool asking_tools(const Invocation& invocation, CommandPlaces& places, const std::string& workspace,
                     const policy::ecosystem::Effective& effective);

}  // namespace cordon::cli
