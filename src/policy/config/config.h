// The global configuration, ~/.config/cordon/config.yaml: what an operator says of this host once, for every run.
//
//   allow_address: [10.0.0.0/8]      # as --allow-address
//
// Read as strictly as a manifest (the same subset of YAML; unknown and repeated keys are errors; all problems in one
// go). Every entry keeps its place. Pure: cli/global_config.h finds the file and judges who can write it.
#pragma once

#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/result.h"
#include "policy/policy.h"

namespace cordon::policy::config {

struct Config {
  std::vector<Text> allow_address;  ///< canonical blocks
  friend bool operator==(const Config&, const Config&) = default;
};

/// An empty text is an empty configuration.
base::Result<Config, base::Diagnostics> parse(std::string_view text, std::string_view file);

}  // namespace cordon::policy::config
