// Whom TLS clients trust beside the system's own list: a company's authority, which the caller's environment names
// (SSL_CERT_FILE and its kind). Where a run has a way out the variable passes and what it names can be read, without a
// line of the manifest, because without it no client believes the proxy or the mirror that its rules name.
//
// Nothing else is widened by it: what a shield hides, what a line denies and what is not there is not shown, and then
// the variable does not pass either.
#pragma once

#include <string>
#include <vector>

#include "planner/draft.h"
#include "planner/environment.h"
#include "planner/mounts.h"
#include "planner/shields.h"

namespace cordon::planner {

/// Paths that are asked about.
std::vector<std::string> trust_questions(const policy::Policy& policy);

/// Read-only, each where it stands.
void want_trust(const Draft& draft, const Shields& shields, std::vector<Want>& wants, std::vector<Link>& links);

/// Adds the variables whose paths are all shown to `environment`, where the policy says nothing of that name; a note of
/// each that is left out.
void pass_trust(Draft& draft, const Arranged& arranged, Environment& environment);

}  // namespace cordon::planner
