// Where the launcher of this program is installed.
#pragma once

#include <string>
#include <vector>

#include "enforce/launch/start.h"
#include "report/doctor.h"

namespace cordon::cli {

/// <directory of this program>/../libexec/cordon/cordon-launch, else beside it (a build tree), else "".
std::string installed_launcher();

/// Every place that is looked at for it, up to the one where it is found: whoever makes a file there chooses it.
std::vector<std::string> launcher_places();

/// This program's own file; "" where it cannot be told.
std::string own_program();

enforce::launch::LauncherSource launcher_source();

/// For doctor: is it there, and is it of this build?
report::LauncherState launcher_state();

}  // namespace cordon::cli
