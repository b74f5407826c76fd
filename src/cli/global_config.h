// The global configuration of whoever calls: $XDG_CONFIG_HOME/cordon/config.yaml, else ~/.config/cordon/config.yaml.
//
// None is no configuration. One that cannot be read, that is wrong, or that somebody else can write or put another in
// place of (the same walk and judgement as of a manifest) refuses the command: what it says would hold for every run.
#pragma once

#include "cli/verdict.h"

namespace cordon::cli {

/// Adds what it says to the posture, behind what the flags said.
base::Result<void, Stop> add_global_config(const Invocation& invocation, const plan::HostFacts& facts,
                                           policy::Posture& posture);

}  // namespace cordon::cli
