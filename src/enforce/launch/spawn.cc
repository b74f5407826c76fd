#include "enforce/launch/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#include <bit>
#include <csignal>

#include "base/check.h"
#include "kernel/process.h"
#include "kernel/raw.h"

// The child shares the memory, and with it a sanitizer's state of the calling thread.
#define CORDON_IN_SHARED_MEMORY __attribute__((no_sanitize("address", "thread", "undefined")))

namespace cordon::enforce::launch {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int kShared = CLONE_VM | CLONE_VFORK;  // its notes are the calling thread's, and calls write to them
#else
constexpr int kShared = CLONE_VM;
#endif

/// What rt_sigaction(2) takes; zero is SIG_DFL without flags.
struct KernelAction {
  std::array<unsigned long, 4> zero;
};
constexpr std::size_t kKernelSetBytes = 8;

}  // namespace

void Spawn::put(base::FdView fd, int place) {
  CORDON_CHECK(count_ < kMostPlaces && fd.get() > place);
  places_.at(count_++) = {.from = fd.get(), .to = place};
}

CORDON_IN_SHARED_MEMORY void Spawn::fail(long code) {
  failure_.store(static_cast<int>(-code), std::memory_order_relaxed);
  kernel::raw_syscall(SYS_exit_group, 127);
}

CORDON_IN_SHARED_MEMORY int Spawn::child(void* self) {
  auto& spawn = *static_cast<Spawn*>(self);
  constexpr KernelAction kDefault{};
  for (std::uint64_t left = spawn.defaults_; left != 0; left &= left - 1) {
    const int signal = std::countr_zero(left) + 1;
    kernel::raw_syscall(SYS_rt_sigaction, signal, reinterpret_cast<long>(&kDefault), 0, kKernelSetBytes);
  }
  if (spawn.own_session_) kernel::raw_syscall(SYS_setsid);
  for (std::size_t i = 0; i < spawn.count_; ++i) {
    const Place place = spawn.places_[i];
    if (const long code = kernel::raw_syscall(SYS_dup3, place.from, place.to, 0); code < 0) spawn.fail(code);
  }
  std::array<char, 14> name = {"cordon-launch"};
  std::array<char*, 2> argv = {name.data(), nullptr};
  std::array<char*, 1> environment = {nullptr};
  spawn.fail(kernel::raw_syscall(SYS_execveat, spawn.program_, reinterpret_cast<long>(""),
                                 reinterpret_cast<long>(argv.data()), reinterpret_cast<long>(environment.data()),
                                 AT_EMPTY_PATH));
  return 0;
}

base::Result<pid_t> Spawn::begin(base::FdView program) {
  program_ = program.get();
  stack_ = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigemptyset(&before);
  static_cast<void>(kernel::thread_sigmask(SIG_BLOCK, all, &before));
  const auto pid = kernel::clone_onto(&Spawn::child, stack_.get() + kStackBytes, kShared | SIGCHLD, this);
  static_cast<void>(kernel::thread_sigmask(SIG_SETMASK, before));
  if (!pid) return base::fail(kernel::error_at(pid.error(), "cordon-launch"));
  return *pid;
}

}  // namespace cordon::enforce::launch
