// cordon-janitor: outlives a Cordon that is killed, to take away the mount points that its run made on the host.
//
// Started by Holds::make() in a session of its own, with every signal blocked and three descriptors: the registry, the
// run's journal (whose lock it shares) and a socket to the supervisor. It hears of init's pidfd when init is born, and
// "done" when the supervisor has cleaned up by itself. If the socket ends without that, the supervisor is dead: once
// init is gone too (it hears of that by the same death, and until then the masks must keep their places) the points are
// removed. It reads nothing but the journal and has no other work.
#include <cstdlib>

#include "enforce/hold/janitor_protocol.h"
#include "enforce/hold/removal.h"
#include "kernel/process.h"
#include "kernel/socket.h"

namespace cordon::enforce::hold {
namespace {

/// Held from the beginning, so that a project that is moved while the run goes on is found again.
constexpr std::size_t kMostHeld = 256;
struct Held {
  std::array<Fd, kMostHeld> directories;
  std::size_t count = 0;
};

void hold_directories(Held& held) {
  Entry entry;
  while (held.count < kMostHeld && read_entry(FdView(kJournalFd), held.count, entry)) {
    held.directories[held.count++] = open_directory(entry);
  }
}

/// True where there is nothing left to do.
bool listen(Fd& init, Held& held) {
  while (true) {
    std::array<std::byte, 1> word{};
    auto message = kernel::receive_message(FdView(kSupervisorFd), word, 0);
    if (!message || message->bytes == 0) return false;
    if (word[0] == kDone) return true;
    if (word[0] != kInitIsBorn) continue;
    init = std::move(message->fd);
    hold_directories(held);
  }
}

void await_end(FdView init) {
  if (!init.valid()) {  // killed before init was known; it sees the end of its life socket in a moment
    static_cast<void>(kernel::poll({}, 1'000).has_value());
    return;
  }
  std::array<pollfd, 1> ended{pollfd{.fd = init.get(), .events = POLLIN, .revents = 0}};
  while (true) {
    const auto n = kernel::poll(ended, -1);
    if (n || n.error().code != EINTR) return;
  }
}

int watch(const char* journal_name) {
  static_cast<void>(kernel::close_range(0, kRegistryFd - 1, 0).has_value());
  static_cast<void>(kernel::close_range(kSupervisorFd + 1, ~0U, 0).has_value());
  static_cast<void>(kernel::chdir("/").has_value());  // or a mount of the user's could not be unmounted
  Fd init;
  Held held;
  if (listen(init, held)) return 0;
  await_end(init);
  const auto lock = lock_all(FdView(kRegistryFd));
  if (!lock) return 1;  // the next command does it
  clean_up(FdView(kRegistryFd), FdView(kJournalFd), journal_name, std::span(held.directories).first(held.count));
  return 0;
}

}  // namespace
}  // namespace cordon::enforce::hold

int main(int count, char** arguments) { return count == 2 ? cordon::enforce::hold::watch(arguments[1]) : 2; }
