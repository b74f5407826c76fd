// HostName: a host name as it goes over the wire: letters, digits and inner hyphens, lower case, no dot at an end, at
// most 253 bytes, and nothing that a resolver would read as an address.
//
// A HostName with anything in it can only be made by parse(), so whoever holds one holds a checked name: the resolver
// is asked for nothing else. Names from the wire (DNS, HTTP) may be in upper case and may end in one dot; there is no
// other tolerance. Names in Unicode are turned into this form by idna.h before they come here; the broker never sees
// them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/network/fault.h"

namespace cordon::policy::network {

inline constexpr std::size_t kLongestName = 253;
inline constexpr std::size_t kLongestLabel = 63;

class HostName {
 public:
  HostName() = default;  ///< no name: empty

  /// As the target, a DNS query or a proxy request spells it.
  static std::optional<HostName> parse(std::string_view text);

  [[nodiscard]] const std::string& str() const { return text_; }
  /// "localhost" and what lies below it: the machine that asks, whatever a resolver says (RFC 6761).
  [[nodiscard]] bool is_local() const;
  /// True where this lies below `domain`, at a label's border.
  [[nodiscard]] bool is_below(std::string_view domain) const;

  friend bool operator==(const HostName&, const HostName&) = default;
  friend auto operator<=>(const HostName&, const HostName&) = default;

 private:
  explicit HostName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// What keeps `name` from being a host name in its exact spelling (no trailing dot; case does not matter); the message
/// quotes `written`, the value that a person wrote.
std::optional<Fault> check_name(std::string_view written, std::string_view name);

/// ASCII letters only: the case of other letters depends on whom you ask.
std::string lower_case(std::string_view text);

}  // namespace cordon::policy::network
