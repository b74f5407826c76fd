// Internet sockets: endpoints, streams, datagrams that keep the address they were sent to, and splice(2).
//
// Everything here is non-blocking and close-on-exec from birth, and no call raises SIGPIPE. No socket made here sets
// SO_REUSEADDR or SO_REUSEPORT, but for listening_socket().
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernel/errno.h"
#include "kernel/file.h"

namespace cordon::kernel {

/// An address and a port. IPv4 in the first four bytes; the port in host order.
struct Endpoint {
  int family = AF_UNSPEC;
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

inline SocketAddress to_socket_address(const Endpoint& endpoint) {
  SocketAddress out;
  if (endpoint.family == AF_INET) {
    auto* in = reinterpret_cast<sockaddr_in*>(&out.storage);
    in->sin_family = AF_INET;
    in->sin_port = htons(endpoint.port);
    std::memcpy(&in->sin_addr, endpoint.address.data(), 4);
    out.size = sizeof(sockaddr_in);
  } else {
    auto* in = reinterpret_cast<sockaddr_in6*>(&out.storage);
    in->sin6_family = AF_INET6;
    in->sin6_port = htons(endpoint.port);
    std::memcpy(&in->sin6_addr, endpoint.address.data(), 16);
    out.size = sizeof(sockaddr_in6);
  }
  return out;
}

/// AF_UNSPEC for what is neither IPv4 nor IPv6.
inline Endpoint to_endpoint(const SocketAddress& address) {
  Endpoint out;
  out.family = address.storage.ss_family;
  if (out.family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&address.storage);
    std::memcpy(out.address.data(), &in->sin_addr, 4);
    out.port = ntohs(in->sin_port);
  } else if (out.family == AF_INET6) {
    const auto* in = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    std::memcpy(out.address.data(), &in->sin6_addr, 16);
    out.port = ntohs(in->sin6_port);
  } else {
    out.family = AF_UNSPEC;
  }
  return out;
}

inline Sys<Fd> stream_socket(int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return failed("socket");
  return Fd(fd);
}

/// A connection under way answers EINPROGRESS, as an error.
inline Sys<void> connect(FdView socket, const Endpoint& to) {
  SocketAddress address = to_socket_address(to);
  return done(::connect(socket.get(), address.get(), address.size), "connect");
}

/// Back to what socket(2) made (connect(2), AF_UNSPEC): what stood is reset, what was not read or sent is lost.
inline Sys<void> disconnect(FdView socket) {
  sockaddr none{};
  none.sa_family = AF_UNSPEC;
  return done(::connect(socket.get(), &none, sizeof none), "connect(AF_UNSPEC)");
}

/// A TCP socket of this network namespace that listens at `at` and nowhere else. SO_REUSEADDR: connections of an
/// earlier one that linger are in nobody's way; a socket that listens there is (EADDRINUSE).
inline Sys<Fd> listening_socket(const Endpoint& at) {
  CORDON_TRY(Fd socket, stream_socket(at.family));
  constexpr int kOn = 1;
  CORDON_OK(done(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn), "setsockopt"));
  if (at.family == AF_INET6)
    CORDON_OK(done(::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &kOn, sizeof kOn), "setsockopt"));
  SocketAddress address = to_socket_address(at);
  CORDON_OK(done(::bind(socket.get(), address.get(), address.size), "bind"));
  CORDON_OK(done(::listen(socket.get(), SOMAXCONN), "listen"));
  return socket;
}

struct Accepted {
  Fd socket;
  Endpoint peer;
};
inline Sys<Accepted> accept(FdView listener) {
  SocketAddress from;
  const int fd = retry([&] { return ::accept4(listener.get(), from.get(), &from.size, SOCK_CLOEXEC | SOCK_NONBLOCK); });
  if (fd < 0) return failed("accept4");
  return Accepted{Fd(fd), to_endpoint(from)};
}

inline Sys<Endpoint> local_endpoint(FdView socket) {
  SocketAddress address;
  if (::getsockname(socket.get(), address.get(), &address.size) < 0) return failed("getsockname");
  return to_endpoint(address);
}

/// Where a connection that netfilter redirected was going (SO_ORIGINAL_DST, IP6T_SO_ORIGINAL_DST: both 80). A
/// connection that was not redirected answers its own destination, or ENOENT.
inline Sys<Endpoint> original_destination(FdView socket, int family) {
  constexpr int kOriginalDestination = 80;
  SocketAddress address;
  const int level = family == AF_INET ? SOL_IP : SOL_IPV6;
  if (::getsockopt(socket.get(), level, kOriginalDestination, address.get(), &address.size) < 0) {
    return failed("getsockopt(SO_ORIGINAL_DST)");
  }
  return to_endpoint(address);
}

inline Sys<void> set_option(FdView socket, int level, int option, int value) {
  return done(::setsockopt(socket.get(), level, option, &value, sizeof value), "setsockopt");
}
/// close(2) will then send a reset, not an orderly end.
inline Sys<void> reset_on_close(FdView socket) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  return done(::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now), "setsockopt");
}
/// close(2) will then end the stream in order, and the kernel goes on to deliver: what a new socket does.
inline Sys<void> end_on_close(FdView socket) {
  const linger none{.l_onoff = 0, .l_linger = 0};
  return done(::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none), "setsockopt");
}
/// SO_ERROR: how a connect(2) under way ended.
inline Sys<int> pending_error(FdView socket) {
  int code = 0;
  socklen_t size = sizeof code;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &size) < 0) return failed("getsockopt(SO_ERROR)");
  return code;
}
/// tcp(7)'s tcpi_state: TCP_ESTABLISHED, TCP_CLOSE, …
inline Sys<int> tcp_state(FdView socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size) < 0) return failed("getsockopt(TCP_INFO)");
  return info.tcpi_state;
}
/// A number that no other network namespace of this boot has (Linux 5.14; before, ENOPROTOOPT).
inline Sys<std::uint64_t> network_of(FdView socket) {
  constexpr int kNetnsCookie = 71;
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (::getsockopt(socket.get(), SOL_SOCKET, kNetnsCookie, &cookie, &size) < 0)
    return failed("getsockopt(SO_NETNS_COOKIE)");
  return cookie;
}
inline Sys<void> shutdown_write(FdView socket) { return done(::shutdown(socket.get(), SHUT_WR), "shutdown"); }

