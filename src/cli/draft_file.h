// The file of a draft: the manifest that stands there already, if any, and the text that comes of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/choosing.h"
#include "cli/commands.h"
#include "cli/subject.h"
#include "policy/approval/draft_file.h"
#include "report/profile_view.h"

namespace cordon::cli {

/// The manifest at --out, where there is one. Refused: one for another program, and whatever is no manifest.
base::Result<std::optional<Opened>, Stop> existing_draft(const Invocation& invocation, const plan::HostFacts& facts,
                                                         const Subject& subject);

/// Before anything is run for a draft that has no file yet: a directory that the caller may write, held from then on,
/// and nothing by that name, be it a link that leads nowhere. Nothing where the draft goes to standard output.
base::Result<std::optional<policy::approval::DraftPlace>, Stop> require_place_for_draft(Host& host,
                                                                                        const Subject& subject);

/// What a draft is made on top of: `begins`, one of the subject's, or the existing manifest's policy started like it. A
/// line of it that gives what was declined is taken out, and said in `view`.
policy::Policy draft_base(const Subject& subject, const policy::Policy& begins, const std::optional<Opened>& existing,
                          const Declined& declined, report::ProfileView& view);

/// Writes it; says in `view` where, and what became of what was there. The policy must be composed.
/// `place` is what require_place_for_draft() held, where there is no existing manifest.
base::Result<void, Stop> write_draft(Context& context, const Subject& subject, std::optional<Opened>& existing,
                                     const std::optional<policy::approval::DraftPlace>& place,
                                     const policy::Policy& drafted, report::ProfileView& view);

}  // namespace cordon::cli
