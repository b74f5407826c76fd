#include "enforce/hold/janitor.h"

#include <poll.h>
#include <spawn.h>

#include <array>
#include <csignal>

#include "base/check.h"
#include "enforce/hold/image.h"
#include "enforce/hold/janitor_protocol.h"
#include "kernel/file.h"
#include "kernel/process.h"
#include "kernel/socket.h"

namespace cordon::enforce::hold {
namespace {

using base::Fd;
using base::FdView;
using base::Result;

constexpr std::string_view kSubject = "cordon-janitor";
/// Above every place that something is put at, so that no dup2 overwrites what a later one needs.
constexpr int kAbovePlaces = 16;

template <class T>
Result<T> of(kernel::Sys<T> result) {
  if (!result) return base::fail(kernel::error_at(result.error(), kSubject));
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return std::move(*result);
  }
}

/// The program in memory that nobody can write any more.
Result<Fd> sealed_image() {
  auto memory = kernel::memfd_create(kSubject.data(), kernel::kMfdAllowSealing | kernel::kMfdExec);
  // Kinds of memfds came with 6.3; before that every one may be executed.
  if (!memory && memory.error().code == EINVAL) {
    memory = kernel::memfd_create(kSubject.data(), kernel::kMfdAllowSealing);
  }
  if (!memory) return base::fail(kernel::error_at(memory.error(), kSubject));
  CORDON_OK(of(kernel::write_all(*memory, janitor_image())));
  CORDON_OK(of(kernel::add_seals(*memory, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)));
  return std::move(*memory);
}

struct Files {
  Files() {
    CORDON_CHECK(::posix_spawn_file_actions_init(&actions) == 0);
    CORDON_CHECK(::posix_spawnattr_init(&attributes) == 0);
  }
  ~Files() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  Result<void> put(FdView fd, int place) {
    CORDON_TRY(Fd lifted, of(kernel::duplicate(fd, kAbovePlaces)));
    CORDON_CHECK(::posix_spawn_file_actions_adddup2(&actions, lifted.get(), place) == 0);
    kept[static_cast<std::size_t>(place)] = std::move(lifted);
    return {};
  }

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  std::array<Fd, kAbovePlaces> kept;
};

/// A session of its own, so that no key and no signal to the caller's group reaches it; all signals blocked, so that
/// only SIGKILL ends it.
void set_apart(Files& files) {
  sigset_t all;
  ::sigfillset(&all);
  CORDON_CHECK(::posix_spawnattr_setsigmask(&files.attributes, &all) == 0);
  CORDON_CHECK(::posix_spawnattr_setsigdefault(&files.attributes, &all) == 0);
  constexpr int kFlags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID;
  CORDON_CHECK(::posix_spawnattr_setflags(&files.attributes, static_cast<short>(kFlags)) == 0);
}

Result<pid_t> spawn(FdView program, Files& files, const std::string& name) {
  const std::string path = "/proc/self/fd/" + std::to_string(program.get());
  std::string word(kSubject);
  std::string argument = name;
  std::array<char*, 3> argv = {word.data(), argument.data(), nullptr};
  std::array<char*, 1> environment = {nullptr};
  pid_t pid = 0;
  const int code =
      ::posix_spawn(&pid, path.c_str(), &files.actions, &files.attributes, argv.data(), environment.data());
  if (code != 0) {
    return base::fail(base::Error{.operation = "execve", .subject = std::string(kSubject), .code = code});
  }
  return pid;
}

}  // namespace

Result<Janitor> Janitor::start(FdView registry, FdView journal, const std::string& name) {
  CORDON_TRY(const Fd program, sealed_image());
  CORDON_TRY(auto sockets, of(kernel::socketpair(SOCK_SEQPACKET)));
  Files files;
  CORDON_OK(files.put(registry, kRegistryFd));
  CORDON_OK(files.put(journal, kJournalFd));
  CORDON_OK(files.put(sockets.theirs, kSupervisorFd));
  set_apart(files);
  Janitor out;
  CORDON_TRY(const pid_t pid, spawn(program, files, name));
  out.socket_ = std::move(sockets.ours);
  // Not reaped by anybody yet, so the number is still its own; where it was (SIGCHLD ignored) it is not waited for.
  if (auto pidfd = kernel::pidfd_open(pid)) out.pidfd_ = std::move(*pidfd);
  return out;
}

Result<void> Janitor::init_is_born(FdView init_pidfd) {
  auto sent = kernel::send_message(socket_, {&kInitIsBorn, 1}, init_pidfd);
  if (!sent) return base::fail(kernel::error_at(sent.error(), kSubject));
  return {};
}

void Janitor::done() {
  if (socket_.valid()) static_cast<void>(kernel::send_message(socket_, {&kDone, 1}).has_value());
}

Janitor::~Janitor() {
  socket_.reset();
  if (!pidfd_.valid()) return;
  static_cast<void>(kernel::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), WEXITED).has_value());
}

}  // namespace cordon::enforce::hold
