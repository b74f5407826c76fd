// Broker: the one way out of a sandbox. It accepts every TCP connection that leaves it, finds out what the connection
// is for, asks the rules (and the gate), has the name resolved, lets the guard judge each address, dials, and passes
// bytes on. It answers the sandbox's DNS. It tells the supervisor what it did.
//
//   accept ─▶ destination ─▶ rules ─▶ (gate) ─▶ lookup ─▶ guard ─▶ dial ─▶ (upstream) ─▶ relay
//   a host service: accept ─▶ dial
//   a published port, the other way round: accept on the host ─▶ (wait) ─▶ dial inside
//      any step may refuse: a reset (or an answer, to a proxy request) and one count in one row
//
// Invariants: one thread, one epoll, no call that blocks. Every connection is accepted and counted once. Every stage
// has an end (bounds.h). Nothing is resolved before the rules have spoken; only checked addresses are dialled, and of
// the host's loopback only the ports that were granted as such, for who came to a listener of theirs. When the control
// socket ends, so does the broker, and with it every connection.
//
// Run by program/main.cc after it has confined itself; by tests as it is. It must not open, execute or print anything.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "egress/config.h"
#include "egress/connection.h"
#include "egress/dns_server.h"
#include "egress/gatekeeper.h"
#include "egress/http_head.h"
#include "egress/inner_sockets.h"
#include "egress/lookups.h"
#include "egress/names.h"
#include "egress/tally.h"
#include "kernel/route.h"

namespace cordon::egress {

struct BrokerSockets {
  kernel::Fd control;
  kernel::Fd resolver;
  std::vector<kernel::Fd> listeners;  ///< as Config::listeners
  kernel::Routes routes;              ///< of the host's network
  std::vector<kernel::Fd> inner_ipv4, inner_ipv6;
};

/// How many connections there may be with this many descriptors; what a broker with less than one cannot do.
std::uint64_t connections_for(const Bounds& bounds, std::size_t listeners, std::uint64_t descriptors);

/// How the client sees the end: an orderly one, or a reset, which nobody takes for the end of the data.
enum class End : std::uint8_t { kOrderly, kReset };

class Broker {
 public:
  /// `epoll` is given, so that everything that can fail has failed before. `own_name` is the host's, as uname has it.
  Broker(Config config, BrokerSockets sockets, kernel::Fd epoll, std::uint64_t connections, std::string_view own_name);

  /// Tells that it is ready, and serves until the supervisor says Finish or is gone. An Errno: the epoll itself failed.
  kernel::Sys<void> run(const Ready& ready);

 private:
  // broker.cc: the loop
  bool watch_all();
  void turn(std::span<const epoll_event> events);
  void dispatch(const Tag& tag, std::uint32_t events);
  void on_control();
  void on_resolver();
  void send_questions();
  void report();
  bool send(const Record& record);
  void tick();
  void sweep();
  void take_leave(Parting parting);
  void stop_publishing(std::size_t index);
  [[nodiscard]] bool still_delivers();
  void finish();
  [[nodiscard]] int wait_ms() const;

  // admission.cc: from accept to the relay
  void on_listener(std::size_t index);
  bool accept_one(std::size_t index);
  void refuse_for_want_of_descriptors(kernel::FdView listener);
  void take_connection(kernel::Accepted accepted, const Listener& listener);
  void find_destination(Connection& connection, const Listener& listener);
  void pass_to_dns(Connection& connection);
  [[nodiscard]] bool is_host_service(const kernel::Endpoint& wanted) const;
  void dial_host_service(Connection& connection, std::uint16_t port);
  void on_head(Connection& connection);
  void take_request(Connection& connection, Request request);
  void decide(Connection& connection);
  void ask_gate(Connection& connection);
  void on_gate(const Answer& answer);
  void resolve(Connection& connection);
  void wake(const std::vector<Handle>& handles);
  void take_result(Connection& connection, const Resolved& resolved);
  void dial(Connection& connection, const std::vector<policy::network::Address>& addresses);
  policy::network::GuardVerdict judge(const policy::network::Address& address, policy::network::Admission admission);
  [[nodiscard]] std::vector<policy::network::Address> own_in(const policy::network::Address& address);
  void block(Connection& connection, policy::network::AddressClass why,
             const std::optional<policy::network::Address>& address);
  void dial_targets(Connection& connection, std::vector<Target> targets);
  void on_dialer(Connection& connection, Dialer::State state);
  void ask_upstream(Connection& connection);
  void on_upstream(Connection& connection);

  // inbound.cc: from the host inside
  void let_in(Connection& connection);
  void dial_inside(Connection& connection);
  void wait_for_room(Connection& connection);
  void not_inside(Connection& connection);
  void on_wait_end(Connection& connection);
  void serve_queue();
  void make_room();
  [[nodiscard]] bool has_room_inside() const;
  [[nodiscard]] bool may_wait() const;

  // broker_relay.cc: from the relay to the end
  void establish(Connection& connection);
  void pump(Connection& connection, Relay::Turn turn);
  void on_client(Connection& connection, std::uint32_t events);
  void on_server(Connection& connection, std::uint32_t events);
  void break_off(Connection& connection, Relay::Turn last);
  void leave_server(Connection& connection, End end);
  void refuse(Connection& connection, Verdict verdict, std::uint32_t detail = 0, int status = 502);
  void turn_away(Connection& connection, int status);
  void abandon(Connection& connection);
  void on_time(Connection& connection);
  void relay_time(Connection& connection);
  void close(Connection& connection, End end);
  void drain(Connection& connection);

  Connection& open_slot();
  [[nodiscard]] Connection* find(Handle handle) const;
  std::uint32_t count(const Connection& connection, Verdict verdict, std::uint32_t detail,
                      const std::optional<policy::network::Address>& address = {});
  void stage(Connection& connection, Stage next, std::uint64_t limit_ms);
  bool watch_client(Connection& connection, std::uint32_t events);
  bool watch_server(Connection& connection, std::uint32_t events);

  Config config_;
  BrokerSockets sockets_;
  InnerSockets inner_;
  Poller poller_;
  std::uint64_t most_connections_;
  NameTable names_;
  Tally tally_;
  Gatekeeper gatekeeper_;
  Lookups lookups_;
  DnsAnswerer answerer_;
  DnsServer dns_;
  RelayShared shared_;
  AttemptBudget attempts_;
  policy::network::Guard guard_;

  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::uint16_t> generations_;
  std::vector<std::uint32_t> free_;
  std::uint64_t open_ = 0;
  std::uint64_t hurried_ = 0;               ///< connections whose stage ends soon
  std::uint64_t waiting_ = 0;               ///< connections in kWaiting
  std::deque<Handle> queue_;                ///< of these, whoever waits for an inner socket; some may have left since
  std::set<std::uint16_t> reached_inside_;  ///< published ports that something has listened on

  std::vector<Watch> listener_watches_;
  Watch control_watch_, resolver_watch_;
  kernel::Fd spare_;  ///< given up to accept and refuse where descriptors have run out
  std::deque<Record> outgoing_;
  std::uint64_t now_ns_ = 0, swept_ns_ = 0, beat_ns_ = 0, beats_ = 0;
  std::optional<std::uint64_t> delivers_until_ns_;  ///< the run is over, and its last bytes are passed on
  bool has_room_ = true;                            ///< the control socket took the last record
  bool over_ = false;
};

}  // namespace cordon::egress
