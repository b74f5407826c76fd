// Writing a draft: a manifest that nobody has approved, new or in the place of the one that it was made from.
//
// A new one is born beside its name (0600, O_EXCL, no link followed) and takes the name in one step, and only where
// nothing has it. One that is merged changes places with the very file and bytes that were read; whatever else has its
// name by then stays, and is refused.
#pragma once

#include <string>

#include "base/diagnostic.h"
#include "base/fd.h"
#include "base/result.h"
#include "policy/approval/manifest_file.h"

namespace cordon::policy::approval {

/// Where a draft that has no file yet will go. The directory is held from before the program runs: one that the program
/// puts under its name leads the draft nowhere else.
struct DraftPlace {
  std::string path;  ///< of the file, absolute
  std::string name;
  base::Fd directory;  ///< O_PATH
};

/// Codes: draft-not-written (with the call and errno).
base::Result<DraftPlace, base::Diagnostics> hold_place_for_draft(const std::string& path);

/// Codes: draft-not-written (with the call and errno), draft-in-the-way (the name, or its directory, is another by
/// now).
base::Result<void, base::Diagnostics> write_new_draft(const DraftPlace& place, const std::string& text);

/// As stamp() writes; `manifest` is then the new file. Codes: draft-not-written, draft-changed.
base::Result<void, base::Diagnostics> replace_with_draft(ManifestFile& manifest, const std::string& text,
                                                         Caller caller);

}  // namespace cordon::policy::approval
