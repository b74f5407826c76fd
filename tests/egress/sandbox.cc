#include "egress/sandbox.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>

#include "egress/broker.h"
#include "egress/far.h"
#include "egress/netlink.h"
#include "kernel/event.h"
#include "kernel/net.h"
#include "policy/network/matcher.h"
#include "policy/network/synthetic.h"
#include "support/require.h"

namespace cordon::test {
namespace {

using base::Fd;
using egress::Listener;
using egress::ListenerRole;
using policy::network::Family;

constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};

kernel::Endpoint endpoint(const std::string& text, std::uint16_t port) {
  const auto address = policy::network::read_address(text);
  require(address.has_value(), "address " + text);
  return {address->family == Family::kIpv6 ? AF_INET6 : AF_INET, address->bytes, port};
}

void be_patient(const Fd& socket) {
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
}

Fd bound(const std::string& address, std::uint16_t port, int type, Reuse reuse = Reuse::kNever) {
  kernel::Endpoint at = endpoint(address, port);
  Fd socket(::socket(at.family, type | SOCK_CLOEXEC, 0));
  require(socket.valid(), "socket");
  if (reuse == Reuse::kAgain) require(kernel::set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1).has_value(), "reuse");
  if (at.family == AF_INET6) require(kernel::set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1).has_value(), "v6only");
  kernel::SocketAddress raw = kernel::to_socket_address(at);
  require(::bind(socket.get(), raw.get(), raw.size) == 0, "bind " + address + " " + std::to_string(port));
  return socket;
}

