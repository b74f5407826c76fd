// What a command's run sees, writes and does not see beside its profile: by the configuration and by flags.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/abs_path.h"
#include "cli/verdict.h"
#include "plan/plan.h"
#include "policy/config/merge.h"
#include "policy/ecosystem/effective.h"

namespace cordon::cli {

/// --cache shared: the caches of the profile are the host's own, written in place and not executed from.
base::Result<bool, Stop> shares_caches(const Arguments& arguments);
void share_cache(const policy::ecosystem::Root& cache, policy::Policy& policy);

/// What the paths of flags start from.
struct FlagPlaces {
  std::string working_directory, home;
};

/// Every path that is hidden by hand: what a profile would show there it does not show.
base::Result<std::vector<std::string>, Stop> denied_places(const Arguments& arguments,
                                                           const policy::config::Merged& config,
                                                           const FlagPlaces& places);

void add_config_grants(const policy::config::Merged& config, policy::Policy& policy);

/// --allow-read and its kind, --timeout.
base::Result<void, Stop> add_flag_grants(const Arguments& arguments, const FlagPlaces& places, policy::Policy& policy);

/// After all grants: of what is neither there nor shown nothing has to be hidden.
void add_config_denies(const policy::config::Merged& config, const std::string& workspace,
                       std::span<const base::AbsPath> homes, policy::Policy& policy, std::vector<plan::Note>& notes);

}  // namespace cordon::cli
