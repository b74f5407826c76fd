// --ask, --allow-address and --upstream-proxy: what an operator says of this host's own network, read by the one parser
// of addresses and hosts. What the environment says of a proxy stands where no flag does.
#pragma once

#include "cli/parse.h"
#include "cli/verdict.h"

namespace cordon::cli {

/// Fills the posture's part.
base::Result<void, Stop> network_posture(const Invocation& invocation, const Arguments& arguments,
                                         policy::Posture& posture);

}  // namespace cordon::cli
