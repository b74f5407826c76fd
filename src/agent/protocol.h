// The ssh agent's protocol (draft-miller-ssh-agent), as far as a sandbox may speak it: the list of the keys, and
// signatures. What is read is read strictly and whole; what is sent on is written anew from what was understood, so
// that no byte that the target chose reaches the agent but the data to be signed, and none of the agent's reaches the
// target but keys, comments and signatures.
//
// A message is a big-endian length (4 bytes) and so many bytes, of which the first is its kind. The readers here take
// the message without its length, the writers answer it with it. Pure: no descriptor, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace cordon::agent {

using Bytes = std::span<const std::byte>;

inline constexpr std::size_t kLengthBytes = 4;
inline constexpr std::size_t kMostMessage = 256U << 10;  ///< as ssh-agent itself takes
inline constexpr std::size_t kMostKeys = 1'024;          ///< in one list
inline constexpr std::size_t kMostKeyBytes = 64U << 10;  ///< of one key; an RSA key of 16,384 bits is 2 KiB
inline constexpr std::size_t kMostComment = 1U << 10;

/// The kinds of messages that are understood.
enum class Kind : std::uint8_t {
  kFailure = 5,
  kRequestIdentities = 11,
  kIdentitiesAnswer = 12,
  kSignRequest = 13,
  kSignResponse = 14,
};

/// SSH_AGENT_RSA_SHA2_256 and SSH_AGENT_RSA_SHA2_512; every other flag is refused.
inline constexpr std::uint32_t kKnownFlags = 2U | 4U;

/// SSH_AGENTC_REQUEST_IDENTITIES
struct List {};
/// SSH_AGENTC_SIGN_REQUEST. Spans lead into the message that was read.
struct Sign {
  Bytes key;
  Bytes data;
  std::uint32_t flags = 0;
};
/// Any other kind, or one of the two that is not exactly what the draft says.
struct Refused {};
using Request = std::variant<Refused, List, Sign>;

struct Identity {
  std::vector<std::byte> key;
  std::string comment;
  friend bool operator==(const Identity&, const Identity&) = default;
};

Request read_request(Bytes message);
/// SSH_AGENT_IDENTITIES_ANSWER, which the agent gives to a List; nothing for what is none. A key that is longer than
/// kMostKeyBytes or is not written as a key is left out; a comment is cut.
std::optional<std::vector<Identity>> read_identities(Bytes message);
/// The signature in an SSH_AGENT_SIGN_RESPONSE, within `message`; nothing for what is none.
std::optional<Bytes> read_signature(Bytes message);

std::vector<std::byte> write_failure();
std::vector<std::byte> write_list();
std::vector<std::byte> write_sign(const Sign& sign);
/// As many as fit into a message.
std::vector<std::byte> write_identities(std::span<const Identity> identities);
std::vector<std::byte> write_signature(Bytes signature);

/// What a key is known by: of a certificate the public key that it certifies, as ssh-keygen -l takes the fingerprint;
/// of anything else the key as it is.
std::vector<std::byte> plain_key(Bytes key);

/// The length that these four bytes say; nothing where no message is that long.
std::optional<std::size_t> read_length(std::span<const std::byte, kLengthBytes> bytes);

}  // namespace cordon::agent
