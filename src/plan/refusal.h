// Refusal: what cannot be held, the line that asked for it, the smallest mend. The planner's other answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "plan/host_facts.h"
#include "plan/plan.h"

namespace cordon::plan {

/// Whose mistake it is: a run names a user's mistake as that and never as a weakness of the host (SPEC §12).
enum class Blame : std::uint8_t { kPolicy, kHost, kUnsupported };

struct RefusedItem {
  std::string code;  ///< stable, kebab-case: "entrypoint-not-executable"
  Blame blame = Blame::kPolicy;
  std::optional<Layer> layer;
  std::string message;  ///< one sentence, bytes from outside quoted
  std::string mend;     ///< the smallest mend, or empty
  base::Span at;
  bool is_grant = false;           ///< concerns one permission asked for (validate lists it beside its path, if one)
  std::optional<Feature> feature;  ///< the host fact that decided, if one did: dropped and probed anew once
  friend bool operator==(const RefusedItem&, const RefusedItem&) = default;
};

struct Refusal {
  std::vector<RefusedItem> items;  ///< never empty
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

}  // namespace cordon::plan
