#include "enforce/launch/program/network.h"

#include "kernel/netlink.h"
#include "kernel/process.h"

namespace cordon::enforce::launch {

using kernel::Endpoint;
using kernel::Errno;

namespace {

constexpr std::uint16_t kDiscard = 9;

/// 192.0.2.1 or 2001:db8::1 (RFC 5737, RFC 3849).
Endpoint nowhere(int family) {
  if (family == AF_INET) return {AF_INET, {192, 0, 2, 1}, kDiscard};
  return {AF_INET6, {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, kDiscard};
}

Endpoint endpoint(std::uint64_t family, std::uint64_t port, const std::uint64_t* address) {
  Endpoint out{static_cast<int>(family), {}, static_cast<std::uint16_t>(port)};
  std::memcpy(out.address.data(), address, out.address.size());
  return out;
}

/// A connection to nowhere must arrive here, with where it was going. Nobody else can connect yet.
Sys<void> try_redirect(FdView listener, int family) {
  CORDON_TRY(const Fd probe, kernel::stream_socket(family));
  auto begun = kernel::connect(probe, nowhere(family));
  if (!begun && begun.error().code != EINPROGRESS) return begun;
  std::array<pollfd, 1> ready{pollfd{.fd = listener.get(), .events = POLLIN, .revents = 0}};
  constexpr int kPatienceMs = 2'000;
  CORDON_TRY(const int count, kernel::poll(ready, kPatienceMs));
  if (count == 0) return base::fail(Errno{ETIMEDOUT, "redirected connect"});
  CORDON_TRY(const kernel::Accepted arrived, kernel::accept(listener));
  CORDON_OK(kernel::reset_on_close(arrived.socket));
  CORDON_TRY(const Endpoint wanted, kernel::original_destination(arrived.socket, family));
  if (!(wanted == nowhere(family))) return base::fail(Errno{EPROTO, "getsockopt(SO_ORIGINAL_DST)"});
  return {};
}

Sys<Fd> bound(int type, const Endpoint& at) {
  Fd socket(::socket(at.family, type | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return kernel::failed("socket");
  if (at.family == AF_INET6) CORDON_OK(kernel::set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1));
  kernel::SocketAddress address = kernel::to_socket_address(at);
  CORDON_OK(kernel::done(::bind(socket.get(), address.get(), address.size), "bind"));
  if (type == SOCK_STREAM) CORDON_OK(kernel::done(::listen(socket.get(), SOMAXCONN), "listen"));
  return socket;
}

}  // namespace

Endpoint own_address(const Record& local_network) { return endpoint(local_network.args[0], 0, &local_network.args[1]); }

Sys<void> bring_up_loopback() {
  CORDON_TRY(const Fd socket, kernel::datagram_socket(AF_INET));
  return kernel::bring_up(socket, "lo");
}

Sys<void> local_network(const Record& record) {
  CORDON_OK(bring_up_loopback());
  return kernel::make_all_local(own_address(record));
}

Sys<void> redirect(const Record& record) {
  return kernel::redirect_tcp(static_cast<std::uint16_t>(record.args[0]), (record.flags & plan::wire::kIpv6Too) != 0);
}

Sys<void> listen(const Record& record, Channel& control) {
  const Endpoint at = endpoint(record.args[1], record.args[2], &record.args[3]);
  CORDON_TRY(const Fd socket, bound(static_cast<int>(record.args[0]), at));
  if ((record.flags & plan::wire::kRedirected) != 0) CORDON_OK(try_redirect(socket, at.family));
  return control.send({.kind = Kind::kListening, .step = record.step}, socket);
}

/// Descriptors that were sent and not taken yet count against their user's limit, those of all its processes together
/// (ETOOMANYREFS). A small buffer lets few be on their way, and sending waits for the supervisor.
Sys<void> make_socket_pool(const Record& record, Channel& control) {
  constexpr int kFewMessages = 8'192;
  CORDON_OK(kernel::set_option(FdView(kControlFd), SOL_SOCKET, SO_SNDBUF, kFewMessages));
  for (std::uint64_t i = 0; i < record.args[1]; ++i) {
    CORDON_TRY(const Fd socket, kernel::stream_socket(static_cast<int>(record.args[0])));
    CORDON_OK(control.send({.kind = Kind::kListening, .step = record.step}, socket));
  }
  return {};
}

Sys<void> make_agent_socket(Tree& tree, const char* path, const Record& record, Channel& control) {
  CORDON_TRY(const Fd socket, make_listener(tree, path));
  return control.send({.kind = Kind::kListening, .step = record.step}, socket);
}

Sys<void> await_supervisor() {
  auto batch = receive(FdView(kControlFd), 0);
  if (!batch) return base::fail(batch.error());
  if (batch->count != 1 || batch->messages[0].kind != Kind::kGo) return base::fail(Errno{EPIPE, "supervisor"});
  return {};
}

Sys<Endpoint> source_to_nowhere(int family) {
  CORDON_TRY(const Fd socket, kernel::datagram_socket(family));
  CORDON_OK(kernel::connect(socket, nowhere(family)));
  CORDON_TRY(Endpoint source, kernel::local_endpoint(socket));
  source.port = 0;
  return source;
}

}  // namespace cordon::enforce::launch
