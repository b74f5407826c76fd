// Init: pid 1 of the sandbox. Builds the root, starts the target's child, then only reaps and reports.
//
// It is not dumpable (the target could trace it otherwise), ignores what the target sends it (the kernel does that for
// pid 1), and once the target's child is started it has no capability and one descriptor, the life socket. When the
// supervisor's end of it is closed, by whatever death, init exits and the kernel kills everything else. Not PDEATHSIG:
// that fires when the *thread* that spawned ends.
#pragma once

#include <sys/types.h>

#include "kernel/file.h"
#include "plan/wire.h"

namespace cordon::enforce::launch {

/// `maps_written` gives one byte when the id maps stand, and ends otherwise. The plan comes when it is made.
[[noreturn]] void run_init(const plan::wire::View& opening, kernel::FdView maps_written, mode_t callers_umask);

}  // namespace cordon::enforce::launch
