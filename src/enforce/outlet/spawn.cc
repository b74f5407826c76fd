#include "enforce/outlet/spawn.h"

#include <spawn.h>

#include <array>
#include <csignal>
#include <vector>

#include "base/check.h"
#include "kernel/file.h"
#include "kernel/process.h"

namespace cordon::enforce::outlet {
namespace {

using base::Error;
using base::Fd;
using base::FdView;
using base::Result;

constexpr int kFirst = 3;

class Setting {
 public:
  Setting() {
    CORDON_CHECK(::posix_spawn_file_actions_init(&actions_) == 0);
    CORDON_CHECK(::posix_spawnattr_init(&attributes_) == 0);
  }
  ~Setting() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  void put(FdView fd, int place) { CORDON_CHECK(::posix_spawn_file_actions_adddup2(&actions_, fd.get(), place) == 0); }
  void at_root() { CORDON_CHECK(::posix_spawn_file_actions_addchdir_np(&actions_, "/") == 0); }
  void set_apart() {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    CORDON_CHECK(::posix_spawnattr_setsigmask(&attributes_, &none) == 0);
    CORDON_CHECK(::posix_spawnattr_setsigdefault(&attributes_, &all) == 0);
    constexpr int kFlags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID;
    CORDON_CHECK(::posix_spawnattr_setflags(&attributes_, static_cast<short>(kFlags)) == 0);
  }
  Result<pid_t> spawn(FdView program, const std::string& name) {
    const std::string path = "/proc/self/fd/" + std::to_string(program.get());
    std::string word = name;
    std::array<char*, 2> argv = {word.data(), nullptr};
    std::array<char*, 1> environment = {nullptr};
    pid_t pid = 0;
    const int code = ::posix_spawn(&pid, path.c_str(), &actions_, &attributes_, argv.data(), environment.data());
    if (code != 0) return base::fail(Error{.operation = "execve", .subject = name, .code = code});
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    end();
    pidfd_ = std::move(other.pidfd_);
    pid_ = other.pid_;
  }
  return *this;
}

void Child::end(int patience_ms) {
  if (!pidfd_.valid()) return;
  std::array<pollfd, 1> ended{pollfd{.fd = pidfd_.get(), .events = POLLIN, .revents = 0}};
  const auto gone = kernel::poll(ended, patience_ms);
  if (!gone || *gone == 0) static_cast<void>(kernel::pidfd_send_signal(pidfd_, SIGKILL).has_value());
  static_cast<void>(kernel::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), WEXITED).has_value());
  pidfd_.reset();
}

Result<Child> spawn(FdView program, const std::string& name, std::span<const FdView> fds) {
  Setting setting;
  // Above every place that something is put at, so that no dup2 overwrites what a later one needs.
  const int above = kFirst + static_cast<int>(fds.size()) + 1;
  std::vector<Fd> lifted;
  const auto lift = [&](FdView fd) -> Result<FdView> {
    auto copy = kernel::duplicate(fd, above);
    if (!copy) return base::fail(kernel::error_at(copy.error(), name));
    return lifted.emplace_back(std::move(*copy)).view();
  };
  auto null = kernel::openat(kernel::kHere, "/dev/null", O_RDWR);
  if (!null) return base::fail(kernel::error_at(null.error(), "/dev/null"));
  CORDON_TRY(const FdView nothing, lift(*null));
  for (int place = 0; place < kFirst; ++place) setting.put(nothing, place);
  for (std::size_t i = 0; i < fds.size(); ++i) {
    CORDON_TRY(const FdView fd, lift(fds[i]));
    setting.put(fd, kFirst + static_cast<int>(i));
  }
  CORDON_TRY(const FdView image, lift(program));
  setting.at_root();
  setting.set_apart();
  CORDON_TRY(const pid_t pid, setting.spawn(image, name));
  // Not reaped by anybody yet, so the number is still its own.
  auto pidfd = kernel::pidfd_open(pid);
  if (!pidfd) return base::fail(kernel::error_at(pidfd.error(), name));
  return Child(std::move(*pidfd), pid);
}

}  // namespace cordon::enforce::outlet
