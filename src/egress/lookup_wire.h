// lookup_wire: what the broker asks cordon-resolve and what it answers, on a SOCK_SEQPACKET pair. Fixed in size, one
// question or answer per datagram; a datagram of another length is not taken.
//
// Who starts the resolver: the supervisor makes the pair, gives the broker one end (kResolverFd) and keeps the other.
// When its own end becomes readable the first name waits there; it starts cordon-resolve with that end as descriptor 3
// and looks on. The broker thus can neither execute nor choose what runs. A resolver that dies is started again when
// the end is readable once more; meanwhile the lookup's time passes and the name is unreachable, which is closed.
//
// The resolver sees names that a rule (or the gate) has admitted for a connection, in the form of HostName, and nothing
// else: no ports, no rules, no bytes of the target's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "policy/network/address.h"
#include "policy/network/name.h"

namespace cordon::egress {

inline constexpr std::uint32_t kLookupMagic = 0x314c4243;  // "CBL1": the version is in it
inline constexpr std::size_t kMostAddresses = 32;

enum class LookupFamily : std::uint8_t { kAny = 0, kIpv6 = 1 };

struct LookupQuestion {
  std::uint32_t magic = kLookupMagic;
  std::uint32_t id = 0;
  std::uint64_t until_ns = 0;  ///< CLOCK_MONOTONIC; after that nobody waits
  LookupFamily family = LookupFamily::kAny;
  std::uint8_t name_size = 0;
  std::array<char, 254> name{};
};
static_assert(sizeof(LookupQuestion) == 272, "no padding");

enum class LookupStatus : std::uint32_t {
  kOk = 0,
  kNoSuchName,  ///< the name, or addresses of it, do not exist
  kTryAgain,    ///< no server answered
  kFailure,     ///< a server refused, or the host's own set-up is wrong
  kTooLate,     ///< the time was over
  kNoResolver,  ///< said by the broker itself: nobody is there to ask
};
inline constexpr std::uint32_t kLastLookupStatus = 4;

struct LookupAddress {
  std::uint8_t family = 0;  ///< 0: IPv4, 1: IPv6
  std::array<std::uint8_t, 16> bytes{};
};

struct LookupAnswer {
  std::uint32_t magic = kLookupMagic;
  std::uint32_t id = 0;
  LookupStatus status = LookupStatus::kFailure;
  std::uint32_t count = 0;
  std::array<LookupAddress, kMostAddresses> addresses{};
};
static_assert(sizeof(LookupAnswer) == 16 + 17 * kMostAddresses, "no padding");

inline LookupQuestion make_question(std::uint32_t id, const policy::network::HostName& name, LookupFamily family,
                                    std::uint64_t until_ns) {
  LookupQuestion out{.id = id, .until_ns = until_ns, .family = family};
  out.name_size = static_cast<std::uint8_t>(name.str().size());
  std::memcpy(out.name.data(), name.str().data(), name.str().size());
  return out;
}

/// The name in a question, judged by the one parser once more; nothing for what is no question.
inline std::optional<policy::network::HostName> name_in(std::span<const std::byte> bytes, LookupQuestion& into) {
  if (bytes.size() != sizeof into) return std::nullopt;
  std::memcpy(&into, bytes.data(), sizeof into);
  if (into.magic != kLookupMagic || into.name_size > into.name.size() || into.family > LookupFamily::kIpv6)
    return std::nullopt;
  const std::string_view text(into.name.data(), into.name_size);
  auto name = policy::network::HostName::parse(text);
  if (!name || name->str() != text) return std::nullopt;
  return name;
}

/// Nothing for what is no answer.
inline std::optional<LookupAnswer> read_answer(std::span<const std::byte> bytes) {
  LookupAnswer out;
  if (bytes.size() != sizeof out) return std::nullopt;
  std::memcpy(&out, bytes.data(), sizeof out);
  const bool known = static_cast<std::uint32_t>(out.status) <= kLastLookupStatus;
  if (out.magic != kLookupMagic || !known || out.count > kMostAddresses) return std::nullopt;
  for (std::uint32_t i = 0; i < out.count; ++i)
    if (out.addresses[i].family > 1) return std::nullopt;
  return out;
}

inline std::vector<policy::network::Address> addresses_in(const LookupAnswer& answer) {
  std::vector<policy::network::Address> out;
  for (std::uint32_t i = 0; i < answer.count; ++i) {
    policy::network::Address one{static_cast<policy::network::Family>(answer.addresses[i].family), {}};
    const std::size_t size = one.bits() / 8;
    std::memcpy(one.bytes.data(), answer.addresses[i].bytes.data(), size);
    out.push_back(one);
  }
  return out;
}

}  // namespace cordon::egress
