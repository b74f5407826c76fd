// `approve --pin`: the entrypoint joins the manifest's `pin:` list, so that the stamp covers its content.
#pragma once

#include "cli/verdict.h"

namespace cordon::cli {

/// Adds the line to the text that will be stamped and takes pins and fingerprint anew. Does nothing where the
/// entrypoint is pinned already; refuses, with the line to write by hand, where the manifest's layout leaves no plain
/// place for it.
base::Result<void, Stop> pin_entrypoint(Opened& opened, const plan::HostFacts& facts);

}  // namespace cordon::cli
