// Unix socket pairs with descriptors in messages.
#pragma once

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "kernel/errno.h"
#include "kernel/file.h"

namespace cordon::kernel {

struct SocketPair {
  Fd ours, theirs;
};
inline Sys<SocketPair> socketpair(int type) {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds.data()) < 0) return failed("socketpair");
  return SocketPair{Fd(fds[0]), Fd(fds[1])};
}

/// AF_UNIX, AF_INET, …
inline Sys<int> socket_domain(FdView socket) {
  int domain = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0) return failed("getsockopt");
  return domain;
}
/// SOCK_STREAM, SOCK_DGRAM, …
inline Sys<int> socket_type(FdView socket) {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) < 0) return failed("getsockopt");
  return type;
}
/// ENOTCONN where it has none.
inline Sys<void> has_peer(FdView socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  return done(::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &size), "getpeername");
}
inline Sys<sockaddr_un> unix_address(const char* path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof out.sun_path) return base::fail(Errno{ENAMETOOLONG, "sockaddr_un"});
  std::strcpy(out.sun_path, path);
  return out;
}
/// A unix stream socket that listens there; non-blocking. The name's mode is 0777 less the umask.
inline Sys<Fd> unix_listener(const char* path) {
  CORDON_TRY(const sockaddr_un address, unix_address(path));
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return failed("socket");
  CORDON_OK(done(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind"));
  CORDON_OK(done(::listen(socket.get(), SOMAXCONN), "listen"));
  return socket;
}
/// A unix stream socket connected to what listens there; EAGAIN where its queue is full, and never a wait.
inline Sys<Fd> connect_unix(const char* path) {
  CORDON_TRY(const sockaddr_un address, unix_address(path));
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return failed("socket");
  CORDON_OK(done(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "connect"));
  return socket;
}
/// Who called listen(2), or connect(2), on the other side.
inline Sys<ucred> peer_of(FdView socket) {
  ucred out{};
  socklen_t size = sizeof out;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &out, &size) < 0) return failed("getsockopt(SO_PEERCRED)");
  return out;
}
/// A datagram socket of AF_INET or AF_INET6.
inline Sys<Fd> datagram_socket(int family) {
  const int fd = ::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed("socket");
  return Fd(fd);
}
inline Sys<void> connect(FdView socket, std::span<const std::byte> address) {
  return done(::connect(socket.get(), reinterpret_cast<const sockaddr*>(address.data()),
                        static_cast<socklen_t>(address.size())),
              "connect");
}
/// Sets IFF_UP on an interface of the caller's network namespace, by any socket of it.
inline Sys<void> bring_up(FdView socket, const char* interface) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return done(::ioctl(socket.get(), SIOCSIFFLAGS, &request), "ioctl(SIOCSIFFLAGS)");
}

inline Sys<std::size_t> send(FdView socket, std::span<const std::byte> from, int flags) {
  const ssize_t n = retry([&] { return ::send(socket.get(), from.data(), from.size(), flags); });
  if (n < 0) return failed("send");
  return static_cast<std::size_t>(n);
}

struct Pipe {
  Fd read_end, write_end;
};
inline Sys<Pipe> pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) < 0) return failed("pipe2");
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

/// On every send_message(), and without meaning for a unix socket (plan/path_calls.h, kOwnMessage).
inline constexpr int kOwnMessage = MSG_CONFIRM;
static_assert(kOwnMessage == 0x800);

/// One message, with one descriptor if `fd` is valid. Never raises SIGPIPE.
inline Sys<std::size_t> send_message(FdView socket, std::span<const std::byte> bytes, FdView fd = {}) {
  iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd.valid()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = fd.get();
    std::memcpy(CMSG_DATA(header), &number, sizeof number);
  }
  const ssize_t n = retry([&] { return ::sendmsg(socket.get(), &message, MSG_NOSIGNAL | kOwnMessage); });
  if (n < 0) return failed("sendmsg");
  return static_cast<std::size_t>(n);
}

struct Received {
  std::size_t bytes = 0;  ///< 0: the other side is closed
  Fd fd;                  ///< the first descriptor that came along; further ones are closed
};
/// `flags`: MSG_DONTWAIT or 0.
inline Sys<Received> receive_message(FdView socket, std::span<std::byte> into, int flags) {
  constexpr std::size_t kMostFds = 4;
  iovec part{.iov_base = into.data(), .iov_len = into.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMostFds)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t n = retry([&] { return ::recvmsg(socket.get(), &message, flags | MSG_CMSG_CLOEXEC); });
  if (n < 0) return failed("recvmsg");
  Received out{.bytes = static_cast<std::size_t>(n), .fd = {}};
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof number);
      Fd taken(number);
      if (!out.fd.valid()) out.fd = std::move(taken);
    }
  }
  return out;
}

}  // namespace cordon::kernel
