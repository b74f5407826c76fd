// Where a stamped manifest leads on this host, against where it led when it was approved here, or first run here. What
// the stamp cannot cover, because it is not in the text (planner/landings.h).
#pragma once

#include <string>
#include <vector>

#include "cli/verdict.h"
#include "plan/plan.h"
#include "policy/approval/landings.h"

namespace cordon::cli {

struct LandingCheck {
  std::vector<policy::approval::Landing> now;
  std::vector<std::string> changes;  ///< sentences; empty where nothing changed or nothing is recorded
  bool recorded = false;
  std::string unusable;  ///< why the record cannot be used; then nothing is compared
};

LandingCheck check_landings(const Invocation& invocation, const plan::HostFacts& facts, const Opened& opened,
                            const plan::Plan& plan);

/// For this fingerprint of this manifest.
base::Result<void> record_landings(const Invocation& invocation, const plan::HostFacts& facts, const Opened& opened,
                                   const std::string& fingerprint, const LandingCheck& check);

/// Nothing where the manifest leads where it led; else why the run is refused.
base::Result<void, Stop> require_landings(const Invocation& invocation, const Opened& opened,
                                          const LandingCheck& check);

}  // namespace cordon::cli