[[maybe_unused]] Fd sealed(std::span<const std::byte> bytes) {
  Fd memory(::memfd_create("config", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  require(::write(memory.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "write config");
  require(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0, "seal");
  return memory;
}

/// A socket whose connect() was answered by a reset is closed, and no longer "reset by peer".
bool is_reset(int error) { return error == ECONNRESET || error == ENOTCONN; }

void write_file(const char* path, const std::string& text) {
  std::ofstream out(path);
  out << text << std::flush;
  require(out.good(), std::string("write ") + path);
}

}  // namespace

void enter_host_network() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  require(::unshare(uid == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) == 0, "unshare");
  if (uid != 0) {
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
    write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
  }
  bring_up("lo");
  ::signal(SIGPIPE, SIG_IGN);
}

Fd listen_on(const std::string& address, std::uint16_t port, Reuse reuse) {
  Fd socket = bound(address, port, SOCK_STREAM, reuse);
  require(::listen(socket.get(), 4096) == 0, "listen");
  return socket;
}

Fd connect_to(const std::string& address, std::uint16_t port) {
  const kernel::Endpoint to = endpoint(address, port);
  Fd socket(::socket(to.family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  require(socket.valid(), "socket");
  be_patient(socket);
  const auto connected = kernel::connect(socket, to);
  return connected || connected.error().code == ECONNRESET ? std::move(socket) : Fd();
}

std::uint16_t port_of(const Fd& socket) { return kernel::local_endpoint(socket)->port; }

std::string read_some(const Fd& socket, std::size_t size) {
  std::string out;
  std::array<char, 65536> buffer{};
  while (out.size() < size) {
    const ssize_t n = ::recv(socket.get(), buffer.data(), std::min(buffer.size(), size - out.size()), 0);
    if (n == 0) break;
    if (n < 0) return out + (is_reset(errno) ? "(reset)" : errno == EAGAIN ? "(timeout)" : std::strerror(errno));
    out.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return out;
}

std::string read_all(const Fd& socket) { return read_some(socket, SIZE_MAX); }

bool write_all(const Fd& socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

Server::Server(const std::string& address, std::uint16_t port, std::function<void(const Fd&)> serve)
    : listener_(is_far(address) ? listen_far(address, port, Reuse::kAgain) : listen_on(address, port, Reuse::kAgain)),
      port_(port_of(listener_)),
      serve_(std::move(serve)) {
  thread_ = std::jthread([this] {
    std::vector<std::jthread> threads;
    while (true) {
      auto client = std::make_shared<Fd>(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client->valid()) return;
      be_patient(*client);
      threads.emplace_back([this, client] { serve_(*client); });
    }
  });
}

Server::~Server() { ::shutdown(listener_.get(), SHUT_RDWR); }

Sandbox::Sandbox() {
  thread_ = std::jthread([this] {
    require(::unshare(CLONE_NEWNET) == 0, "unshare(CLONE_NEWNET)");
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return over_ || act_ != nullptr; });
      if (over_) return;
      const auto act = std::exchange(act_, nullptr);
      lock.unlock();  // the resolver's thread needs it meanwhile
      act();
      lock.lock();
      done_ = true;
      wake_.notify_all();
    }
  });
  inside([] {
    bring_up("lo");
    add_address(to_string(policy::network::kOwnIpv4));
    add_address(to_string(policy::network::kOwnIpv6));
    add_local_default_routes(to_string(policy::network::kOwnIpv4), to_string(policy::network::kOwnIpv6));
  });
}

Sandbox::~Sandbox() {
  if (broker_ > 0) {
    ::kill(broker_, SIGKILL);
    wait_broker();
  }
  close_control();
  if (resolver_.valid()) ::shutdown(resolver_.get(), SHUT_RDWR);
  const std::lock_guard lock(mutex_);
  over_ = true;
  wake_.notify_all();
}

void Sandbox::inside(const std::function<void()>& act) {
  std::unique_lock lock(mutex_);
  done_ = false;
  act_ = act;
  wake_.notify_all();
  wake_.wait(lock, [&] { return done_; });
}

void Sandbox::allow(const std::string& host, const std::string& ports) {
  config.rules.allow.push_back(*policy::network::parse_rule(host, ports, policy::network::SuffixMeaning::kBelowOnly));
}

void Sandbox::deny(const std::string& host, const std::string& ports) {
  config.rules.deny.push_back(*policy::network::parse_rule(host, ports, policy::network::SuffixMeaning::kWithApex));
}

void Sandbox::make_listeners() {
  std::uint16_t redirect4 = 0, redirect6 = 0;
  const auto add = [this](ListenerRole role, Family family, Fd socket) {
    config.listeners.push_back({role, family});
    listeners_.push_back(std::move(socket));
  };
  inside([&] {
    add(ListenerRole::kRedirect, Family::kIpv4, listen_on("0.0.0.0", 0));
    redirect4 = port_of(listeners_.back());
    add(ListenerRole::kRedirect, Family::kIpv6, listen_on("::", 0));
    redirect6 = port_of(listeners_.back());
    add(ListenerRole::kConnect, Family::kIpv4, listen_on("127.0.0.1", 0));
    proxy_port_ = port_of(listeners_.back());
    add(ListenerRole::kDnsUdp, Family::kIpv4, bound("0.0.0.0", 53, SOCK_DGRAM));
    add(ListenerRole::kDnsUdp, Family::kIpv6, bound("::", 53, SOCK_DGRAM));
    add(ListenerRole::kDnsTcp, Family::kIpv4, listen_on("127.0.0.1", 53));
    redirect_tcp(redirect4, redirect6);
  });
}

void Sandbox::publish(std::uint16_t port, std::uint16_t sockets) {
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    const auto at = endpoint(family == Family::kIpv4 ? "127.0.0.1" : "::1", port);
    auto listener = kernel::listening_socket(at);
    require(listener.has_value(), "listen on a published port");
    config.listeners.push_back({ListenerRole::kPublished, family});
    listeners_.push_back(std::move(*listener));
  }
  if (config.inner_ipv4 != 0) return;
  config.inner_ipv4 = config.inner_ipv6 = sockets;
  inside([&] {
    for (std::uint16_t i = 0; i < sockets; ++i) {
      inner4_.push_back(std::move(*kernel::stream_socket(AF_INET)));
      inner6_.push_back(std::move(*kernel::stream_socket(AF_INET6)));
    }
  });
}

void Sandbox::start() {
  make_listeners();
  std::array<int, 2> control{}, resolver{};
  require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control.data()) == 0, "socketpair");
  require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, resolver.data()) == 0, "socketpair");
  control_ = Fd(control[0]);
  resolver_ = Fd(resolver[0]);
  start_broker(control[1], resolver[1]);
  listeners_.clear();
  inner4_.clear();
  inner6_.clear();
  resolver_thread_ = std::jthread([this] { answer_lookups(); });
  const auto first = next_record();
  require(first && std::holds_alternative<egress::Ready>(*first), "the broker is ready");
  ready = std::get<egress::Ready>(*first);
}

