// Reached: the registry that npm is set up for here. Its name stands in npm's settings and nowhere else.
#pragma once

#include <string>
#include <vector>

#include "support/identity.h"

namespace cordon::test {

/// Asks it for one version.
bool registry_is_reached();
/// From here on nobody is to try it.
void leave_out_registry();
/// As whom it is tried.
std::vector<Identity> registry_identities();

/// "https://host/"; what npm says when it is asked once.
const std::string& registry();
/// `--allow-address` for each address of the registry's host: a mirror lies in an inner network perhaps.
const std::vector<std::string>& registry_flags();

}  // namespace cordon::test
