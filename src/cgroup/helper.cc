#include "cgroup/helper.h"

#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>

#include <array>
#include <csignal>
#include <string_view>

#include "base/check.h"
#include "cgroup/image.h"
#include "kernel/file.h"
#include "kernel/process.h"
#include "kernel/socket.h"

namespace cordon::cgroup {
namespace {

using base::Error;
using base::Fd;
using base::Result;

constexpr const char* kName = "cordon-scope";
constexpr int kPatienceMs = 15'000;  // longer than the helper's own, so that it says what it waited for

Result<Fd> sealed_image() {
  auto memory = kernel::memfd_create(kName, kernel::kMfdAllowSealing | kernel::kMfdExec);
  // Kinds of memfds came with 6.3; before that every one may be executed.
  if (!memory && memory.error().code == EINVAL) memory = kernel::memfd_create(kName, kernel::kMfdAllowSealing);
  if (!memory) return base::fail(kernel::error_at(memory.error(), kName));
  if (auto written = kernel::write_all(*memory, scope_image()); !written)
    return base::fail(kernel::error_at(written.error(), kName));
  const auto sealed = kernel::add_seals(*memory, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  if (!sealed) return base::fail(kernel::error_at(sealed.error(), kName));
  return std::move(*memory);
}

struct Setting {
  Setting() {
    CORDON_CHECK(::posix_spawn_file_actions_init(&actions) == 0);
    CORDON_CHECK(::posix_spawnattr_init(&attributes) == 0);
  }
  ~Setting() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  void put(base::FdView fd, int place) {
    CORDON_CHECK(::posix_spawn_file_actions_adddup2(&actions, fd.get(), place) == 0);
  }
  /// No key and no signal to the caller's group reaches it.
  void set_apart() {
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    CORDON_CHECK(::posix_spawnattr_setsigmask(&attributes, &none) == 0);
    CORDON_CHECK(::posix_spawnattr_setsigdefault(&attributes, &all) == 0);
    constexpr int kFlags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID;
    CORDON_CHECK(::posix_spawnattr_setflags(&attributes, static_cast<short>(kFlags)) == 0);
    CORDON_CHECK(::posix_spawn_file_actions_addchdir_np(&actions, "/") == 0);
  }

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

/// Above every place that something is put at, so that no dup2 overwrites what a later one needs.
Result<Fd> lifted(base::FdView fd) {
  constexpr int kAbovePlaces = 16;
  auto copy = kernel::duplicate(fd, kAbovePlaces);
  if (!copy) return base::fail(kernel::error_at(copy.error(), kName));
  return std::move(*copy);
}

Result<pid_t> spawn(base::FdView image, base::FdView stream, const std::string& socket, const std::string& name) {
  auto null = kernel::openat(kernel::kHere, "/dev/null", O_WRONLY);
  if (!null) return base::fail(kernel::error_at(null.error(), "/dev/null"));
  CORDON_TRY(const Fd errors, lifted(*null));
  CORDON_TRY(const Fd in_and_out, lifted(stream));
  CORDON_TRY(const Fd program, lifted(image));
  Setting setting;
  setting.put(in_and_out, 0);
  setting.put(in_and_out, 1);
  setting.put(errors, 2);
  setting.set_apart();
  const std::string path = fmt::format("/proc/self/fd/{}", program.get());
  std::string word(kName), where(socket), unit(name);
  std::array<char*, 4> argv = {word.data(), where.data(), unit.data(), nullptr};
  std::array<char*, 1> environment = {nullptr};
  pid_t pid = 0;
  const int code =
      ::posix_spawn(&pid, path.c_str(), &setting.actions, &setting.attributes, argv.data(), environment.data());
  if (code != 0) return base::fail(Error{.operation = "execve", .subject = kName, .code = code});
  return pid;
}

}  // namespace

Helper& Helper::operator=(Helper&& other) noexcept {
  if (this != &other) {
    end();
    socket_ = std::move(other.socket_);
    pidfd_ = std::move(other.pidfd_);
    pid_ = other.pid_;
  }
  return *this;
}

Result<Helper> Helper::start(const std::string& socket, const std::string& name) {
  CORDON_TRY(const Fd image, sealed_image());
  auto sockets = kernel::socketpair(SOCK_STREAM);
  if (!sockets) return base::fail(kernel::error_at(sockets.error(), kName));
  Helper out;
  CORDON_TRY(out.pid_, spawn(image, sockets->theirs, socket, name));
  // Not reaped by anybody yet, so the number is still its own.
  auto pidfd = kernel::pidfd_open(out.pid_);
  if (!pidfd) return base::fail(kernel::error_at(pidfd.error(), kName));
  out.pidfd_ = std::move(*pidfd);
  out.socket_ = std::move(sockets->ours);
  sockets->theirs.reset();
  CORDON_OK(out.hear("StartTransientUnit"));
  return out;
}

Result<void> Helper::attach(pid_t pid) {
  const std::string line = fmt::format("attach {}\n", pid);
  if (auto sent = kernel::write_all(socket_, std::as_bytes(std::span(line))); !sent)
    return base::fail(kernel::error_at(sent.error(), kName));
  return hear("AttachProcessesToUnit");
}

/// One line, of at most so many bytes: the helper is ours, the words in it are the manager's.
Result<void> Helper::hear(const char* operation) {
  constexpr std::size_t kLongest = 1024;
  std::string line;
  while (!line.ends_with('\n') && line.size() < kLongest) {
    std::array<pollfd, 1> ready{pollfd{.fd = socket_.get(), .events = POLLIN, .revents = 0}};
    const auto waited = kernel::poll(ready, kPatienceMs);
    if (!waited && waited.error().code == EINTR) continue;
    if (!waited) return base::fail(kernel::error_at(waited.error(), kName));
    if (*waited == 0) return base::fail(Error{.operation = operation, .subject = kName, .code = ETIMEDOUT});
    std::array<std::byte, 256> piece{};
    const auto size = kernel::read(socket_, piece);
    if (!size) return base::fail(kernel::error_at(size.error(), kName));
    if (*size == 0)
      return base::fail(
          Error{.operation = operation, .subject = kName, .detail = "ended without a word; it needs libsystemd.so.0"});
    line.append(reinterpret_cast<const char*>(piece.data()), *size);
  }
  if (line == "ok\n") return {};
  constexpr std::string_view kFailed = "failed ";
  std::string detail = line.starts_with(kFailed) ? line.substr(kFailed.size()) : line;
  while (detail.ends_with('\n')) detail.pop_back();
  return base::fail(Error{.operation = operation, .subject = kName, .detail = std::move(detail)});
}

void Helper::end() {
  if (!pidfd_.valid()) return;
  socket_.reset();
  // It may be in the middle of a call; nobody needs the answer.
  static_cast<void>(kernel::pidfd_send_signal(pidfd_, SIGKILL).has_value());
  static_cast<void>(kernel::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), WEXITED).has_value());
  pidfd_.reset();
}

}  // namespace cordon::cgroup