#if defined(__SANITIZE_THREAD__)
/// The sanitizer's own thread cannot live in the program's confinement, so what runs here is the broker without it.
void Sandbox::start_broker(int control, int resolver) {
  egress::BrokerSockets sockets{Fd(control),           Fd(resolver),
                                std::move(listeners_), std::move(*kernel::Routes::open()),
                                std::move(inner4_),    std::move(inner6_)};
  const std::uint64_t connections = egress::connections_for(config.bounds, sockets.listeners.size(), 1'048'576);
  broker_thread_ = std::jthread([told = config, connections, sockets = std::move(sockets)]() mutable {
    egress::Broker broker(std::move(told), std::move(sockets), std::move(*kernel::epoll_create()), connections, "");
    static_cast<void>(broker.run({}).has_value());
  });
}
#else
void Sandbox::start_broker(int control, int resolver) {
  const Fd memory = sealed(encode(config));
  std::vector<int> fds = {memory.get(), control, resolver};
  for (const auto* sockets : {&listeners_, &inner4_, &inner6_})
    for (const Fd& one : *sockets) fds.push_back(one.get());
  broker_ = ::fork();
  require(broker_ >= 0, "fork");
  if (broker_ == 0) {
    for (int& fd : fds) fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 200);
    for (std::size_t i = 0; i < fds.size(); ++i) ::dup2(fds[i], static_cast<int>(i) + egress::kConfigFd);
    char* const none[] = {nullptr};
    ::execve(CORDON_BROKER, none, none);
    ::_exit(127);
  }
  ::close(control);
  ::close(resolver);
}
#endif

void Sandbox::answer_lookups() {
  std::array<std::byte, 1024> buffer{};
  while (true) {
    const ssize_t n = ::recv(resolver_.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) return;
    egress::LookupQuestion question;
    const auto name = egress::name_in(std::span(buffer).first(static_cast<std::size_t>(n)), question);
    require(name.has_value(), "a question of the broker's");
    egress::LookupAnswer answer{.id = question.id, .status = egress::LookupStatus::kNoSuchName};
    const std::lock_guard lock(mutex_);
    asked_.push_back(name->str());
    const auto known = hosts.find(name->str());
    if (known != hosts.end()) answer.status = egress::LookupStatus::kOk;
    for (const std::string& one : known == hosts.end() ? std::vector<std::string>{} : known->second) {
      const auto address = policy::network::read_address(one);
      auto& into = answer.addresses[answer.count++];
      into.family = address->family == Family::kIpv6 ? 1 : 0;
      std::memcpy(into.bytes.data(), address->bytes.data(), into.bytes.size());
    }
    if (::send(resolver_.get(), &answer, sizeof answer, MSG_NOSIGNAL) < 0) return;
  }
}

void Sandbox::move_host(const std::string& name, std::vector<std::string> addresses) {
  const std::lock_guard lock(mutex_);
  hosts[name] = std::move(addresses);
}

std::vector<std::string> Sandbox::asked() {
  const std::lock_guard lock(mutex_);
  return asked_;
}

