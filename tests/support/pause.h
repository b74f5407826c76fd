// pause_at_launch(): stops a run between planning and mounting, deterministically and without a hook in the product:
// everything that was planned is planned when Cordon makes the memory for the plan's bytes, and the launcher, which may
// have been started before, mounts nothing of it until it has them.
//
//   Running run = scene.cordon({"run", manifest}).stopped().start();
//   ASSERT_TRUE(pause_at_launch(run.pid(), [&] { swap the path }));
//   run.wait();
#pragma once

#include <sys/types.h>

#include <functional>

namespace cordon::test {

/// Traces the stopped command `pid` until it makes that memory, calls `act` while it stands still, and lets it go.
/// False where the command ended without doing so.
bool pause_at_launch(pid_t pid, const std::function<void()>& act);

}  // namespace cordon::test
