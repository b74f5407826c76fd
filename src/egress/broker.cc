#include "egress/broker.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernel/process.h"

namespace cordon::egress {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSweepMs = 50;  // how late a stage's end may be noticed
constexpr std::size_t kEventsPerTurn = 512;
constexpr std::size_t kRecordsPerTurn = 256;
constexpr std::uint64_t kOwnDescriptors = 32;
constexpr int kFarewellMs = 2'000;

}  // namespace

std::uint64_t connections_for(const Bounds& bounds, std::size_t listeners, std::uint64_t descriptors) {
  const std::uint64_t kept =
      kOwnDescriptors + listeners + bounds.dns_connections + 2 * bounds.pipes + AttemptBudget{}.extra;
  return descriptors <= kept ? 0 : std::min(bounds.connections, (descriptors - kept) / 2);
}

Broker::Broker(Config config, BrokerSockets sockets, kernel::Fd epoll, std::uint64_t connections,
               std::string_view own_name)
    : config_(std::move(config)),
      sockets_(std::move(sockets)),
      inner_(std::move(sockets_.inner_ipv4), std::move(sockets_.inner_ipv6)),
      poller_(std::move(epoll)),
      most_connections_(connections),
      names_(config_.bounds.names),
      tally_(config_.bounds.rows),
      gatekeeper_(config_.bounds),
      lookups_(config_.bounds),
      answerer_(config_.rules, config_.gate, config_.ipv6, names_, own_name),
      dns_(answerer_, config_.bounds, poller_, [this](Row row) { tally_.count(std::move(row)); }),
      shared_{.pipes = PipePool(config_.bounds.pipes, config_.bounds.splice_after_bytes)},
      guard_{.allowed = config_.opened},
      listener_watches_(sockets_.listeners.size()) {}

bool Broker::watch_all() {
  bool all = poller_.watch(sockets_.control, {Owner::kControl, 0, {}}, EPOLLIN, control_watch_) &&
             poller_.watch(sockets_.resolver, {Owner::kResolver, 0, {}}, EPOLLIN, resolver_watch_);
  for (std::size_t i = 0; i < sockets_.listeners.size(); ++i) {
    const kernel::FdView socket = sockets_.listeners[i];
    all = all && kernel::set_nonblocking(socket);
    if (config_.listeners[i].role == ListenerRole::kDnsUdp) {
      const bool ipv4 = config_.listeners[i].family == policy::network::Family::kIpv4;
      all = all && kernel::tell_destination(socket, ipv4 ? AF_INET : AF_INET6);
    }
    const Tag tag{Owner::kListener, 0, {static_cast<std::uint32_t>(i), 0}};
    all = all && poller_.watch(socket, tag, EPOLLIN, listener_watches_[i]);
  }
  auto spare = kernel::duplicate(sockets_.control, 0);
  if (spare) spare_ = std::move(*spare);
  return all && spare;
}

kernel::Sys<void> Broker::run(const Ready& ready) {
  now_ns_ = kernel::monotonic_ns();
  if (!watch_all()) return base::fail(kernel::Errno{EINVAL, "epoll_ctl"});
  outgoing_.emplace_back(ready);
  report();
  std::array<epoll_event, kEventsPerTurn> events{};
  while (!over_) {
    const auto got = poller_.wait(events, wait_ms());
    if (!got) return base::fail(got.error());
    turn(std::span(events).first(*got));
  }
  return {};
}

void Broker::turn(std::span<const epoll_event> events) {
  now_ns_ = kernel::monotonic_ns();
  for (const epoll_event& event : events) {
    if (over_) return;
    dispatch(Tag::unpacked(event.data.u64), event.events);
  }
  tick();
  serve_queue();
  send_questions();
  report();
  if (delivers_until_ns_ && !over_ && (now_ns_ >= *delivers_until_ns_ || !still_delivers())) finish();
}

