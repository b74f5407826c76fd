// What the landlock engine does not hold of what the namespace engine does, each by name. The list is the whole: a test
// runs the promise suite on this engine, and what does not hold there without being explained by an entry here fails.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "plan/plan.h"

namespace cordon::plan {

/// What is done about one.
enum class Missing : std::uint8_t {
  kAlways,     ///< of every run of this engine: carried as a degradation
  kSometimes,  ///< where the policy or the host makes it so: carried as a degradation
  kRefuses,    ///< a policy that needs it is refused
};

struct NotHeld {
  std::string_view code;  ///< kebab-case, stable
  Layer layer;
  Missing missing;
  std::string_view what;  ///< one sentence, for doctor, plan and report
};

std::span<const NotHeld> not_held();
const NotHeld& not_held(std::string_view code);

}  // namespace cordon::plan
