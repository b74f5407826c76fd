// The broker, from the host inside: a connection that came to a published port, until one of the inner sockets is
// connected for it. There are few of those, and a program that is being started does not listen yet: such a connection
// waits. Each wait has an end, and so has their number, so that who comes in takes nothing from who goes out.
#include <algorithm>
#include <utility>

#include "egress/broker.h"
#include "egress/destination.h"

namespace cordon::egress {
namespace {

using policy::network::Family;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kDialAgainMs = 200;

constexpr auto kNoRoom = static_cast<std::uint32_t>(Bound::kInnerSockets);

}  // namespace

/// No rule and no guard: a line of the policy is about this port, and no address but the sandbox's loopback is dialled.
void Broker::let_in(Connection& connection) {
  const auto local = kernel::local_endpoint(connection.client);
  if (!local || local->family == AF_UNSPEC) return refuse(connection, Verdict::kMalformed);
  connection.host = *policy::network::HostName::parse("localhost");
  connection.port = local->port;
  connection.decided_by = DecidedBy::kAllowRule;
  dial_inside(connection);
}

/// One of each family: what listens on ::1 alone is found there second.
bool Broker::has_room_inside() const {
  return inner_.has(AF_INET) && (config_.inner_ipv6 == 0 || inner_.has(AF_INET6));
}

/// Those that wait leave half of all connections to the target's own.
bool Broker::may_wait() const {
  return waiting_ < std::min(config_.bounds.waiting_inside, std::max<std::uint64_t>(most_connections_ / 2, 1));
}

void Broker::dial_inside(Connection& connection) {
  if (!has_room_inside()) return wait_for_room(connection);
  connection.wants_room = false;
  std::vector<Target> targets = {{endpoint_of(loopback(Family::kIpv4), connection.port), OwnMachine::kMeant}};
  if (inner_.has(AF_INET6))
    targets.push_back({endpoint_of(loopback(Family::kIpv6), connection.port), OwnMachine::kMeant});
  dial_targets(connection, std::move(targets));
}

void Broker::wait_for_room(Connection& connection) {
  connection.wants_room = true;
  if (connection.room_until_ns == 0) {
    if (!may_wait()) return refuse(connection, Verdict::kOverBound, kNoRoom);
    connection.room_until_ns = now_ns_ + config_.bounds.dial_ms * kMs;
  }
  stage(connection, Stage::kWaiting, 0);
  connection.until_ns = connection.room_until_ns;
  queue_.push_back(connection.self);
}

/// Nothing listens. Before anything ever has, it is about to: a program that tries whether the port is open would take
/// the accepted connection for a yes, and one that is reset for the end.
void Broker::not_inside(Connection& connection) {
  const int code = connection.dialer->code();
  connection.dialer.reset();  // gives its sockets back
  if (code == EMFILE) return wait_for_room(connection);
  const auto refused = [&] { refuse(connection, Verdict::kUnreachable, static_cast<std::uint32_t>(code)); };
  if (code != ECONNREFUSED || reached_inside_.contains(connection.port) || delivers_until_ns_) return refused();
  if (connection.early_until_ns == 0) {
    if (!may_wait()) return refused();
    connection.early_until_ns = now_ns_ + config_.bounds.early_ms * kMs;
  }
  if (now_ns_ >= connection.early_until_ns) return refused();
  stage(connection, Stage::kWaiting, kDialAgainMs);
}

/// The wait is over: for an inner socket, or until it is time to dial again.
void Broker::on_wait_end(Connection& connection) {
  if (connection.wants_room) return refuse(connection, Verdict::kOverBound, kNoRoom);
  dial_inside(connection);
}

/// In the order in which they came.
void Broker::serve_queue() {
  while (!queue_.empty() && has_room_inside()) {
    Connection* connection = find(queue_.front());
    queue_.pop_front();
    if (connection != nullptr && connection->stage == Stage::kWaiting) dial_inside(*connection);
  }
}

/// Whoever does nothing with an inner socket must not shut the port for the others: who is quiet for longest gives way,
/// first of those of which one side has left.
void Broker::make_room() {
  std::erase_if(queue_, [this](Handle handle) { return find(handle) == nullptr; });
  if (queue_.empty()) return;
  const std::uint64_t quiet_ns = config_.bounds.reclaim_ms * kMs;
  std::vector<Connection*> quiet;
  for (const auto& one : connections_) {
    if (one && one->via == Via::kPublished && one->stage == Stage::kRelaying && now_ns_ - one->moved_ns >= quiet_ns)
      quiet.push_back(one.get());
  }
  std::ranges::sort(
      quiet, {}, [](const Connection* one) { return std::pair(one->relay->is_half_closed() ? 0 : 1, one->moved_ns); });
  std::size_t wanted = queue_.size();
  for (Connection* one : quiet) {
    if (wanted-- == 0) return;
    count(*one, Verdict::kOverBound, kNoRoom);
    close(*one, End::kReset);
  }
  inner_.reclaim(wanted, now_ns_ - std::min(quiet_ns, now_ns_));
}

}  // namespace cordon::egress
