// What this host must have for a plan to hold, and what becomes of a plan where it has not.
//
// A fact that is kUnknown counts as there (SPEC §11): the step that fails for it is probed and planned again. A core
// promise that cannot be held refuses, unless the caller allows less and the promise is not one that the others rest
// on; a hardening one is reported, and refuses under --strict.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "planner/draft.h"

namespace cordon::planner {

struct KernelVersion {
  unsigned major = 0, minor = 0;
  friend auto operator<=>(const KernelVersion&, const KernelVersion&) = default;
};

/// "6.1.0-50-cloud" is 6.1; nothing for what does not start so.
std::optional<KernelVersion> kernel_version(std::string_view release);

void check_host(Draft& draft);

/// The host has no such feature, and says so.
bool lacks(const plan::HostFacts& facts, plan::Feature feature);

/// Hardening that is not held: a degradation, or a refusal under --strict. `left`: kDegraded where it is a part of the
/// layer only.
void lack_hardening(Draft& draft, plan::Layer layer, plan::Feature feature, std::string what, std::string mend,
                    plan::LayerState left = plan::LayerState::kUnavailable);

}  // namespace cordon::planner
