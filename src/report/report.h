// Report: what became of one run, as a value made from its Plan and its Outcome; and its words.
//
// The words that a person reads about a run stand in this room and nowhere else. A clean run has nothing to say: text()
// is then empty. What is said fits one screen and comes in this order: what ended the run, what was denied with the
// smallest grant for each, which promise lapsed, which layer was weaker, what may explain a failure. A user's mistake
// is named as that, never as a weakness of the host. The value holds no secret: environment values never get here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/left_behind.h"
#include "plan/outcome.h"
#include "plan/plan.h"
#include "report/layout.h"

namespace cordon::report {

/// One part of the sandbox as it was in this run. `verified`: the child tried to break it and could not.
struct LayerLine {
  plan::Layer layer = plan::Layer::kFilesystem;
  plan::Tier tier = plan::Tier::kCore;
  plan::LayerState state = plan::LayerState::kNotRequested;
  bool verified = false;
  std::string detail;
  std::string mend;
  friend bool operator==(const LayerLine&, const LayerLine&) = default;
};

enum class Ending : std::uint8_t {
  kExited,       ///< the target's own end
  kSignalled,    ///< killed by a signal
  kTimeLimit,    ///< limits.timeout
  kMemoryLimit,  ///< limits.memory
  kOnRequest,    ///< Cordon was asked to end the run
  kLapsed,       ///< a promise lapsed while it ran
  kNotExecuted,  ///< the sandbox stood, execve failed
  kNotSetUp,     ///< a step failed; the target never ran
};

/// Something that the target tried and was refused, and the smallest line of a manifest that would allow it.
struct Denial {
  std::string act;      ///< "exec", "connect", "look-up"; of a run that was watched "read", "write"
  std::string subject;  ///< unquoted, from the target; may be empty (unreadable); "host:port"
  std::uint64_t count = 1;
  std::string grant;  ///< "exec: all"; "" where no line allows it
  std::string why;    ///< of a path: what it is inside
  std::string path;   ///< the one in `grant`, unquoted; "" where that holds none
  friend bool operator==(const Denial&, const Denial&) = default;
};

/// The step that failed before the target ran.
struct Failure {
  base::Error error;
  std::string step;    ///< "bind"
  std::string reason;  ///< the policy line or built-in that asked for the step
  base::Span at;
  plan::Layer layer = plan::Layer::kFilesystem;
  friend bool operator==(const Failure&, const Failure&) = default;
};

struct Report {
  Ending ending = Ending::kNotSetUp;
  int exit_code = 125;    ///< Cordon's own, by the table of exit codes
  int signal = 0;         ///< that ended the target, or 0
  bool executed = false;  ///< the target ran
  plan::Engine engine = plan::Engine::kNamespace;
  std::vector<LayerLine> layers;
  std::vector<plan::Verification> verifications;
  std::vector<Denial> denials;
  std::uint64_t denials_total = 0;
  std::vector<plan::Destination> destinations;  ///< of a run with a way out
  std::vector<plan::Inbound> inbound;           ///< of a run that published ports
  std::optional<plan::AgentUse> agent;          ///< of a run with `agent`
  plan::Observations observed;                  ///< of a run that was watched; its paths are not in any document
  std::vector<plan::Lapse> lapses;
  std::vector<plan::Degradation> degradations;
  std::vector<plan::Note> notes;
  std::vector<plan::Note> told;                  ///< set by cli/: said when the run began, and not again at its end
  std::vector<plan::Alias> accepted_aliases;     ///< other names of credentials that the target saw
  std::vector<std::string> missing_read_grants;  ///< as written; set by cli/
  plan::LeftBehind left;                         ///< set by cli/
  std::optional<Failure> failure;
  std::optional<plan::step::Cgroup> limits;   ///< of a run with a control group of its own
  std::optional<plan::LimitsUse> limits_use;  ///< what that counted
  std::uint64_t timeout_ms = 0;
  std::uint64_t wall_ms = 0;
  friend bool operator==(const Report&, const Report&) = default;
};

/// The one place where an Outcome becomes an exit code.
Report make_report(const plan::Plan& plan, const plan::Outcome& outcome);

/// A request to the proxy that it does not pass on, and whose destination is known: no tunnel was asked for.
bool is_untunneled(const plan::Destination& one);

/// "network: [{host: a.example, port: '443'}]"; with the word PORT where `port` is 0, as of a lookup.
std::string network_grant(const std::string& host, std::uint16_t port);

/// The flag of `run -- COMMAND` that is as much as this line of a manifest: "--allow-domain a.example", "--allow-read
/// x". Itself where no flag is.
std::string as_flag(const std::string& grant);

/// Layers as planned, before anything ran: for refusals, `inspect` and `validate`.
std::vector<LayerLine> planned_layers(const plan::Plan& plan);

/// Every requested layer is enforced; false for no layers at all.
bool fully_enforced(const std::vector<LayerLine>& layers);

/// Empty for a clean run. Every line starts with "cordon: ".
std::string text(const Report& report, const Style& style);

/// While the run goes on: that a granted host cannot be reached as things are, and what would open it.
std::string blocked_text(const plan::Destination& one, const Style& style);

/// All of it, also after success and however much it is; without the prefix. For `explain`. Not of a run that failed to
/// be set up: that one was refused.
std::string everything(const Report& report, const Style& style);

/// Stable, kebab-case: "exited", "signalled", "time-limit", "memory-limit", "ended-on-request", "promise-lapsed",
/// "not-executed", "not-set-up".
std::string_view ending_code(Ending ending);

}  // namespace cordon::report
