// What became of a run's writes, in words and as JSON: for `cordon changes` and for the end of a run.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "enforce/promote/promote.h"

namespace cordon::cli {

/// "it is no output", "the host changed it meanwhile".
std::string_view words_of(enforce::promote::Reason reason);

/// A line for what was promoted, and one for each entry that was not, at most twenty for each list.
std::string promotion_words(const enforce::promote::Outcome& outcome);

nlohmann::json promotion_json(const enforce::promote::Outcome& outcome);

}  // namespace cordon::cli
