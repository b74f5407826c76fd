// settings_of(): what a plan says of its way out, as the broker's configuration. The texts are read back by the one
// parser; one that it does not read is an Error, and nothing starts.
#pragma once

#include "base/result.h"
#include "egress/config.h"
#include "plan/plan.h"

namespace cordon::enforce::outlet {

base::Result<egress::Config> settings_of(const plan::Plan& plan);

}  // namespace cordon::enforce::outlet
