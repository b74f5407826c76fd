// One run under a policy that is watched, for `profile`: planned, started and waited for like any other run, without a
// record or a report of its own; then this host is asked about what the run named.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cli/commands.h"
#include "cli/verdict.h"
#include "plan/outcome.h"
#include "plan/refusal.h"

namespace cordon::cli {

struct WatchedRun {
  plan::Plan plan;
  plan::Outcome outcome;
  Host host;  ///< asked anew, after the run, about the paths that it named
  std::int64_t began_ns = 0;
};

/// Where the target's standard output goes, and whether it may read.
enum class TargetStreams : std::uint8_t {
  kOwn,    ///< as of any run
  kAside,  ///< both to standard error: standard output is ours
};
enum class TargetInput : std::uint8_t { kOwn, kEmpty };

struct WatchSettings {
  TargetStreams streams = TargetStreams::kOwn;
  TargetInput input = TargetInput::kOwn;
};

/// A Refusal where the policy cannot be held; a Stop where nothing can be said of the run.
base::Result<std::variant<WatchedRun, plan::Refusal>, Stop> watch_run(Context& context, const policy::Policy& policy,
                                                                      const WatchSettings& settings);

/// Why the run shows less than the program would have done: it, or something in it, was ended before its end. Empty
/// where it ended by itself, with whatever code.
std::vector<std::string> early_end(const plan::Outcome& outcome);

}  // namespace cordon::cli
