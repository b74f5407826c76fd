// Where the launcher of this program is installed.
#pragma once

#include <string>

#include "enforce/launch/start.h"
#include "report/doctor.h"

namespace cordon::cli {

/// <directory of this program>/../libexec/cordon/cordon-launch, else beside it (a build tree), else "".
std::string installed_launcher();

enforce::launch::LauncherSource launcher_source();

/// For doctor: is it there, and is it of this build?
report::LauncherState launcher_state();

}  // namespace cordon::cli
