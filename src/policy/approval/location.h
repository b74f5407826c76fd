// Who else can rewrite the manifest, or put another file in its place: the walk of manifest_file.h, judged fact by
// fact. Pure. `approve` refuses on a fatal finding; `run` and `validate` warn, and only where a stamp is at stake.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "policy/approval/accounts.h"
#include "policy/approval/manifest_file.h"

namespace cordon::policy::approval {

/// Codes. Fatal: file-foreign-owner, directory-acl, directory-world-writable, directory-group-shared,
/// directory-foreign-owner, link-foreign-owner, location-unreadable, location-moved, file-unlinked.
/// Not fatal: file-writable, directory-group-unknown.
struct Finding {
  std::string code;
  bool fatal = false;
  std::string message;  ///< one sentence without a full stop; bytes from outside already quoted
  std::string remedy;   ///< the smallest mend
  std::string path;     ///< unquoted: what it is about

  friend bool operator==(const Finding&, const Finding&) = default;
};

/// All findings, those nearest to the root first.
std::vector<Finding> judge_location(const ManifestFile& manifest, Caller caller, const AccountFiles& accounts);

[[nodiscard]] bool has_fatal(const std::vector<Finding>& findings);

/// A finding as a diagnostic about `file`: an error where fatal, else a warning.
base::Diagnostic to_diagnostic(const Finding& finding, const std::string& file);

}  // namespace cordon::policy::approval