Fd Sandbox::connect(const std::string& address, std::uint16_t port) {
  Fd out;
  inside([&] { out = connect_to(address, port); });
  return out;
}

Fd Sandbox::proxy() { return connect("127.0.0.1", proxy_port_); }

Fd Sandbox::reach(const std::string& name, std::uint16_t port) {
  const std::string address = look_up(name);
  return address.empty() ? Fd() : connect(address, port);
}

std::string Sandbox::look_up(const std::string& name, std::uint16_t type) {
  std::string query("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
  std::size_t at = 0;
  while (at < name.size()) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    query += static_cast<char>(dot - at);
    query += name.substr(at, dot - at);
    at = dot + 1;
  }
  query += '\0';
  query += {static_cast<char>(type >> 8), static_cast<char>(type & 0xff), 0, 1};
  Fd socket;
  inside([&] {
    // A resolver of its own choice: answered all the same, and from that address.
    socket = Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    be_patient(socket);
    require(kernel::connect(socket, endpoint("9.9.9.9", 53)).has_value(), "connect to a resolver");
  });
  require(write_all(socket, query), "send a DNS question");
  std::array<char, 1024> answer{};
  const ssize_t n = ::recv(socket.get(), answer.data(), answer.size(), 0);
  require(n >= 12, "a DNS answer");
  if (answer[7] != 1) return "";
  policy::network::Address out{type == 28 ? Family::kIpv6 : Family::kIpv4, {}};
  const std::size_t size = out.bits() / 8;
  std::memcpy(out.bytes.data(), answer.data() + n - static_cast<ssize_t>(size), size);
  return to_string(out);
}

std::optional<egress::Record> Sandbox::next_record(int timeout_ms) {
  pollfd one{control_.get(), POLLIN, 0};
  if (::poll(&one, 1, timeout_ms) != 1) return std::nullopt;
  std::array<std::byte, egress::kMostRecordBytes> buffer{};
  const ssize_t n = ::recv(control_.get(), buffer.data(), buffer.size(), 0);
  if (n <= 0) return std::nullopt;
  auto record = egress::decode_record(std::span(buffer).first(static_cast<std::size_t>(n)));
  require(record.has_value(), "a record of the broker's");
  if (const auto* row = std::get_if<egress::Row>(&*record)) rows_[row->id] = *row;
  return record;
}

void Sandbox::say(const egress::Record& record) {
  const auto bytes = encode(record);
  require(::send(control_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0, "send to the broker");
}

std::map<std::uint32_t, egress::Row> Sandbox::finish() {
  say(egress::Finish{});
  while (const auto record = next_record()) {
    if (std::holds_alternative<egress::Finished>(*record)) return rows_;
  }
  require(false, "the broker finished");
  return rows_;
}

std::vector<std::string> Sandbox::summary() {
  constexpr std::array<const char*, 9> kVerdicts = {"?",           "admitted",    "gate-admitted",
                                                    "denied",      "gate-denied", "guard-blocked",
                                                    "unreachable", "malformed",   "over-bound"};
  std::multiset<std::string> out;
  for (const auto& [id, row] : finish()) {
    out.insert(std::string(kVerdicts[static_cast<std::size_t>(row.verdict)]) + " " +
               (row.via == egress::Via::kDns ? "dns " : "") + row.host + ":" + std::to_string(row.port) + " " +
               std::to_string(row.count));
  }
  return {out.begin(), out.end()};
}

void Sandbox::close_control() { control_.reset(); }
void Sandbox::kill_broker() { ::kill(pid(), SIGKILL); }

pid_t Sandbox::pid() const {
  require(broker_ > 0, "a broker that is a program");
  return broker_;
}

int Sandbox::wait_broker() {
  int status = 0;
  ::waitpid(pid(), &status, 0);
  broker_ = -1;
  return status;
}

}  // namespace cordon::test
