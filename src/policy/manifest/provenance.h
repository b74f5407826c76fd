// provenance: the one part of a manifest that the tool writes. How the block looks, and how it is put into a text that
// belongs to somebody else without touching another byte of it.
#pragma once

#include <string>
#include <string_view>

#include "policy/policy.h"

namespace cordon::policy::manifest {

/// The block in block style: "provenance:" and its lines, each after `indent`, `end_of_line` between them, none after.
std::string provenance_block(const Provenance& provenance, std::string_view indent, std::string_view end_of_line);

/// The block in flow style: "provenance: {…}".
std::string provenance_flow(const Provenance& provenance);

}  // namespace cordon::policy::manifest