/// 0: the other side has ended its stream.
inline Sys<std::size_t> receive(FdView socket, std::span<std::byte> into) {
  const ssize_t n = retry([&] { return ::recv(socket.get(), into.data(), into.size(), MSG_DONTWAIT); });
  if (n < 0) return failed("recv");
  return static_cast<std::size_t>(n);
}
inline Sys<std::size_t> send(FdView socket, std::span<const std::byte> from) {
  const ssize_t n = retry([&] { return ::send(socket.get(), from.data(), from.size(), MSG_DONTWAIT | MSG_NOSIGNAL); });
  if (n < 0) return failed("send");
  return static_cast<std::size_t>(n);
}

/// A datagram, from whom, and to which address of ours it was sent (IP_PKTINFO; AF_UNSPEC where not told).
struct Datagram {
  std::size_t bytes = 0;
  bool cut = false;  ///< it was longer than the buffer
  Endpoint from;
  Endpoint to;
};
inline Sys<void> tell_destination(FdView socket, int family) {
  if (family == AF_INET) return set_option(socket, SOL_IP, IP_PKTINFO, 1);
  // Or an answer from an address that is local by its route alone is refused (EINVAL); IPv4 asks for none of this.
  CORDON_OK(set_option(socket, SOL_IPV6, IPV6_FREEBIND, 1));
  return set_option(socket, SOL_IPV6, IPV6_RECVPKTINFO, 1);
}

union PacketInfo {
  cmsghdr align;
  std::array<std::byte, CMSG_SPACE(sizeof(in6_pktinfo))> bytes;
};

inline Sys<Datagram> receive_datagram(FdView socket, std::span<std::byte> into) {
  Datagram out;
  SocketAddress from;
  iovec part{.iov_base = into.data(), .iov_len = into.size()};
  PacketInfo control{};
  msghdr message{};
  message.msg_name = from.get();
  message.msg_namelen = from.size;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t n = retry([&] { return ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC); });
  if (n < 0) return failed("recvmsg");
  out.bytes = static_cast<std::size_t>(n);
  out.cut = (message.msg_flags & MSG_TRUNC) != 0;
  out.from = to_endpoint(from);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level == SOL_IP && header->cmsg_type == IP_PKTINFO) {
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(header), sizeof info);
      out.to.family = AF_INET;
      std::memcpy(out.to.address.data(), &info.ipi_addr, 4);
    } else if (header->cmsg_level == SOL_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(header), sizeof info);
      out.to.family = AF_INET6;
      std::memcpy(out.to.address.data(), &info.ipi6_addr, 16);
    }
  }
  return out;
}

/// Answers from the address that was asked: resolvers drop an answer that comes from another.
inline Sys<void> send_datagram(FdView socket, std::span<const std::byte> bytes, const Endpoint& to,
                               const Endpoint& from) {
  SocketAddress address = to_socket_address(to);
  iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  PacketInfo control{};
  msghdr message{};
  message.msg_name = address.get();
  message.msg_namelen = address.size;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (from.family != AF_UNSPEC) {
    const bool ipv4 = from.family == AF_INET;
    message.msg_control = control.bytes.data();
    message.msg_controllen = ipv4 ? CMSG_SPACE(sizeof(in_pktinfo)) : CMSG_SPACE(sizeof(in6_pktinfo));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = ipv4 ? SOL_IP : SOL_IPV6;
    header->cmsg_type = ipv4 ? IP_PKTINFO : IPV6_PKTINFO;
    header->cmsg_len = ipv4 ? CMSG_LEN(sizeof(in_pktinfo)) : CMSG_LEN(sizeof(in6_pktinfo));
    if (ipv4) {
      in_pktinfo info{};
      std::memcpy(&info.ipi_spec_dst, from.address.data(), 4);
      std::memcpy(CMSG_DATA(header), &info, sizeof info);
    } else {
      in6_pktinfo info{};
      std::memcpy(&info.ipi6_addr, from.address.data(), 16);
      std::memcpy(CMSG_DATA(header), &info, sizeof info);
    }
  }
  const ssize_t n = retry([&] { return ::sendmsg(socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL); });
  if (n < 0) return failed("sendmsg");
  return {};
}

/// Moves bytes between a socket and a pipe without copying them; 0: the end of `from`.
inline Sys<std::size_t> splice(FdView from, FdView to, std::size_t most) {
  const ssize_t n =
      retry([&] { return ::splice(from.get(), nullptr, to.get(), nullptr, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK); });
  if (n < 0) return failed("splice");
  return static_cast<std::size_t>(n);
}
/// Answers the size that the kernel gave.
inline Sys<std::size_t> set_pipe_size(FdView pipe, int bytes) {
  const int size = ::fcntl(pipe.get(), F_SETPIPE_SZ, bytes);
  if (size < 0) return failed("fcntl(F_SETPIPE_SZ)");
  return static_cast<std::size_t>(size);
}

}  // namespace cordon::kernel
