// A directory, and files in it, that nobody but the caller and root can have written.
// For the journal here, and for cli/ with the records of runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/result.h"
#include "policy/approval/facts.h"

namespace cordon::policy::approval {

/// Why the object is not private, in words: "belongs to user 1001", "is writable by others". Nothing where it is.
/// A sticky bit changes nothing: it keeps others from removing an entry, not from planting one.
std::optional<std::string> why_not_private(base::FdView object, const FileFacts& facts, Caller caller);

struct Opened {
  enum class State { kAbsent, kUntrusted, kPrivate };
  State state = State::kAbsent;
  base::Fd fd;      ///< O_PATH; only for kPrivate
  std::string why;  ///< one sentence, quoted; only for kUntrusted
};

/// The directory at `path` (absolute), if it is private. Links above it must be the caller's or root's; it may be none.
Opened open_private_directory(std::string_view path, Caller caller);

/// The directory `name` in such a directory, likewise, never through a link.
Opened open_private_directory_in(base::FdView directory, const std::string& name, Caller caller);

/// The regular file `name` in it, likewise, never through a link.
Opened open_private_file(base::FdView directory, const std::string& name, Caller caller);

/// Makes the directory at `path` and what is missing above it, 0700, and opens it as above.
base::Result<base::Fd> make_private_directory(const std::string& path, Caller caller);

}  // namespace cordon::policy::approval
