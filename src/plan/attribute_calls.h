// Calls that change a file's mode, owner, times or extended attributes: Landlock has no right for them, so that a
// target without a mount namespace could make them on any file of its user's. In the landlock engine the supervisor
// makes them for the target (Plan::serves_attributes), where the file lies in what is granted for writing.
//
// The planner's filter names them by these names, the supervisor knows them by number. Newer forms that only flags or a
// structure in memory tell apart from these (fchmodat2, setxattrat, removexattrat, file_setattr) are ENOSYS: libc and
// tools fall back.
#pragma once

#include <array>

namespace cordon::plan {

inline constexpr std::array kAttributeCalls = std::to_array<const char*>(
    {"chmod", "fchmod", "fchmodat", "chown", "lchown", "fchown", "fchownat", "utime", "utimes", "futimesat",
     "utimensat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"});

}  // namespace cordon::plan
