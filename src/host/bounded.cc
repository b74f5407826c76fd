#include "host/bounded.h"

#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "kernel/process.h"

namespace cordon::host {

std::optional<std::thread> start_thread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  if (!kernel::thread_sigmask(SIG_SETMASK, all, &before)) return std::nullopt;
  std::optional<std::thread> thread;
  try {
    thread.emplace(std::move(body));
  } catch (const std::system_error&) {
    thread.reset();
  }
  (void)kernel::thread_sigmask(SIG_SETMASK, before);
  return thread;
}

bool finishes_within(std::chrono::milliseconds bound, std::function<void()> body) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable done;
    bool finished = false;
  };
  auto shared = std::make_shared<Shared>();
  auto thread = start_thread([shared, body = std::move(body)] {
    body();
    const std::lock_guard lock(shared->mutex);
    shared->finished = true;
    shared->done.notify_one();
  });
  if (!thread) return false;
  std::unique_lock lock(shared->mutex);
  const bool finished = shared->done.wait_for(lock, bound, [&] { return shared->finished; });
  lock.unlock();
  if (finished) {
    thread->join();
  } else {
    thread->detach();
  }
  return finished;
}

}  // namespace cordon::host
