// The broker's second half: from a connection that is dialled, or refused, to its end.
#include <algorithm>
#include <utility>

#include "egress/broker.h"
#include "egress/destination.h"

namespace cordon::egress {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kFarewellMs = 1'000;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// `own` is the direction that the side with these events is the source of.
Relay::Turn turn_of(std::uint32_t events, Relay::Turn own) { return events == EPOLLIN ? own : Relay::Turn::kBoth; }

/// A side that has hung up is told of without end: it is forgotten once nothing more is to be taken from it. Not
/// before: its last bytes and its end may still be unread, and no other event would come for them.
bool is_spent(const Connection& connection, Relay::Side side, std::uint32_t events) {
  return (events & EPOLLHUP) != 0 && connection.relay->wanted(side) == 0;
}

bool hurries(Stage stage) { return stage != Stage::kRelaying; }

}  // namespace

std::uint32_t Broker::count(const Connection& connection, Verdict verdict, std::uint32_t detail,
                            const std::optional<policy::network::Address>& address) {
  const bool known = connection.port != 0;
  return tally_.count({.verdict = verdict,
                       .via = connection.via,
                       .decided_by = connection.decided_by,
                       .port = connection.port,
                       .rule = connection.rule,
                       .detail = detail,
                       .host = known ? to_string(connection.host) : std::string(),
                       .address = address});
}

void Broker::stage(Connection& connection, Stage next, std::uint64_t limit_ms) {
  if (hurries(connection.stage) && !hurries(next)) --hurried_;
  if (!hurries(connection.stage) && hurries(next)) ++hurried_;
  if (connection.stage == Stage::kWaiting) --waiting_;
  if (next == Stage::kWaiting) ++waiting_;
  connection.stage = next;
  connection.until_ns = now_ns_ + limit_ms * kMs;
}

/// False: the connection is gone.
bool Broker::watch_client(Connection& connection, std::uint32_t events) {
  if (poller_.watch(connection.client, {Owner::kClient, 0, connection.self}, events, connection.client_watch))
    return true;
  close(connection, End::kReset);
  return false;
}
bool Broker::watch_server(Connection& connection, std::uint32_t events) {
  if (poller_.watch(connection.server, {Owner::kServer, 0, connection.self}, events, connection.server_watch))
    return true;
  close(connection, End::kReset);
  return false;
}

/// The server is there: from here on bytes pass.
void Broker::establish(Connection& connection) {
  const bool by_gate = connection.decided_by == DecidedBy::kGate;
  connection.row = count(connection, by_gate ? Verdict::kGateAdmitted : Verdict::kAdmitted, 0);
  if (connection.via == Via::kPublished) reached_inside_.insert(connection.port);
  connection.relay = std::make_unique<Relay>(shared_);
  Relay& relay = *connection.relay;
  if (connection.via == Via::kProxy && !connection.is_forward) {
    const auto greeting = bytes_of(response_for(200));
    const auto sent = kernel::send(connection.client, greeting);
    if (!sent || *sent != greeting.size()) return close(connection, End::kReset);
  }
  if (connection.is_forward) relay.limit_client(connection.forward_body);
  relay.preload(Relay::Side::kServer, bytes_of(connection.pending));
  relay.preload(Relay::Side::kClient, bytes_of(connection.answer));
  connection.pending = {};
  connection.answer = {};
  stage(connection, Stage::kRelaying, 0);
  connection.moved_ns = now_ns_;
  pump(connection, Relay::Turn::kBoth);
}

void Broker::pump(Connection& connection, Relay::Turn turn) {
  Relay& relay = *connection.relay;
  const Relay::State state = relay.pump(connection.client, connection.server, turn);
  const Relay::Moved moved = relay.take_moved();
  if (moved.out + moved.in > 0) {
    const bool came_in = connection.via == Via::kPublished;
    tally_.add_bytes(connection.row, came_in ? moved.in : moved.out, came_in ? moved.out : moved.in);
    connection.moved_ns = now_ns_;
  }
  if (state == Relay::State::kBroken) return close(connection, End::kReset);
  if (state == Relay::State::kDone) return close(connection, End::kOrderly);
  if (watch_client(connection, relay.wanted(Relay::Side::kClient)))
    watch_server(connection, relay.wanted(Relay::Side::kServer));
}

void Broker::on_client(Connection& connection, std::uint32_t events) {
  if (connection.stage == Stage::kFarewell) return drain(connection);
  if ((events & EPOLLERR) != 0)
    return connection.relay ? break_off(connection, Relay::Turn::kOut) : abandon(connection);
  if (connection.stage == Stage::kHead) return on_head(connection);
  if (connection.stage != Stage::kRelaying) {
    if ((events & EPOLLHUP) != 0) abandon(connection);
    return;
  }
  const Handle self = connection.self;
  pump(connection, turn_of(events, Relay::Turn::kOut));
  if (find(self) == nullptr || !is_spent(connection, Relay::Side::kClient, events)) return;
  poller_.forget(connection.client, connection.client_watch);
}

/// The client has reset: it ended with bytes of the server's unread, perhaps. What it sent before that has arrived. Of
/// a published port the same holds of the server, which is the run's.
void Broker::break_off(Connection& connection, Relay::Turn last) {
  const Handle self = connection.self;
  pump(connection, last);
  if (find(self) != nullptr) close(connection, End::kReset);
}

