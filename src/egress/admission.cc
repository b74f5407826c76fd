// The broker's first half: from accept(2) to a connection that is dialled. Each function ends in the next one, in a
// stage that waits, or in refuse().
#include <algorithm>
#include <array>
#include <utility>

#include "egress/broker.h"
#include "egress/destination.h"
#include "policy/network/synthetic.h"

namespace cordon::egress {
namespace {

using policy::network::Address;
using policy::network::AddressClass;
using policy::network::Family;
using policy::network::Outcome;

constexpr int kAcceptsPerTurn = 64;

std::uint32_t lookup_detail(LookupStatus status) { return kLookupDetail + static_cast<std::uint32_t>(status); }

/// The name server that resolv.conf names, over TCP: the redirect takes that connection too.
bool is_own_dns(const kernel::Endpoint& wanted) {
  const Address address = address_of(wanted);
  return wanted.port == 53 && (address == policy::network::kOwnIpv4 || address == policy::network::kOwnIpv6);
}

Via via_of(const Listener& listener) {
  if (listener.role == ListenerRole::kPublished) return Via::kPublished;
  return listener.role == ListenerRole::kConnect ? Via::kProxy : Via::kTransparent;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

HeadLimits limits_of(const Bounds& bounds) { return {bounds.head_bytes, bounds.head_line_bytes, bounds.head_fields}; }

}  // namespace

void Broker::on_listener(std::size_t index) {
  if (config_.listeners[index].role == ListenerRole::kDnsUdp) return dns_.on_datagrams(sockets_.listeners[index]);
  for (int i = 0; i < kAcceptsPerTurn && accept_one(index); ++i) {
  }
}

/// False where nobody waits, or nobody can be let in now.
bool Broker::accept_one(std::size_t index) {
  const Listener& listener = config_.listeners[index];
  auto accepted = kernel::accept(sockets_.listeners[index]);
  if (!accepted) {
    const int code = accepted.error().code;
    if (code == EMFILE || code == ENFILE) refuse_for_want_of_descriptors(sockets_.listeners[index]);
    return code == ECONNABORTED || code == EPROTO;
  }
  if (listener.role == ListenerRole::kDnsTcp) {
    dns_.accept(std::move(accepted->socket), now_ns_);
  } else if (open_ >= most_connections_) {
    const auto local = kernel::local_endpoint(accepted->socket);
    const bool comes_in = listener.role == ListenerRole::kPublished;
    tally_.count({.verdict = Verdict::kOverBound,
                  .via = via_of(listener),
                  .port = comes_in && local ? local->port : std::uint16_t{0},
                  .detail = static_cast<std::uint32_t>(Bound::kConnections)});
    static_cast<void>(kernel::reset_on_close(accepted->socket).has_value());
  } else {
    take_connection(std::move(*accepted), listener);
  }
  return true;
}

/// A connection that nobody accepts would hang: the spare descriptor lets it in for the moment of its reset.
void Broker::refuse_for_want_of_descriptors(kernel::FdView listener) {
  spare_.reset();
  auto accepted = kernel::accept(listener);
  // Where even that is not to be had, nobody is let in any more and the connection waits: the count ends the run.
  const int code = accepted ? 0 : accepted.error().code;
  if (accepted || code == EMFILE || code == ENFILE) {
    tally_.count({.verdict = Verdict::kOverBound, .detail = static_cast<std::uint32_t>(Bound::kDescriptors)});
  }
  if (accepted) static_cast<void>(kernel::reset_on_close(accepted->socket).has_value());
  if (auto spare = kernel::duplicate(sockets_.control, 0)) spare_ = std::move(*spare);
}

void Broker::take_connection(kernel::Accepted accepted, const Listener& listener) {
  Connection& connection = open_slot();
  connection.client = std::move(accepted.socket);
  connection.peer = accepted.peer;
  connection.via = via_of(listener);
  static_cast<void>(kernel::set_option(connection.client, IPPROTO_TCP, TCP_NODELAY, 1).has_value());
  // From here on, so that a broker that is killed cuts it as well: the kernel closes what is left.
  static_cast<void>(kernel::reset_on_close(connection.client).has_value());
  if (listener.role == ListenerRole::kConnect) {
    stage(connection, Stage::kHead, config_.bounds.head_ms);
    if (watch_client(connection, EPOLLIN)) on_head(connection);
    return;
  }
  // Watched for nothing but its end until there is somebody to pass its bytes to.
  if (!watch_client(connection, 0)) return;
  if (listener.role == ListenerRole::kPublished) return let_in(connection);
  find_destination(connection, listener);
}

void Broker::find_destination(Connection& connection, const Listener& listener) {
  const auto local = kernel::local_endpoint(connection.client);
  auto wanted = local;
  if (listener.role == ListenerRole::kRedirect) {
    wanted = kernel::original_destination(connection.client, listener.family == Family::kIpv4 ? AF_INET : AF_INET6);
    // Not redirected: somebody aimed at the listener itself.
    if (wanted && local && *wanted == *local) return refuse(connection, Verdict::kMalformed);
  }
  if (!wanted || wanted->family == AF_UNSPEC) return refuse(connection, Verdict::kMalformed);
  if (is_own_dns(*wanted)) return pass_to_dns(connection);
  if (listener.role == ListenerRole::kPort && is_host_service(*wanted))
    return dial_host_service(connection, wanted->port);
  const auto destination = read_destination(address_of(*wanted), wanted->port, names_);
  if (!destination) return refuse(connection, Verdict::kMalformed);
  connection.host = destination->host;
  connection.port = destination->port;
  decide(connection);
}

void Broker::pass_to_dns(Connection& connection) {
  poller_.forget(connection.client, connection.client_watch);
  static_cast<void>(kernel::end_on_close(connection.client).has_value());
  dns_.accept(std::move(connection.client), now_ns_);
  close(connection, End::kOrderly);
}

/// Only of a listener that stands on the address itself: nobody gets here by a name, a proxy request or a redirect.
bool Broker::is_host_service(const kernel::Endpoint& wanted) const {
  return address_of(wanted) == loopback(address_of(wanted).family) &&
         std::ranges::find(config_.host_services, wanted.port) != config_.host_services.end();
}

/// The guard is not asked: this is the one loopback that a line of the manifest is about.
void Broker::dial_host_service(Connection& connection, std::uint16_t port) {
  connection.host = *policy::network::HostName::parse("localhost");
  connection.port = port;
  connection.decided_by = DecidedBy::kAllowRule;
  dial_targets(connection, {{endpoint_of(loopback(Family::kIpv4), port), OwnMachine::kMeant},
                            {endpoint_of(loopback(Family::kIpv6), port), OwnMachine::kMeant}});
}

void Broker::on_head(Connection& connection) {
  const auto got = kernel::receive(connection.client, shared_.buffer);
  if (!got && got.error().code == EAGAIN) return;
  if (!got || *got == 0) return abandon(connection);
  connection.pending += text_of(std::span(shared_.buffer).first(*got));
  ParsedRequest parsed = parse_request(connection.pending, limits_of(config_.bounds));
  if (std::holds_alternative<Incomplete>(parsed)) return;
  if (const auto* wrong = std::get_if<Malformed>(&parsed)) {
    if (const auto destination = read_destination(wrong->host, wrong->port, names_)) {
      connection.host = destination->host;
      connection.port = destination->port;
    }
    return refuse(connection, Verdict::kMalformed, static_cast<std::uint32_t>(wrong->status), wrong->status);
  }
  take_request(connection, std::move(std::get<Request>(parsed)));
}

void Broker::take_request(Connection& connection, Request request) {
  const auto destination = read_destination(request.host, request.port, names_);
  if (!destination) return refuse(connection, Verdict::kMalformed, 400, 400);
  connection.host = destination->host;
  connection.port = destination->port;
  connection.pending.erase(0, request.head_bytes);
  if (request.kind == RequestKind::kForward) {
    // A second request behind the first would go to the first one's host.
    if (connection.pending.size() > request.content_length) return refuse(connection, Verdict::kMalformed, 400, 400);
    connection.is_forward = true;
    connection.forward_body = request.content_length - connection.pending.size();
    connection.pending.insert(0, request.forwarded);
  }
  if (watch_client(connection, 0)) decide(connection);
}

void Broker::decide(Connection& connection) {
  const auto decision = config_.rules.decide(connection.host, connection.port);
  connection.rule = decision.rule;
  connection.admission = decision.admission;
  if (decision.outcome == Outcome::kDenied) {
    connection.decided_by = DecidedBy::kDenyRule;
    return refuse(connection, Verdict::kDenied, 0, 403);
  }
  if (decision.outcome == Outcome::kNoRule) return ask_gate(connection);
  connection.decided_by = DecidedBy::kAllowRule;
  resolve(connection);
}

void Broker::ask_gate(Connection& connection) {
  if (config_.gate == Gate::kAbsent) return refuse(connection, Verdict::kDenied, 0, 403);
  connection.decided_by = DecidedBy::kGate;
  switch (gatekeeper_.ask(connection.host, connection.port, connection.peer, connection.self, now_ns_)) {
    case GateState::kAdmitted:
      return resolve(connection);
    case GateState::kRefused:
      return refuse(connection, Verdict::kGateDenied, 0, 403);
    case GateState::kFull:
      return refuse(connection, Verdict::kOverBound, static_cast<std::uint32_t>(Bound::kGateQuestions), 503);
    case GateState::kWaits:
      return stage(connection, Stage::kAsking, config_.bounds.gate_ms);
  }
}

void Broker::on_gate(const Answer& answer) {
  const GateOutcome outcome = gatekeeper_.answer(answer);
  for (const Handle handle : outcome.waiting) {
    Connection* connection = find(handle);
    if (connection == nullptr) continue;
    if (outcome.admitted) resolve(*connection);
    if (!outcome.admitted) refuse(*connection, Verdict::kGateDenied, 0, 403);
  }
}

/// The addresses of the destination, or of the upstream proxy, which resolves names itself.
void Broker::resolve(Connection& connection) {
  stage(connection, Stage::kResolving, config_.bounds.lookup_ms + config_.bounds.nat64_ms);
  const policy::network::HostName* name = connection.host.name();
  // What a resolver says of localhost does not matter: it is the machine that dials.
  if (name != nullptr && name->is_local()) return block(connection, AddressClass::kLoopback, {});
  connection.by_upstream =
      config_.upstream && std::ranges::none_of(config_.upstream->direct, [&](const policy::network::Rule& rule) {
        return rule.ports.contains(connection.port) && matches(rule.host, connection.host);
      });
  if (connection.by_upstream && name == nullptr) {  // a name is the upstream's to resolve, and to judge
    const auto verdict = judge(*connection.host.address(), connection.admission);
    if (!verdict.dial) return block(connection, verdict.address_class, *connection.host.address());
  }
  const policy::network::Host& asked = connection.by_upstream ? config_.upstream->host : connection.host;
  if (asked.name() == nullptr) return dial(connection, {*asked.address()});
  if (const Resolved* known = lookups_.find(*asked.name(), connection.self, now_ns_)) take_result(connection, *known);
}

void Broker::wake(const std::vector<Handle>& handles) {
  for (const Handle handle : handles) {
    Connection* connection = find(handle);
    if (connection == nullptr || connection->stage != Stage::kResolving) continue;
    const policy::network::Host& asked = connection->by_upstream ? config_.upstream->host : connection->host;
    if (asked.name() == nullptr) {
      dial(*connection, {*asked.address()});
    } else if (const Resolved* result = lookups_.result(*asked.name())) {
      take_result(*connection, *result);
    } else {  // it waited for NAT64, and its name is being asked for anew meanwhile
      static_cast<void>(lookups_.find(*asked.name(), handle, now_ns_));
    }
  }
}

void Broker::take_result(Connection& connection, const Resolved& resolved) {
  if (resolved.status == LookupStatus::kOk) return dial(connection, resolved.addresses);
  refuse(connection, Verdict::kUnreachable, lookup_detail(resolved.status));
}

/// Of an address, as it is and as what it carries, those that are this machine's. What the kernel does not say counts.
std::vector<Address> Broker::own_in(const Address& address) {
  std::vector<Address> out = embedded_ipv4(address, guard_.prefixes);
  out.push_back(address);
  std::erase_if(out,
                [this](const Address& one) { return !sockets_.routes.end_here(endpoint_of(one, 0)).value_or(true); });
  return out;
}

policy::network::GuardVerdict Broker::judge(const Address& address, policy::network::Admission admission) {
  guard_.own = own_in(address);
  return guard_.check(address, admission);
}

/// Only what the guard lets through is dialled. The upstream proxy is the operator's word, and stands where it stands.
void Broker::dial(Connection& connection, const std::vector<Address>& addresses) {
  std::vector<Target> targets;
  if (connection.by_upstream) {
    for (const Address& one : addresses)
      targets.push_back({endpoint_of(one, config_.upstream->port), OwnMachine::kMeant});
    return dial_targets(connection, std::move(targets));
  }
  const bool has_ipv6 = std::ranges::any_of(addresses, [](const Address& one) { return one.family == Family::kIpv6; });
  if (has_ipv6 && !lookups_.knows_nat64(connection.self, now_ns_)) return;
  guard_.nat64 = lookups_.nat64();
  guard_.prefixes = lookups_.prefixes();
  auto strictest = AddressClass::kPublic;
  std::optional<Address> blocked;
  for (const Address& one : addresses) {
    const auto verdict = judge(one, connection.admission);
    const bool may_be_own = guard_.may_be_own(one, connection.admission);
    if (verdict.dial)
      targets.push_back({endpoint_of(one, connection.port), may_be_own ? OwnMachine::kMeant : OwnMachine::kRefused});
    if (verdict.dial || (blocked && verdict.address_class <= strictest)) continue;
    strictest = verdict.address_class;
    blocked = one;
  }
  if (targets.empty()) return block(connection, strictest, blocked);
  dial_targets(connection, std::move(targets));
}

/// The report names the address; the target does not learn it.
void Broker::block(Connection& connection, AddressClass why, const std::optional<Address>& address) {
  count(connection, Verdict::kGuardBlocked, static_cast<std::uint32_t>(why), address);
  turn_away(connection, 502);
}

void Broker::dial_targets(Connection& connection, std::vector<Target> targets) {
  stage(connection, Stage::kDialing, config_.bounds.dial_ms);
  connection.dialer =
      std::make_unique<Dialer>(std::move(targets), connection.self, config_.bounds.stagger_ms * 1'000'000, poller_,
                               attempts_, connection.via == Via::kPublished ? &inner_ : nullptr);
  on_dialer(connection, connection.dialer->start(now_ns_));
}

void Broker::on_dialer(Connection& connection, Dialer::State state) {
  if (state == Dialer::State::kUnderWay) return;
  if (state == Dialer::State::kFailed && connection.dialer->own())
    return block(connection, AddressClass::kThisMachine, address_of(*connection.dialer->own()));
  if (state == Dialer::State::kFailed && connection.via == Via::kPublished) return not_inside(connection);
  if (state == Dialer::State::kFailed)
    return refuse(connection, Verdict::kUnreachable, static_cast<std::uint32_t>(connection.dialer->code()));
  connection.server = connection.dialer->take();
  if (connection.via == Via::kPublished) connection.inner_family = connection.dialer->family();
  connection.dialer.reset();
  static_cast<void>(kernel::set_option(connection.server, IPPROTO_TCP, TCP_NODELAY, 1).has_value());
  static_cast<void>(kernel::set_option(connection.server, SOL_SOCKET, SO_KEEPALIVE, 1).has_value());
  static_cast<void>(kernel::reset_on_close(connection.server).has_value());
  if (connection.by_upstream) return ask_upstream(connection);
  establish(connection);
}

void Broker::ask_upstream(Connection& connection) {
  stage(connection, Stage::kUpstream, config_.bounds.upstream_ms);
  const std::string head = connect_request(connection.host, connection.port, config_.upstream->authorization);
  const auto sent = kernel::send(connection.server, std::as_bytes(std::span(head)));
  if (!sent || *sent != head.size()) return refuse(connection, Verdict::kUnreachable, EPIPE);
  watch_server(connection, EPOLLIN);
}

void Broker::on_upstream(Connection& connection) {
  const auto got = kernel::receive(connection.server, shared_.buffer);
  if (!got && got.error().code == EAGAIN) return;
  if (!got || *got == 0) return refuse(connection, Verdict::kUnreachable, ECONNRESET);
  connection.answer += text_of(std::span(shared_.buffer).first(*got));
  const ParsedAnswer parsed = parse_upstream_answer(connection.answer, limits_of(config_.bounds));
  if (std::holds_alternative<Incomplete>(parsed)) return;
  const auto* answer = std::get_if<UpstreamAnswer>(&parsed);
  const int status = answer != nullptr ? answer->status : 0;
  if (status < 200 || status > 299)
    return refuse(connection, Verdict::kUnreachable, kUpstreamDetail + static_cast<std::uint32_t>(status));
  connection.answer.erase(0, answer->head_bytes);
  establish(connection);
}

}  // namespace cordon::egress
