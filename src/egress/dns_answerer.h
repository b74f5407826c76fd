// DnsAnswerer: the only DNS inside a sandbox. No question leaves the machine from here: a name that some rule could
// allow gets the address that stands for it, and is resolved on the host only when a connection to it was allowed.
//
//   A, AAAA of such a name   its synthetic address; AAAA is empty where the sandbox has no IPv6
//   other types of it        NOERROR without records: musl gives a host up on NXDOMAIN of any type
//   _service names below it  the same
//   localhost                127.0.0.1, ::1; so is the host's own name, where no rule is about it: programs ask for it
//   PTR of such an address   its name
//   a full name table        SERVFAIL
//   everything else          NXDOMAIN, and an event for the report
//
// Pure: bytes in, bytes and an event out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "egress/dns_message.h"
#include "egress/names.h"
#include "policy/network/matcher.h"

namespace cordon::egress {

enum class DnsEvent : std::uint8_t {
  kNone,
  kDenied,     ///< a name that no rule covers
  kFull,       ///< the name table is full
  kMalformed,  ///< no question, or no name
};

struct DnsReply {
  std::vector<std::byte> bytes;  ///< empty: say nothing
  DnsEvent event = DnsEvent::kNone;
  std::string name;  ///< of the event; printable ASCII, what was not is "?"
};

enum class Gate : std::uint8_t { kAbsent, kAttached };
enum class Ipv6 : std::uint8_t { kAbsent, kPresent };

class DnsAnswerer {
 public:
  /// `own_name`: what uname says; "" for none.
  DnsAnswerer(const policy::network::Rules& rules, Gate gate, Ipv6 ipv6, NameTable& names,
              std::string_view own_name = {});

  DnsReply answer(std::span<const std::byte> query);

 private:
  DnsReply answer_query(const DnsQuery& query);
  DnsReply answer_pointer(const DnsQuery& query, const std::string& shown);
  DnsReply answer_name(const DnsQuery& query, const policy::network::HostName& name);
  [[nodiscard]] bool is_service_of_a_told_name(const DnsQuery& query) const;

  std::optional<policy::network::HostName> own_name_;
  policy::network::Rules told_;  ///< the rules; with a gate, every name that is not denied for all ports
  Ipv6 ipv6_;
  NameTable& names_;
};

}  // namespace cordon::egress
