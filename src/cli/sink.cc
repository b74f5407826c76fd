#include "cli/sink.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string>

#include "kernel/file.h"
#include "kernel/process.h"
#include "kernel/socket.h"
#include "kernel/terminal.h"

namespace cordon::cli {
namespace {

kernel::Sys<std::size_t> none_if_full(kernel::Sys<std::size_t> written) {
  if (!written && written.error().code == EAGAIN) return std::size_t{0};
  return written;
}

}  // namespace

Sink::Sink(base::FdView given) : given_(given) {
  const auto facts = kernel::statx(given);
  if (!facts) return;  // closed: write() says so
  if (S_ISSOCK(facts->stx_mode)) kind_ = Kind::kSocket;
  if (S_ISREG(facts->stx_mode)) kind_ = Kind::kFile;
  // Of other devices an open may be more than an open: a tape is wound back.
  if (!S_ISFIFO(facts->stx_mode) && !kernel::tcgetattr(given)) return;
  const std::string path = "/proc/self/fd/" + std::to_string(given.get());
  auto own = kernel::openat(kernel::kHere, path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY);
  if (!own) return;
  own_ = std::move(*own);
  kind_ = Kind::kOwn;
}

kernel::Sys<std::size_t> Sink::write(std::span<const std::byte> bytes) const {
  if (kind_ == Kind::kOwn) return none_if_full(kernel::write(own_, bytes));
  if (kind_ == Kind::kSocket) return none_if_full(kernel::send(given_, bytes, MSG_DONTWAIT | MSG_NOSIGNAL));
  // Of no descriptor poll(2) says for ever that it has no room; write(2) says what is wrong with it.
  if (kind_ == Kind::kFile || given_.get() < 0) return kernel::write(given_, bytes);
  std::array<pollfd, 1> room{pollfd{.fd = given_.get(), .events = POLLOUT, .revents = 0}};
  const auto ready = kernel::poll(room, 0);
  if (!ready && ready.error().code != EINTR) return base::fail(ready.error());
  if (!ready || *ready == 0) return std::size_t{0};
  return kernel::write(given_, bytes.first(std::min<std::size_t>(bytes.size(), PIPE_BUF)));
}

}  // namespace cordon::cli
