// Waiting no longer than a bound for what may never return: a system call on a dead mount cannot be taken back, so it
// is made by a thread that is left behind with all it holds.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <thread>

namespace cordon::host {

/// A thread that gets none of the process's signals: it may be left behind, and nobody would handle them. Nothing where
/// the host gives no more threads.
std::optional<std::thread> start_thread(std::function<void()> body);

/// Runs the body in such a thread. False where it did not return within the bound (it may still run: it must own what
/// it touches) or could not be started.
bool finishes_within(std::chrono::milliseconds bound, std::function<void()> body);

}  // namespace cordon::host
