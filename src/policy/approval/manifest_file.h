// ManifestFile: the manifest, opened once. The bytes that are parsed, judged, shown and stamped are the bytes read
// here; nothing reads the name again but stamp(), which refuses where it no longer leads to this file.
//
// The path is walked component by component with descriptors that follow nothing (O_PATH | O_NOFOLLOW); links are
// expanded by hand, at most 40 of them, and every directory and link that was crossed is recorded in `walk` for
// judge_location(). Only a regular file of at most 1 MiB is read: a FIFO, a device or a directory is named as that
// before anything opens it, so that nothing blocks and no device is touched.
//
// Called by cli/ for validate, approve, inspect and run. Must not print, and must not look at the environment.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/fd.h"
#include "base/result.h"
#include "policy/approval/facts.h"

namespace cordon::policy::approval {

inline constexpr std::size_t kMostManifestBytes = 1U << 20;
inline constexpr int kMostLinkHops = 40;

struct ManifestFile {
  std::string text;
  std::string written_path;  ///< as the user named it; use it as Span::file
  std::string name_path;     ///< absolute: where the name stands, which may be a link
  std::string directory;     ///< absolute: of name_path; what the manifest's relative paths start from
  std::string real_path;     ///< absolute: the file itself, every link followed; the journal's key
  std::string located;       ///< where the kernel says that the open file is; differs when it moved; "" when unreadable
  FileFacts facts;           ///< identity, owner, mode
  AclFacts acl;
  std::string digest;  ///< SHA-256 of `text`, lower-case hex
  std::vector<WalkStep> walk;

  base::Fd file;            ///< the bytes were read through this one
  base::Fd real_directory;  ///< O_PATH, the directory of real_path
};

/// Opens and reads the manifest at `path` (relative: from the current directory). Problems: a missing file (with the
/// manifest that was probably meant), a script named instead of its manifest, what is not a regular file, a loop of
/// links, a file beyond 1 MiB or that cannot be read.
///
/// Codes: manifest-missing, manifest-not-regular, manifest-loop, manifest-too-large, manifest-unreadable,
/// manifest-path, manifest-changing, manifest-is-script.
base::Result<ManifestFile, base::Diagnostics> open_manifest(std::string_view path);

/// The manifest that was probably meant where the file at `path` turned out not to parse as one: `<path>.manifest.yaml`
/// where that is a regular file, else "". cli/ adds it as a hint to a parse error.
std::string manifest_beside(std::string_view path);

}  // namespace cordon::policy::approval
