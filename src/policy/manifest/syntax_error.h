// syntax_error: libyaml's complaint, in words that a person who wrote a manifest can act on.
#pragma once

#include <cstddef>
#include <string_view>

#include "policy/manifest/source.h"

namespace cordon::policy::manifest {

/// `context` and `problem` as libyaml gives them, `at` the byte it stopped at, `context_at` where what it was reading
/// began.
struct SyntaxError {
  std::string_view context, problem;
  std::size_t at = 0, context_at = 0;
};

void report_syntax_error(const Source& source, const SyntaxError& error, Problems& problems);

}  // namespace cordon::policy::manifest