void Broker::dispatch(const Tag& tag, std::uint32_t events) {
  if (tag.owner == Owner::kControl) {
    has_room_ = has_room_ || (events & EPOLLOUT) != 0;
    return on_control();
  }
  if (tag.owner == Owner::kResolver) return on_resolver();
  if (tag.owner == Owner::kListener) return on_listener(tag.handle.slot);
  if (tag.owner == Owner::kDnsConnection) return dns_.on_event(tag.handle, now_ns_);
  Connection* connection = find(tag.handle);
  if (connection == nullptr) return;
  if (tag.owner == Owner::kClient) return on_client(*connection, events);
  if (tag.owner == Owner::kServer) return on_server(*connection, events);
  if (connection->dialer) on_dialer(*connection, connection->dialer->on_event(tag.part, now_ns_));
}

/// What the supervisor says. Anything that is no record of its, and its end, are the end of the broker.
void Broker::on_control() {
  std::array<std::byte, kMostRecordBytes> buffer;
  while (!over_) {
    const auto got = kernel::receive(sockets_.control, buffer);
    if (!got && got.error().code == EAGAIN) return;
    const auto record = got && *got > 0 ? decode_record(std::span(buffer).first(*got)) : std::nullopt;
    if (record && std::holds_alternative<Answer>(*record)) {
      on_gate(std::get<Answer>(*record));
    } else if (record && std::holds_alternative<Finish>(*record)) {
      take_leave(std::get<Finish>(*record).parting);
    } else {
      over_ = true;
    }
  }
}

void Broker::on_resolver() {
  std::array<std::byte, sizeof(LookupAnswer) + 1> buffer;
  while (true) {
    const auto got = kernel::receive(sockets_.resolver, buffer);
    if (!got && got.error().code == EAGAIN) return;
    if (!got || *got == 0) {
      // The pair's other end is closed for good: no name can be resolved any more.
      poller_.forget(sockets_.resolver, resolver_watch_);
      return wake(lookups_.fail_all(now_ns_));
    }
    const auto answer = read_answer(std::span(buffer).first(*got));
    if (answer) wake(lookups_.take(*answer, now_ns_));
  }
}

void Broker::send_questions() {
  while (const auto question = lookups_.next_question(now_ns_)) {
    const auto sent = kernel::send(sockets_.resolver, std::as_bytes(std::span(&*question, 1)));
    if (!sent && sent.error().code == EAGAIN) return;  // the next tick tries again
    if (!sent) return wake(lookups_.fail_all(now_ns_));
    lookups_.sent(now_ns_);
  }
}

/// False where there is no room now; a supervisor that is gone is seen by on_control().
bool Broker::send(const Record& record) {
  const auto bytes = encode(record);
  return kernel::send(sockets_.control, bytes).has_value();
}

/// Tells what is new, as far as the supervisor takes it.
void Broker::report() {
  auto& questions = gatekeeper_.outgoing();
  std::size_t sent = 0;
  bool room = has_room_;
  while (room && !outgoing_.empty() && (room = send(outgoing_.front()))) outgoing_.pop_front();
  while (room && !questions.empty() && (room = send(questions.front()))) questions.pop_front();
  while (room && tally_.has_news() && sent++ < kRecordsPerTurn && (room = send(tally_.news()))) tally_.told();
  has_room_ = room;
  const bool waits = !room || (tally_.has_news() && sent >= kRecordsPerTurn);
  const std::uint32_t events = EPOLLIN | (waits ? EPOLLOUT : 0U);
  if (!poller_.watch(sockets_.control, {Owner::kControl, 0, {}}, events, control_watch_)) over_ = true;
}

int Broker::wait_ms() const {
  const bool soon = hurried_ > 0 || dns_.open() > 0 || delivers_until_ns_ || inner_.any_leaving();
  return static_cast<int>(soon ? std::min(kSweepMs, config_.bounds.heartbeat_ms) : config_.bounds.heartbeat_ms);
}

void Broker::tick() {
  if (now_ns_ - swept_ns_ >= kSweepMs * kMs) {
    swept_ns_ = now_ns_;
    sweep();
  }
  if (now_ns_ - beat_ns_ < config_.bounds.heartbeat_ms * kMs) return;
  beat_ns_ = now_ns_;
  tally_.release_bytes();
  // A beat that has not gone out yet says the same as a second one.
  if (outgoing_.empty()) outgoing_.emplace_back(Heartbeat{beats_++, static_cast<std::uint32_t>(open_)});
}

