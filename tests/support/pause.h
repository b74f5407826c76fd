// pause_at_launch(): stops a run between planning and mounting, deterministically and without a hook in the product:
// everything that was planned is planned when Cordon's launcher is executed, and nothing is mounted yet.
//
//   Running run = scene.cordon({"run", manifest}).stopped().start();
//   ASSERT_TRUE(pause_at_launch(run.pid(), [&] { swap the path }));
//   run.wait();
#pragma once

#include <sys/types.h>

#include <functional>

namespace cordon::test {

/// Traces the stopped command `pid` until a process that it made executes another program, calls `act` while that one
/// stands still, and lets everybody go. False where the command ended without executing anything.
bool pause_at_launch(pid_t pid, const std::function<void()>& act);

}  // namespace cordon::test
