// `devices`: a character device of the host in the private /dev. Whose driver is the host itself (its memory, its
// disks, what is typed on its keyboards) is refused.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "planner/draft.h"
#include "planner/identity.h"

namespace cordon::planner {

std::vector<std::string> device_questions(const policy::Policy& policy);

/// After the step that makes /dev.
void mount_devices(Draft& draft, const Identity& identity);

/// All that is wrong with what `devices` names.
void check_devices(Draft& draft);

}  // namespace cordon::planner
