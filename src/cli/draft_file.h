// The file of a draft: the manifest that stands there already, if any, and the text that comes of it.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "cli/commands.h"
#include "cli/subject.h"
#include "report/profile_view.h"

namespace cordon::cli {

/// The manifest at --out, where there is one. Refused: one for another program, and whatever is no manifest.
base::Result<std::optional<Opened>, Stop> existing_draft(const Invocation& invocation, const plan::HostFacts& facts,
                                                         const Subject& subject);

/// What a draft is made on top of: the existing manifest's policy with this run's interpreter, or the subject's own.
policy::Policy draft_base(const Subject& subject, const std::optional<Opened>& existing,
                          const std::set<std::string>& declined);

/// Writes it; says in `view` where, and what became of what was there. The policy must be composed.
base::Result<void, Stop> write_draft(Context& context, const Subject& subject, std::optional<Opened>& existing,
                                     const policy::Policy& draft, report::ProfileView& view);

}  // namespace cordon::cli
