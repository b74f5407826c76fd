// One file or link from one directory into another, by name, through no link: content, permission bits and time of
// change, and nothing else. The name must be free.
#pragma once

#include <sys/types.h>

#include "base/fd.h"
#include "enforce/promote/beneath.h"

namespace cordon::enforce::promote {

struct Arrival {
  mode_t mode = 0600;
  uid_t uid = 0;
  gid_t gid = 0;
};

Sys<void> copy_file(FdView from, const char* name, FdView to, const char* new_name, Arrival arrival);
Sys<void> copy_link(FdView from, const char* name, FdView to, const char* new_name, Arrival arrival);

/// As root, whose files are not root's; else nothing.
Sys<void> give_to(FdView directory, const char* name, Arrival arrival);

/// No failure where nothing is there.
Sys<void> remove_name(FdView directory, const char* name);

}  // namespace cordon::enforce::promote
