// host_rule: which spellings of a host a network rule may use. Exactly one spelling per meaning: what a resolver, a
// browser or inet_aton would read as an address must be the canonical address, so that no rule says one thing to a
// person and another to the machine.
//
// Accepted: a name (ASCII letters, digits, inner hyphens), ".name" and "*.name" for every host below it, "*", a
// canonical IPv4 or IPv6 literal, a CIDR block of one. Pure text: nothing is resolved.
#pragma once

#include <optional>
#include <string_view>

#include "policy/manifest/values.h"

namespace cordon::policy::manifest {

std::optional<Fault> check_host(std::string_view host);
std::optional<Fault> check_port_rule(std::string_view port);
std::optional<Fault> check_plain_port(std::string_view port);

}  // namespace cordon::policy::manifest