void Broker::sweep() {
  dns_.expire(now_ns_);
  inner_.sweep(now_ns_);
  wake(lookups_.expire(now_ns_));
  for (const Handle handle : gatekeeper_.expire(now_ns_)) {
    if (Connection* connection = find(handle)) refuse(*connection, Verdict::kGateDenied, 0, 403);
  }
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (connections_[i]) on_time(*connections_[i]);
  }
  if (!has_room_inside()) make_room();
}

/// A program that sends, closes and exits counts on the kernel to deliver; here that is us. It may not even have been
/// accepted yet.
void Broker::take_leave(Parting parting) {
  if (parting == Parting::kAtOnce || delivers_until_ns_) return finish();
  delivers_until_ns_ = now_ns_ + config_.bounds.delivery_ms * kMs;
  for (std::size_t i = 0; i < sockets_.listeners.size(); ++i) {
    if (config_.listeners[i].role == ListenerRole::kPublished) stop_publishing(i);
    while (config_.listeners[i].role != ListenerRole::kDnsUdp && accept_one(i)) {
    }
  }
}

/// Nobody is left to come to.
void Broker::stop_publishing(std::size_t index) {
  poller_.forget(sockets_.listeners[index], listener_watches_[index]);
  sockets_.listeners[index].reset();
}

bool Broker::still_delivers() {
  bool any = false;
  for (auto& connection : connections_) {
    if (!connection || connection->stage == Stage::kAsking || connection->stage == Stage::kFarewell) continue;
    if (connection->stage == Stage::kWaiting) continue;  // nothing inside has sent it anything
    if (connection->stage == Stage::kRelaying) {
      const bool came_in = connection->via == Via::kPublished;
      connection->relay->only_deliver(came_in ? Relay::Side::kServer : Relay::Side::kClient);
      if (connection->relay->is_delivered()) {
        close(*connection, End::kOrderly);
        continue;
      }
    }
    any = true;
  }
  return any;
}

/// The run is over: nothing is left that may speak. What was counted is told before the end, if the supervisor listens.
void Broker::finish() {
  for (auto& connection : connections_) {
    if (!connection) continue;
    const Stage stage = connection->stage;
    if (stage == Stage::kRelaying || stage == Stage::kFarewell) close(*connection, End::kReset);
    if (connection && stage != Stage::kRelaying && stage != Stage::kFarewell) abandon(*connection);
  }
  outgoing_.clear();
  gatekeeper_.outgoing().clear();
  tally_.release_bytes();
  const std::uint64_t until = now_ns_ + kFarewellMs * kMs;
  while (kernel::monotonic_ns() < until) {
    if (!tally_.has_news()) {
      outgoing_.emplace_back(Finished{});
      if (send(outgoing_.front())) break;
      outgoing_.clear();
    } else if (send(tally_.news())) {
      tally_.told();
      continue;
    }
    std::array<pollfd, 1> room = {pollfd{.fd = sockets_.control.get(), .events = POLLOUT, .revents = 0}};
    static_cast<void>(kernel::poll(room, static_cast<int>(kSweepMs)).has_value());
    if ((room[0].revents & (POLLERR | POLLHUP)) != 0) break;
  }
  over_ = true;
}

Connection* Broker::find(Handle handle) const {
  if (handle.slot >= connections_.size()) return nullptr;
  Connection* connection = connections_[handle.slot].get();
  return connection != nullptr && connection->self == handle ? connection : nullptr;
}

Connection& Broker::open_slot() {
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(connections_.size());
    connections_.emplace_back();
    generations_.push_back(0);
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  connections_[slot] = std::make_unique<Connection>();
  Connection& connection = *connections_[slot];
  connection.self = {slot, ++generations_[slot]};
  connection.born_ns = now_ns_;
  ++open_;
  ++hurried_;
  return connection;
}

}  // namespace cordon::egress
