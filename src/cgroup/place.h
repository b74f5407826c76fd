// Place: a directory of the cgroup v2 hierarchy in which groups of our own may be made, and what keeps us from one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cgroup/helper.h"
#include "plan/host_facts.h"

namespace cordon::cgroup {

/// Of /proc and the mounts, read once.
struct Hierarchy {
  std::string mount;       ///< "/sys/fs/cgroup"; "" where no cgroup2 hierarchy is mounted
  std::string own;         ///< the path of our group in it; "" where there is none
  std::string membership;  ///< /proc/self/cgroup
  bool systemd = false;    ///< a systemd manages this machine, and with it the hierarchy
};
Hierarchy read_hierarchy();

struct Place {
  base::Fd directory;
  std::string path;  ///< for messages
  Helper helper;     ///< of a scope: in it until the Place goes
};

/// The group beside ours, or (of the hierarchy's root, which may hold processes as well) below it. `forced`: also
/// where a systemd manager believes that the place is its own.
enum class Claim : bool { kOnlyOurs, kForced };
base::Result<Place> direct_place(const Hierarchy& hierarchy, Claim claim);

/// A scope "cordon-ID.scope" of the caller's own manager: the system's for root, else the user's.
base::Result<Place> scope_place(const Hierarchy& hierarchy, const std::string& id);

/// A file of a group, whole.
base::Result<std::string> read_file(base::FdView directory, const std::string& name, std::string_view where);
base::Result<void> write_file(base::FdView directory, const std::string& name, std::string_view text,
                              std::string_view where);

}  // namespace cordon::cgroup
