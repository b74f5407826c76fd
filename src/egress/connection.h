// Connection: one TCP connection out of the sandbox, or into it, from accept(2) to its end. A plain record; broker.h
// moves it along.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "egress/dialer.h"
#include "egress/records.h"
#include "egress/relay.h"
#include "policy/network/matcher.h"

namespace cordon::egress {

enum class Stage : std::uint8_t {
  kHead,    ///< a proxy request is being read
  kAsking,  ///< the gate was asked
  kResolving,
  kDialing,
  kWaiting,   ///< came to a published port, and cannot be led inside yet
  kUpstream,  ///< an upstream proxy was asked for the tunnel
  kRelaying,
  kFarewell,  ///< an answer was sent; what still comes is thrown away
};

struct Connection {
  Handle self;
  kernel::Fd client, server;
  int inner_family = 0;  ///< of a `server` that is one of the inner sockets
  Watch client_watch, server_watch;
  kernel::Endpoint peer;
  Stage stage = Stage::kHead;
  Via via = Via::kTransparent;

  policy::network::Host host;
  std::uint16_t port = 0;
  DecidedBy decided_by = DecidedBy::kNobody;
  std::uint32_t rule = 0;
  policy::network::Admission admission = policy::network::Admission::kByName;
  bool by_upstream = false;
  bool is_forward = false;         ///< a request whose head goes on, not a tunnel
  std::uint64_t forward_body = 0;  ///< bytes of the body that have not come yet

  std::string pending;  ///< bytes of the client's that no server has got yet; in kHead the head so far
  std::string answer;   ///< kUpstream: the proxy's answer so far
  std::unique_ptr<Dialer> dialer;
  std::unique_ptr<Relay> relay;

  bool wants_room = false;           ///< kWaiting: for an inner socket; else until it dials again
  std::uint64_t room_until_ns = 0;   ///< of all waits for one, from the first on; 0: there was none
  std::uint64_t early_until_ns = 0;  ///< likewise of dialling again

  std::uint64_t born_ns = 0;
  std::uint64_t until_ns = 0;  ///< the stage's end; not of kRelaying
  std::uint64_t moved_ns = 0;  ///< kRelaying: the last byte
  std::uint32_t row = 0;       ///< kRelaying
};

}  // namespace cordon::egress
