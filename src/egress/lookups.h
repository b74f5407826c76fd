// Lookups: names on their way through the resolver, their addresses pinned for a while, and whether this network has
// NAT64. Connections to one name share one lookup.
//
// Pure but for the sockets: questions come out of next_question(), answers go in by take(). What the resolver says is
// data; each address still passes the guard at the moment it is dialled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "egress/bounds.h"
#include "egress/handle.h"
#include "egress/lookup_wire.h"
#include "policy/network/guard.h"

namespace cordon::egress {

struct Resolved {
  LookupStatus status = LookupStatus::kOk;
  std::vector<policy::network::Address> addresses;
};

class Lookups {
 public:
  explicit Lookups(const Bounds& bounds) : bounds_(bounds) {}

  /// The pinned addresses of a name; else nullptr, and `who` will be among those that take() or expire() answer.
  const Resolved* find(const policy::network::HostName& name, Handle who, std::uint64_t now_ns);

  /// Whether NAT64 is known; if not, `who` waits as above and the question goes out.
  bool knows_nat64(Handle who, std::uint64_t now_ns);

  /// The next question that may go out now. Call sent() once it has.
  std::optional<LookupQuestion> next_question(std::uint64_t now_ns);
  void sent(std::uint64_t now_ns);

  std::vector<Handle> take(const LookupAnswer& answer, std::uint64_t now_ns);
  std::vector<Handle> expire(std::uint64_t now_ns);
  /// Nobody is there to ask: everything that is under way fails.
  std::vector<Handle> fail_all(std::uint64_t now_ns);

  /// What became of the last lookup of this name, for a connection that was woken.
  [[nodiscard]] const Resolved* result(const policy::network::HostName& name) const;

  [[nodiscard]] policy::network::Nat64 nat64() const { return nat64_; }
  [[nodiscard]] const std::vector<policy::network::Nat64Prefix>& prefixes() const { return prefixes_; }

 private:
  enum class State : std::uint8_t { kQueued, kAsked, kDone };
  struct Entry {
    State state = State::kQueued;
    std::uint32_t id = 0;
    std::uint64_t until_ns = 0;  ///< kAsked, kQueued: of the lookup; kDone: of the pin
    Resolved resolved;
    std::vector<Handle> waiting;
  };
  std::vector<Handle> finish(Entry& entry, Resolved resolved, std::uint64_t until_ns);
  void finish_nat64(const LookupAnswer* answer);
  Entry* find_asked(std::uint32_t id);

  const Bounds& bounds_;
  std::uint32_t next_id_ = 1;
  std::unordered_map<std::string, Entry> entries_;
  std::unordered_map<std::uint32_t, std::string> asked_;
  std::deque<std::string> queue_;

  bool nat64_wanted_ = false, nat64_asked_ = false, nat64_known_ = false;
  std::uint32_t nat64_id_ = 0;
  std::uint64_t nat64_until_ns_ = 0;
  std::vector<Handle> nat64_waiting_;
  policy::network::Nat64 nat64_ = policy::network::Nat64::kInconclusive;
  std::vector<policy::network::Nat64Prefix> prefixes_;
};

}  // namespace cordon::egress
