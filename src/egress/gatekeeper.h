// Gatekeeper: the questions to whoever stands at the gate, and the answers kept for the run. Connections to one host
// and port share one question. No answer in time, an asker that is gone and a full list all mean no.
//
// Pure: time comes in as nanoseconds, questions go out as records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "egress/bounds.h"
#include "egress/handle.h"
#include "egress/records.h"
#include "kernel/net.h"
#include "policy/network/matcher.h"

namespace cordon::egress {

enum class GateState : std::uint8_t { kAdmitted, kRefused, kWaits, kFull };

struct GateOutcome {
  std::vector<Handle> waiting;
  bool admitted = false;
};

class Gatekeeper {
 public:
  explicit Gatekeeper(const Bounds& bounds) : bounds_(bounds) {}

  GateState ask(const policy::network::Host& host, std::uint16_t port, const kernel::Endpoint& asker, Handle who,
                std::uint64_t now_ns);
  /// An answer to a question that nobody knows (any more) changes nothing.
  GateOutcome answer(const Answer& answer);
  /// The connection is gone; a question that nobody waits for is taken back.
  void leave(Handle who);
  /// Those whose time is over.
  std::vector<Handle> expire(std::uint64_t now_ns);

  [[nodiscard]] std::deque<Record>& outgoing() { return outgoing_; }

 private:
  struct Pending {
    std::string key;
    std::vector<Handle> waiting;
    std::uint64_t until_ns = 0;
  };
  const Bounds& bounds_;
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, Pending> pending_;
  std::unordered_map<std::string, std::uint64_t> ids_;
  std::unordered_map<std::string, bool> kept_;  ///< admitted or refused for the run
  std::deque<Record> outgoing_;
};

}  // namespace cordon::egress
