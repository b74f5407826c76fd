// Records: what the relay says to the supervisor, on the control socket (SOCK_SEQPACKET). One record per datagram, all
// of one size; both ends are of one build. The supervisor says nothing: that its end closes, or is shut down for
// writing, is what the relay ends by.
//
//   kReady, then kUsed and kTally in any order, kLost at most once; kFinished last. Or kFailed and the end
//
// A signature is said before it is handed to the target. Counters are those so far: a record that comes twice distorts
// nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::agent {

// The relay's descriptors.
inline constexpr int kControlFd = 3;   ///< SOCK_SEQPACKET to the supervisor
inline constexpr int kListenerFd = 4;  ///< listens in the sandbox
inline constexpr int kAgentFd = 5;     ///< connected to the agent of the host
inline constexpr int kFirstFreeFd = 6;

inline constexpr std::size_t kMostUsedKeys = 256;  ///< rows; the keys beyond them share one, which has no key
inline constexpr std::size_t kLongestToldKey = 8U << 10;
inline constexpr std::size_t kLongestToldComment = 256;
inline constexpr std::size_t kLongestTold = 64;

enum class Told : std::uint32_t {
  kReady = 1,  ///< id: Landlock's ABI, counts[0]: checks (both of confine::Confined), text: build id
  kUsed,       ///< id of this key in this run, counts[0]: signatures with it so far; key, comment
  kTally,      ///< counts: as of Tally, in its order
  kLost,       ///< text: why the agent of the host will answer nothing more
  kFinished,
  kFailed,  ///< id: errno, text: the call
};

struct Tally {
  std::uint64_t listed = 0;    ///< lists handed out
  std::uint64_t declined = 0;  ///< requests that the agent did not answer with what was asked for
  std::uint64_t refused = 0;   ///< requests that are not passed on
  std::uint64_t no_room = 0;   ///< connections closed for a bound's sake
  friend bool operator==(const Tally&, const Tally&) = default;
};

struct Record {
  Told what{};
  std::uint32_t id = 0;
  std::array<std::uint64_t, 4> counts{};
  std::uint32_t text_size = 0;
  std::uint32_t comment_size = 0;
  std::uint32_t key_size = 0;
  std::uint32_t reserved = 0;
  std::array<char, kLongestTold> text{};
  std::array<char, kLongestToldComment> comment{};
  std::array<std::byte, kLongestToldKey> key{};

  [[nodiscard]] std::string_view said() const { return {text.data(), text_size}; }
  [[nodiscard]] std::string_view comment_text() const { return {comment.data(), comment_size}; }
  [[nodiscard]] std::span<const std::byte> key_bytes() const { return std::span(key).first(key_size); }
  [[nodiscard]] Tally tally() const { return {counts[0], counts[1], counts[2], counts[3]}; }
};
static_assert(sizeof(Record) == 8 + 32 + 16 + kLongestTold + kLongestToldComment + kLongestToldKey, "no padding");

inline Record told(Told what, std::string_view text = {}, std::uint32_t id = 0) {
  Record out{.what = what, .id = id};
  out.text_size = static_cast<std::uint32_t>(text.copy(out.text.data(), out.text.size()));
  return out;
}
inline Record told(const Tally& tally) {
  Record out{.what = Told::kTally};
  out.counts = {tally.listed, tally.declined, tally.refused, tally.no_room};
  return out;
}

/// Nothing for bytes that are no record.
inline std::optional<Record> read_record(std::span<const std::byte> bytes) {
  Record out;
  if (bytes.size() != sizeof out) return std::nullopt;
  std::memcpy(&out, bytes.data(), sizeof out);
  const bool known = out.what >= Told::kReady && out.what <= Told::kFailed;
  const bool within = out.text_size <= out.text.size() && out.comment_size <= out.comment.size() &&
                      out.key_size <= out.key.size() && out.reserved == 0;
  if (!known || !within) return std::nullopt;
  return out;
}

}  // namespace cordon::agent
