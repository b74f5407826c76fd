// Invocation: all that the surroundings of a command say, read once in main.cc: argv, the environment, the directory,
// the terminals, who asks. The only reader of the environment in the house.
//
// A value: tests make their own. Nothing below main() looks at the process again for any of this.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"
#include "report/layout.h"

namespace cordon::cli {

/// One of the three standard descriptors.
struct Console {
  bool terminal = false;
  report::Style style;  ///< of what is printed there
};

struct Invocation {
  std::vector<std::string> arguments;  ///< without argv[0]
  host::Caller caller;
  Console in, out, err;
};

/// Reads this process's surroundings.
base::Result<Invocation> read_invocation(int argc, char** argv, char** environment);

/// $NAME where it is an absolute path, else "".
std::string absolute_variable(const host::Caller& caller, const char* name);

/// $XDG_CONFIG_HOME/cordon, else ~/.config/cordon below `home`; "" where neither is absolute.
std::string config_directory(const host::Caller& caller, const std::string& home);

/// $XDG_STATE_HOME/cordon, else ~/.local/state/cordon below `home`; "" where neither is absolute.
std::string state_directory(const host::Caller& caller, const std::string& home);

}  // namespace cordon::cli
