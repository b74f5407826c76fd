// host_rule: the values of a network rule in a manifest. policy/network has the one parser of hosts and ports; this
// turns its faults into those of a manifest's value. A manifest's ".name" does not cover the name itself.
#pragma once

#include <optional>
#include <string_view>

#include "policy/manifest/values.h"

namespace cordon::policy::manifest {

std::optional<Fault> check_host(std::string_view host);
std::optional<Fault> check_port_rule(std::string_view port);
std::optional<Fault> check_plain_port(std::string_view port);

}  // namespace cordon::policy::manifest
