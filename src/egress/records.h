// Records: what the broker and the supervisor say to each other on the control socket (SOCK_SEQPACKET). One record per
// datagram, a fixed header and then the fields of its kind; a datagram whose length is not exactly that is not taken.
//
//   broker      kReady, then kHeartbeat, kRow, kQuestion, kQuestionGone; kFinished last, or kFailed and the end
//   supervisor  kAnswer to a kQuestion; kFinish: pass on what was sent, where that is wanted; then say what is left to
//   say, and exit
//
// A kRow is a destination with its counters so far, sent again whenever they have changed: a row that is lost or comes
// twice distorts nothing, and the broker keeps no queue. When the supervisor's end closes, the broker ends at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "confine/confine.h"
#include "policy/network/address.h"

namespace cordon::egress {

inline constexpr std::size_t kMostRecordBytes = 512;

/// What became of a connection or a DNS question; each is counted in exactly one row.
enum class Verdict : std::uint8_t {
  kAdmitted = 1,  ///< by a rule, and connected
  kGateAdmitted,  ///< by the gate, and connected
  kDenied,        ///< by a deny rule, or by no rule
  kGateDenied,    ///< by the gate, or because it gave no answer
  kGuardBlocked,  ///< every address is one that may not be dialled; detail: policy::network::AddressClass, of `address`
  kUnreachable,   ///< detail: errno, kLookupDetail + a LookupStatus, or kUpstreamDetail + an HTTP status
  kMalformed,     ///< no destination, no request, no question
  kOverBound,     ///< a bound refused it; detail: a Bound
};
inline constexpr std::uint8_t kLastVerdict = 8;

inline constexpr std::uint32_t kLookupDetail = 10'000;
inline constexpr std::uint32_t kUpstreamDetail = 20'000;

/// Which bound (bounds.h) refused: Row::detail of kOverBound.
enum class Bound : std::uint32_t {
  kConnections = 1,
  kNames,
  kHeadTime,
  kGateQuestions,
  kDnsConnections,
  kIdle,
  kDescriptors,
  kInnerSockets
};

enum class Via : std::uint8_t {
  kTransparent = 1,
  kProxy,
  kDns,
  kPublished,  ///< from the host, to the port of the target's that the row names
};
inline constexpr std::uint8_t kLastVia = 4;

enum class DecidedBy : std::uint8_t { kNobody = 0, kAllowRule, kDenyRule, kGate };
inline constexpr std::uint8_t kLastDecider = 3;

struct Row {
  std::uint32_t id = 0;  ///< of this row in this run, from 0
  Verdict verdict = Verdict::kDenied;
  Via via = Via::kTransparent;
  DecidedBy decided_by = DecidedBy::kNobody;
  std::uint16_t port = 0;  ///< 0: a DNS question
  std::uint32_t rule = 0;  ///< index in the list of decided_by
  std::uint32_t detail = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes_out = 0, bytes_in = 0;  ///< from the sandbox, to it
  std::string host;  ///< as asked for, normalised; empty where there is none, or where it is one of too many
  std::optional<policy::network::Address> address;  ///< of kGuardBlocked: the strictest one; none where none was asked
  friend bool operator==(const Row&, const Row&) = default;
};

struct Ready {
  std::uint32_t checks = 0, landlock_abi = 0;  ///< as of confine::Confined
  std::uint32_t connections = 0;               ///< the bound that holds, with the descriptors there are
  std::string build_id;                        ///< of the program: one of another build is not taken
  friend bool operator==(const Ready&, const Ready&) = default;
};
struct Heartbeat {
  std::uint64_t sequence = 0;
  std::uint32_t open = 0;  ///< connections
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};
struct Question {
  std::uint64_t id = 0;
  std::uint16_t port = 0;
  std::uint16_t asker_port = 0;  ///< of the first connection that asks, inside the sandbox: a hint at who
  policy::network::Address asker;
  std::string host;
  friend bool operator==(const Question&, const Question&) = default;
};
/// Nobody waits for the answer any more.
struct QuestionGone {
  std::uint64_t id = 0;
  friend bool operator==(const QuestionGone&, const QuestionGone&) = default;
};
struct Failed {
  std::int32_t code = 0;  ///< errno
  std::string what;       ///< at most 64 bytes
  friend bool operator==(const Failed&, const Failed&) = default;
};
struct Finished {
  friend bool operator==(const Finished&, const Finished&) = default;
};

enum class GateAnswer : std::uint8_t {
  kNo = 0,     ///< those that wait
  kOnce = 1,   ///< those that wait
  kRun = 2,    ///< and everything to this host and port in this run
  kNever = 3,  ///< no, and not asked again in this run
};
struct Answer {
  std::uint64_t id = 0;
  GateAnswer answer = GateAnswer::kNo;
  friend bool operator==(const Answer&, const Answer&) = default;
};
enum class Parting : std::uint8_t {
  kAtOnce = 1,         ///< every connection is cut
  kWhenDelivered = 2,  ///< what the run has sent is passed on first, for Bounds::delivery_ms at most
};
struct Finish {
  Parting parting = Parting::kAtOnce;
  friend bool operator==(const Finish&, const Finish&) = default;
};

using Record = std::variant<Ready, Heartbeat, Row, Question, QuestionGone, Failed, Finished, Answer, Finish>;

std::vector<std::byte> encode(const Record& record);
std::optional<Record> decode_record(std::span<const std::byte> bytes);

}  // namespace cordon::egress
