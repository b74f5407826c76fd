// Putting a new text in the manifest's place: the write that must not go wrong. Private to this room.
//
// Between the reading and the writing a person read for minutes, and somebody may have swapped the file, its directory
// or a link. Everything here is relative to the directory that was held since then: a link that was re-pointed
// meanwhile is not followed. The new file changes places with the old one in one step and what came out is looked at
// again, so that even a change in the last instant is undone and refused. Where the file system cannot exchange, a
// plain rename follows the check.
#pragma once

#include <string>

#include "base/diagnostic.h"
#include "base/result.h"
#include "policy/approval/manifest_file.h"

namespace cordon::policy::approval {

/// On success `manifest` is the new file. On failure the name leads to what it led to, and no temporary file is left.
/// The mode stays but for the group and world write bits; as root the owner stays too.
base::Result<void, base::Diagnostics> replace_manifest(ManifestFile& manifest, const std::string& text, Caller caller);

}  // namespace cordon::policy::approval
