// Outcome: what became of the plan's steps and of the target. Filled by enforce/supervise, read by report/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/observation.h"
#include "plan/plan.h"

namespace cordon::plan {

/// A mechanism that the child tried to break after lock-down and before execve, and could not.
struct Verification {
  std::string check;  ///< kebab-case: "root-read-only", "no-capabilities", "exec-closed"
  Layer layer = Layer::kFilesystem;
  base::StepId step;
  bool held = false;
  int code = 0;  ///< errno seen where it did not hold as expected
  friend bool operator==(const Verification&, const Verification&) = default;
};

struct ExecAttempt {
  std::string path;  ///< as read from the target once, for the record only; may be "" (unreadable)
  std::uint32_t pid = 0;
  std::uint32_t count = 1;
  friend bool operator==(const ExecAttempt&, const ExecAttempt&) = default;
};

/// What became of the connections to one destination, or of the questions for one name.
enum class Reach : std::uint8_t {
  kAdmitted,      ///< by a rule
  kGateAdmitted,  ///< by whoever was asked
  kDenied,        ///< by no rule
  kGateDenied,
  kGuardBlocked,  ///< its addresses are of a kind that is not dialled
  kUnreachable,
  kMalformed,  ///< no destination at all
  kOverBound,
};
std::string_view reach_name(Reach reach);  ///< "guard-blocked"

enum class Way : std::uint8_t { kDirect, kProxy, kDns };

struct Destination {
  Reach reach = Reach::kDenied;
  Way way = Way::kDirect;
  std::string
      host;  ///< as the target asked for it, normalised; "" where there was none, or where it is one of too many
  std::uint16_t port = 0;  ///< 0 of a question for a name
  std::uint64_t count = 0;
  std::uint64_t bytes_out = 0, bytes_in = 0;  ///< from the target, to it
  std::string why;                            ///< "private", "ECONNREFUSED"; "" where there is nothing to say
  bool can_be_opened = false;                 ///< kGuardBlocked: --allow-address may open such an address
  std::string address;                        ///< kGuardBlocked: the one that was blocked; "" where none was looked up
  std::string block;                          ///< the registries' block that it, or what it carries, lies in; or ""
  friend bool operator==(const Destination&, const Destination&) = default;
};

/// What came in by a published port.
struct Inbound {
  std::uint16_t port = 0;
  std::uint64_t count = 0;                    ///< connections that reached the target
  std::uint64_t refused = 0;                  ///< nothing listened, or whoever came had left
  std::uint64_t no_room = 0;                  ///< reset because too many stood at once; some of `count` among them
  std::uint64_t bytes_out = 0, bytes_in = 0;  ///< from the target, to it
  friend bool operator==(const Inbound&, const Inbound&) = default;
};

/// A key of the ssh agent's that the run signed with.
struct SignedWith {
  std::string key;      ///< "SHA256:…", as ssh-keygen -l prints it; "" of all those beyond the bound
  std::string comment;  ///< as the agent lists it, unquoted, its beginning
  std::uint64_t count = 0;
  friend bool operator==(const SignedWith&, const SignedWith&) = default;
};

/// What a run asked of the ssh agent (step::AgentSocket).
struct AgentUse {
  base::StepId step;
  std::vector<SignedWith> keys;  ///< in the order of their first use
  std::uint64_t listed = 0;      ///< lists of its keys that were handed out
  std::uint64_t declined = 0;    ///< signatures that the agent did not give
  std::uint64_t refused = 0;     ///< requests for anything else, or for a key that it does not list, or malformed
  std::uint64_t no_room = 0;     ///< connections that were closed for want of room or of time
  std::string lost;              ///< why signing was over before the run was; "" where it was not
  friend bool operator==(const AgentUse&, const AgentUse&) = default;
};

/// An address of the internet that a watched run named to connect(2), to bind(2) or to send to: what it said, as with
/// every observation. Whether it got there is not known, nor under which name it knew it.
struct ReachedAddress {
  std::string address;     ///< "192.0.2.1", "2001:db8::1"
  std::uint16_t port = 0;  ///< in the host's order
  std::uint64_t count = 0;
  std::vector<std::string> programs, calls;  ///< as of an ObservedPath
  friend bool operator==(const ReachedAddress&, const ReachedAddress&) = default;
};

enum class EndedBy : std::uint8_t {
  kTarget,   ///< exited or died by a signal of its own
  kTimeout,  ///< limits.timeout
  kSignal,   ///< Cordon was asked to end
  kLapse,    ///< a promise lapsed while it ran
  kMemory,   ///< limits.memory: the kernel killed everything in the run
};

/// What the run's control group says at its end (step::Cgroup).
struct LimitsUse {
  base::StepId step;
  std::uint64_t memory_peak = 0;                     ///< bytes; 0 where the kernel does not tell (before 5.19)
  std::uint64_t memory_kills = 0;                    ///< processes that the kernel killed at the memory limit
  std::uint64_t pids_refused = 0;                    ///< forks and new threads refused at the limit
  std::uint64_t cpu_periods = 0, cpu_throttled = 0;  ///< periods in which anything ran; of these, held back
  std::uint64_t cpu_usec = 0;                        ///< CPU time used, in microseconds
  friend bool operator==(const LimitsUse&, const LimitsUse&) = default;
};

struct Lapse {
  Layer layer = Layer::kFilesystem;
  std::string what;    ///< one sentence, quoted
  std::string mend;    ///< what to do so that it does not happen again; "" where there is nothing
  base::StepId step;   ///< whose mount it was; 0: of none
  std::string target;  ///< where, in the new root; "" where it has no place
  friend bool operator==(const Lapse&, const Lapse&) = default;
};

/// One run, as seen by the supervisor.
struct Outcome {
  std::optional<base::Error> setup_error;  ///< a step failed: the target never ran. `step` says which
  bool executed = false;                   ///< execve succeeded
  std::vector<Verification> verifications;
  EndedBy ended_by = EndedBy::kTarget;
  int exit_code = 0;  ///< of the target, if it exited
  int signal = 0;     ///< that killed it, or 0
  bool core_dumped = false;
  int asked_to_end = 0;                    ///< the first signal by which somebody asked Cordon to end the run, or 0
  std::vector<ExecAttempt> exec_attempts;  ///< refused ones, deduplicated, bounded
  std::uint64_t exec_attempts_total = 0;
  std::vector<Destination> destinations;  ///< of a run with a way out, each once, bounded
  std::vector<Inbound> inbound;           ///< one for each published port that somebody came to, by port
  std::optional<AgentUse> agent;          ///< of a run with `agent`
  std::vector<Lapse> lapses;
  Observations observations;            ///< of a run that was watched (Plan::watching)
  std::vector<ReachedAddress> reached;  ///< likewise; each address and port once, in the order of first sight, bounded
  std::optional<LimitsUse> limits;      ///< of a run with a control group of its own
  std::uint64_t wall_ms = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

}  // namespace cordon::plan