void Broker::on_server(Connection& connection, std::uint32_t events) {
  if ((events & EPOLLERR) != 0) {
    if (connection.via == Via::kPublished && connection.relay) return break_off(connection, Relay::Turn::kIn);
    if (connection.stage == Stage::kRelaying) return close(connection, End::kReset);
    return refuse(connection, Verdict::kUnreachable, ECONNRESET);
  }
  if (connection.stage == Stage::kUpstream) return on_upstream(connection);
  if (connection.stage != Stage::kRelaying) return;
  const Handle self = connection.self;
  pump(connection, turn_of(events, Relay::Turn::kIn));
  if (find(self) == nullptr || !is_spent(connection, Relay::Side::kServer, events)) return;
  poller_.forget(connection.server, connection.server_watch);
}

void Broker::refuse(Connection& connection, Verdict verdict, std::uint32_t detail, int status) {
  count(connection, verdict, detail);
  turn_away(connection, status);
}

/// Ends by a reset; a proxy's client is told first.
void Broker::turn_away(Connection& connection, int status) {
  if (connection.via != Via::kProxy) return close(connection, End::kReset);
  connection.dialer.reset();
  if (connection.server.valid()) poller_.forget(connection.server, connection.server_watch);
  connection.server.reset();
  const auto answer = bytes_of(response_for(status));
  const auto sent = kernel::send(connection.client, answer);
  if (!sent || *sent != answer.size() || !kernel::shutdown_write(connection.client))
    return close(connection, End::kReset);
  // Closed with bytes unread, the client would see a reset and not the answer.
  stage(connection, Stage::kFarewell, kFarewellMs);
  connection.pending = {};
  if (watch_client(connection, EPOLLIN)) drain(connection);
}

void Broker::drain(Connection& connection) {
  for (int i = 0; i < 4; ++i) {
    const auto got = kernel::receive(connection.client, shared_.buffer);
    if (!got && got.error().code == EAGAIN) return;
    if (!got || *got == 0) return close(connection, End::kOrderly);
  }
}

/// The client has gone before its connection stood. It is counted by what was decided of it so far.
void Broker::abandon(Connection& connection) {
  if (connection.stage == Stage::kAsking) {
    gatekeeper_.leave(connection.self);
    count(connection, Verdict::kGateDenied, 0);
  } else if (connection.stage == Stage::kHead) {
    count(connection, Verdict::kMalformed, 0);
  } else if (connection.via == Via::kPublished && connection.wants_room) {
    count(connection, Verdict::kOverBound, static_cast<std::uint32_t>(Bound::kInnerSockets));
  } else if (connection.via == Via::kPublished) {
    count(connection, Verdict::kUnreachable, ECONNABORTED);
  } else {
    count(connection, connection.decided_by == DecidedBy::kGate ? Verdict::kGateAdmitted : Verdict::kAdmitted, 0);
  }
  close(connection, End::kReset);
}

void Broker::on_time(Connection& connection) {
  if (connection.stage == Stage::kRelaying) return relay_time(connection);
  if (connection.dialer) {
    const Handle self = connection.self;
    on_dialer(connection, connection.dialer->on_time(now_ns_));
    if (find(self) == nullptr || connection.stage != Stage::kDialing) return;
  }
  if (now_ns_ < connection.until_ns) return;
  switch (connection.stage) {
    case Stage::kHead:
      return refuse(connection, Verdict::kOverBound, static_cast<std::uint32_t>(Bound::kHeadTime), 408);
    case Stage::kResolving:
      return refuse(connection, Verdict::kUnreachable,
                    kLookupDetail + static_cast<std::uint32_t>(LookupStatus::kTooLate));
    case Stage::kDialing:
    case Stage::kUpstream:
      return refuse(connection, Verdict::kUnreachable, ETIMEDOUT);
    case Stage::kWaiting:
      return on_wait_end(connection);
    case Stage::kFarewell:
      return close(connection, End::kReset);
    case Stage::kAsking:  // the gatekeeper's time
    case Stage::kRelaying:
      return;
  }
}

void Broker::relay_time(Connection& connection) {
  const Bounds& bounds = config_.bounds;
  const std::uint64_t quiet = (now_ns_ - connection.moved_ns) / kMs;
  const Relay& relay = *connection.relay;
  const bool stalled = relay.holds_bytes() && quiet >= bounds.stall_ms;
  const bool idle = quiet >= (relay.is_half_closed() ? bounds.half_closed_ms : bounds.idle_ms);
  const bool old = (now_ns_ - connection.born_ns) / kMs >= bounds.life_ms;
  if (stalled || idle || old) close(connection, End::kReset);
}

/// Every socket of a connection is set to reset at its close; in an orderly end that is lifted.
void Broker::close(Connection& connection, End end) {
  if (end == End::kOrderly && connection.client.valid())
    static_cast<void>(kernel::end_on_close(connection.client).has_value());
  if (connection.stage == Stage::kWaiting) --waiting_;
  if (hurries(connection.stage)) --hurried_;
  --open_;
  const std::uint32_t slot = connection.self.slot;
  poller_.forget(connection.client, connection.client_watch);
  if (connection.server.valid()) leave_server(connection, end);
  free_.push_back(slot);
  connections_[slot].reset();
}

void Broker::leave_server(Connection& connection, End end) {
  poller_.forget(connection.server, connection.server_watch);
  if (end == End::kOrderly) static_cast<void>(kernel::end_on_close(connection.server).has_value());
  if (connection.inner_family == 0) return;
  if (end == End::kReset) return inner_.give_back(std::move(connection.server), connection.inner_family);
  const std::uint64_t until_ns = now_ns_ + config_.bounds.stall_ms * kMs;
  inner_.give_back_once_delivered(std::move(connection.server), connection.inner_family, now_ns_, until_ns);
}

}  // namespace cordon::egress
