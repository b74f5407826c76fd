// Two texts, line by line, as a unified diff. Pure and bounded: what is too large, or too different, is shown as all
// old lines and all new ones. Lines are shown escaped where a terminal could be misled by them.
#pragma once

#include <string>
#include <string_view>

namespace cordon::cli {

/// "--- a/PATH", "+++ b/PATH", hunks with three lines around them; "" where both are the same.
std::string line_diff(std::string_view path, std::string_view before, std::string_view after);

/// Whether it is text: valid UTF-8 without a NUL.
bool is_text(std::string_view content);

}  // namespace cordon::cli
