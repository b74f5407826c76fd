// Rules: the allow and the deny list of a run, and which rule decides over a destination. Deny wins; without a rule
// there is no way out. Nothing is resolved: a rule for a name never covers the addresses of that name.
//
// The order of rules does not matter, the first that matches is named in the report. Used by the broker for every
// connection and every DNS query, by the planner and the report to explain. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/network/address.h"
#include "policy/network/guard.h"
#include "policy/network/name.h"
#include "policy/network/rule.h"

namespace cordon::policy::network {

/// A name or an address. By default 0.0.0.0, which is never dialled.
class Host {
 public:
  Host() = default;
  Host(HostName name) : name_(std::move(name)) {}      // NOLINT: each is a host as it is
  Host(const Address& address) : address_(address) {}  // NOLINT
  /// Nothing where it is an address.
  [[nodiscard]] const HostName* name() const { return name_.str().empty() ? nullptr : &name_; }
  [[nodiscard]] const Address* address() const { return name_.str().empty() ? &address_ : nullptr; }
  friend bool operator==(const Host&, const Host&) = default;

 private:
  HostName name_;
  Address address_;
};
std::string to_string(const Host& host);

/// A host as a client writes it in a request: a name, a canonical IPv4 address, or a canonical IPv6 one in brackets.
std::optional<Host> parse_client_host(std::string_view text);

enum class Outcome : std::uint8_t { kAllowed, kDenied, kNoRule };

struct Decision {
  Outcome outcome = Outcome::kNoRule;
  std::uint32_t rule = 0;  ///< index in `allow` or `deny`; meaningless for kNoRule
  Admission admission = Admission::kByName;
  friend bool operator==(const Decision&, const Decision&) = default;
};

struct Rules {
  std::vector<Rule> allow;
  std::vector<Rule> deny;

  [[nodiscard]] Decision decide(const Host& host, std::uint16_t port) const;

  /// Whether some port of this name is allowed: only then does DNS tell that the name exists.
  [[nodiscard]] bool could_allow(const HostName& name) const;
};

bool matches(const HostPattern& pattern, const Host& host);

}  // namespace cordon::policy::network
