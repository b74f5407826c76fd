// Other grants in a manifest that belongs to somebody else: `profile` merges what a run asked for into it.
//
// As with_provenance(): only what must change is touched, and the result has been parsed again and means what was
// wanted, nothing more.
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "base/result.h"
#include "policy/policy.h"

namespace cordon::policy::manifest {

/// A text with other permissions in it.
struct Rewritten {
  std::string text;
  bool layout_kept = true;  ///< false: written anew, comments are gone
};

/// The text with the program, its interpreter and the grants of `wanted`: what is missing is added behind its fellows,
/// what `wanted` has no more is taken out, every other byte stays. Where the layout leaves no plain place for that the
/// text is written anew. Provenance is left as it stands: with_provenance() comes after.
base::Result<Rewritten, base::Diagnostics> with_permissions(std::string_view text, const Policy& wanted);

}  // namespace cordon::policy::manifest
