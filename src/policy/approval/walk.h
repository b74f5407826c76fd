// Reaching a path by descriptors that follow nothing, and writing down everything that was crossed. Private to this
// room.
//
// Each component is opened with O_PATH | O_NOFOLLOW relative to the one before it; a symbolic link is read through its
// own descriptor and expanded here, so that the link that was recorded is the link that was followed. Nothing is opened
// for reading: a FIFO or a device at the end is only looked at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "kernel/errno.h"
#include "policy/approval/facts.h"

namespace cordon::policy::approval {

struct Walk {
  std::vector<WalkStep> steps;
  std::string name_path;  ///< where the last written component stands
  std::string real_path;
  base::Fd parent;  ///< O_PATH: the directory of real_path ("/" for itself)
  base::Fd object;  ///< O_PATH
  FileFacts facts;
};

struct WalkFailure {
  std::string at;             ///< the component that could not be passed, links before it resolved
  kernel::Errno errno_value;  ///< ELOOP also for more than 40 links
  bool nameless = false;      ///< a link of /proc to a pipe, a socket or the like
};

/// Whether WalkStep::acl is filled. It costs as much as all else of a step, for who does not look at it.
enum class Acls : std::uint8_t { kLeave, kRead };

/// `absolute` begins with '/'. A trailing slash asks for a directory, as everywhere.
base::Result<Walk, WalkFailure> walk(std::string_view absolute, Acls acls = Acls::kRead);

kernel::Sys<FileFacts> facts_of(base::FdView fd);
AclFacts acl_of(base::FdView fd, const FileFacts& facts);

/// The same object again, for reading: never another that took its name meanwhile. Non-blocking.
kernel::Sys<base::Fd> reopen(base::FdView object, int flags);

/// Where the kernel says that an open object is; "" when it does not say.
std::string location_of(base::FdView object);

}  // namespace cordon::policy::approval
