// Spawn: a child that executes a program while its parent goes on.
//
// posix_spawn(3) holds its caller up until the child has executed, 0.5 to 1 ms in which a caller could plan; fork(2)
// copies a large caller's page tables. Here the child shares the caller's memory as with vfork(2), on a stack of its
// own, and nobody waits. What makes that sound: between clone and execve the child makes raw system calls alone, for
// the C library's wrappers write errno, which is the calling thread's; it writes nothing but its own stack and one word
// of this object; every signal is blocked in it, up to and after the execve, so that no handler of the caller's runs in
// it. So the object must live until the child was waited for.
//
// Called by start() only. Whoever is executed is to unblock its signals itself.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::enforce::launch {

class Spawn {
 public:
  Spawn() = default;
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;
  ~Spawn() = default;

  /// At `place` in the child, without close-on-exec. The descriptor must be above all places.
  void put(base::FdView fd, int place);
  /// setsid(2) in the child.
  void in_own_session() { own_session_ = true; }
  /// These (bit n - 1 is signal n) get their default action; a signal with a handler gets it by execve itself
  /// (signal(7)), and the others keep what they have.
  void set_defaults(std::uint64_t signals) { defaults_ = signals; }

  /// Executes what `program` is open on, without an environment: who is started gets all it needs otherwise. Once.
  base::Result<pid_t> begin(base::FdView program);

  /// After the child was waited for: the errno of a program that could not be executed, 0 where it was.
  [[nodiscard]] int exec_failure() const { return failure_.load(std::memory_order_relaxed); }

 private:
  static int child(void* self);
  void fail(long code);
  static constexpr std::size_t kStackBytes = 16 * 1024;
  static constexpr std::size_t kMostPlaces = 8;
  struct Place {
    int from = -1, to = -1;
  };

  std::array<Place, kMostPlaces> places_;
  std::size_t count_ = 0;
  bool own_session_ = false;
  std::uint64_t defaults_ = 0;
  int program_ = -1;
  std::atomic<int> failure_{0};
  std::unique_ptr<std::byte[]> stack_;  // NOLINT(*-avoid-c-arrays): uninitialised, so that what is unused costs nothing
};

}  // namespace cordon::enforce::launch
