// The answer of a person, without which nothing is stamped or trusted.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/verdict.h"
#include "policy/approval/journal.h"

namespace cordon::cli {

/// One item without a place.
report::Refused refused_one(std::string code, std::string message, std::string mend);

/// Asks on the terminal alone. Nothing where the answer is yes, or was given with --yes; `without` is what --yes does:
/// "stamp without asking".
base::Result<policy::approval::Reviewed, Stop> consent(const Context& context, const Arguments& arguments,
                                                       std::string_view question, std::string_view without);

}  // namespace cordon::cli
