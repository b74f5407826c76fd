// AgentRelay: the supervisor's side of a run's relay to the ssh agent of its caller. It connects to the agent before
// anything of the run is made, starts cordon-agent as soon as the socket that init made for it has come out of the
// sandbox, hears which keys it signed with, and hands that over.
//
// One descriptor to wait for (poll_fd()), one call when it is readable (service()). A relay that is lost before it
// serves is an Error: the run does not start. One that is lost later is no lapse: nothing is signed any more, and what
// was signed before is known, because the relay says so before it hands a signature out.
//
// Called by enforce/supervise alone, on the run's thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent/records.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/result.h"
#include "enforce/outlet/spawn.h"
#include "plan/outcome.h"
#include "plan/plan.h"

namespace cordon::enforce::outlet {

class AgentRelay {
 public:
  enum class State : std::uint8_t {
    kWaiting,   ///< for the socket
    kStarting,  ///< the relay was started
    kServing,
    kOver,  ///< ended, or lost while it served: nothing more is signed
    kLost,  ///< before it served: error() says why
  };

  /// The step of an AgentSocket; 0: there is none.
  static base::StepId step_of(const plan::Plan& plan);
  /// `directory`: of the installed programs; "" for none. Connects to the agent, to that socket which was planned and
  /// to nothing that somebody else listens on; an Error names the step.
  static base::Result<AgentRelay> make(const plan::Plan& plan, std::string directory);

  /// The socket of the step. Starts the relay.
  base::Result<void> take_socket(base::StepId step, base::Fd socket);

  [[nodiscard]] base::FdView poll_fd() const { return epoll_; }
  void service();

  /// Of the relay while it was not waited for; else -1.
  [[nodiscard]] pid_t pid() const { return relay_.pid(); }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] base::StepId step() const { return step_; }
  [[nodiscard]] const base::Error& error() const { return *error_; }

  /// The run is over: the relay is told.
  void ask_to_finish();
  /// What was asked of the agent; the relay is gone after it.
  plan::AgentUse finish();

 private:
  enum class From : std::uint8_t { kInstalled, kEmbedded };

  AgentRelay() = default;
  base::Result<void> start(From from);
  void hear();
  void take(const agent::Record& record);
  void take_ready(const agent::Record& ready);
  void lose(std::string detail, int code = 0);

  State state_ = State::kWaiting;
  base::StepId step_;
  std::string directory_;
  From from_ = From::kInstalled;
  std::optional<base::Error> error_;
  base::Fd epoll_, timer_, control_, listener_, agent_;
  Child relay_;
  bool asked_to_finish_ = false, finished_ = false;
  std::map<std::uint32_t, plan::SignedWith> used_;
  agent::Tally tally_;
  std::string lost_;
};

}  // namespace cordon::enforce::outlet
