// dns_message: one DNS question read, one answer written (RFC 1035, EDNS of RFC 6891). The bytes come from the target.
//
// Read strictly: exactly one question, no compression in it (there is nothing before it that it could point to), no
// answer or authority records, at most one additional record and only EDNS's, nothing after the end. Nothing recurses
// and nothing is copied but the name. An answer is always shorter than 512 bytes and so never needs to be cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "policy/network/address.h"

namespace cordon::egress {

inline constexpr std::size_t kLongestQuery = 4096;

enum class Rcode : std::uint16_t {
  kNoError = 0,
  kFormErr = 1,
  kServFail = 2,
  kNxDomain = 3,
  kNotImp = 4,
  kRefused = 5,
  kBadVersion = 16,
};

namespace rr {
inline constexpr std::uint16_t kA = 1, kPtr = 12, kAaaa = 28, kOpt = 41, kIn = 1;
}

struct DnsQuery {
  std::uint16_t id = 0;
  bool recursion_desired = false;
  bool edns = false;
  std::uint16_t type = 0;
  std::uint16_t klass = 0;
  std::vector<std::string> labels;      ///< as sent, any bytes; none for the root
  std::span<const std::byte> question;  ///< name, type and class as sent, to be repeated
};

/// What to say to bytes that are no question that we take; nothing is said to what is no question at all.
struct DnsRefusal {
  std::uint16_t id = 0;
  bool recursion_desired = false;
  bool edns = false;
  std::uint8_t opcode = 0;
  Rcode rcode = Rcode::kFormErr;
};

/// Nothing: not a question (too short for a header, or an answer): drop it.
using DnsParsed = std::variant<std::monostate, DnsRefusal, DnsQuery>;
DnsParsed parse_query(std::span<const std::byte> bytes);

/// No record, an address (A or AAAA by its family), or a name (PTR).
using DnsData = std::variant<std::monostate, policy::network::Address, std::string>;

std::vector<std::byte> write_answer(const DnsQuery& query, Rcode rcode, const DnsData& data);
std::vector<std::byte> write_refusal(const DnsRefusal& refusal);

}  // namespace cordon::egress
