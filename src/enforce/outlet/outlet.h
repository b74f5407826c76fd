// Outlet: a run's way out, and the host's way in by published ports, on the supervisor's side. It starts the broker as
// soon as every socket that the plan makes for it has come out of the sandbox, starts the resolver when a first name
// waits for it, hears what the broker says, and hands over what was counted.
//
// One descriptor to wait for (poll_fd()), one call when it is readable (service()). The broker's silence,
// its end, a failure of its, or its want of descriptors are the end of the outlet: state() is kLost, error() says why,
// and nothing passes any more, because the listeners go with it. Whether that refuses the run or ends it is the Loop's
// to say. Nothing here ever serves a target itself.
//
// Called by enforce/supervise alone, on the run's thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/result.h"
#include "egress/config.h"
#include "egress/records.h"
#include "enforce/outlet/published.h"
#include "enforce/outlet/question.h"
#include "enforce/outlet/spawn.h"
#include "plan/outcome.h"
#include "plan/plan.h"

namespace cordon::enforce::outlet {

class Outlet {
 public:
  enum class State : std::uint8_t {
    kWaiting,   ///< for the sockets
    kStarting,  ///< the broker was started
    kServing,
    kLost,
  };

  static bool needed_by(const plan::Plan& plan);
  /// `directory`: of the installed programs; "" for none. Published ports are listened on from here on; the Error of
  /// one that is taken names its step.
  static base::Result<Outlet> make(const plan::Plan& plan, std::string directory);

  /// The socket of this Listen step, or the next one of this SocketPool step. The last one starts the broker.
  base::Result<void> take_socket(base::StepId step, base::Fd socket);

  [[nodiscard]] base::FdView poll_fd() const { return epoll_; }
  void service();

  /// Of the broker while it was not waited for; else -1.
  [[nodiscard]] pid_t broker_pid() const { return broker_.pid(); }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const base::Error& error() const { return *error_; }

  std::vector<Asked> take_questions() { return std::exchange(questions_, {}); }
  /// Of these, what nobody waits for any more.
  std::vector<std::uint64_t> take_gone() { return std::exchange(gone_, {}); }
  /// What the address guard blocked for the second time, of granted hosts; the first few of a run.
  std::vector<plan::Destination> take_blocked() { return std::exchange(blocked_, {}); }
  /// To a question that was taken, now or later.
  void answer(std::uint64_t id, GateAnswer answer);

  /// The run is over: the broker is told, so that it takes leave while its supervisor clears away the rest.
  void ask_to_finish(egress::Parting parting);
  /// Every destination, and what came in, each once; both programs are gone after it. A broker that did not say that
  /// it is through is lost (state()): what was sent last may not have arrived, and not all of it is counted.
  struct Counted {
    std::vector<plan::Destination> destinations;
    std::vector<plan::Inbound> inbound;
  };
  Counted finish();

 private:
  enum class Source : std::uint64_t { kControl, kResolver, kResolverEnd, kTimer };
  enum class From : std::uint8_t { kInstalled, kEmbedded };

  Outlet() = default;
  base::Result<void> set_up(const plan::Plan& plan);
  base::Result<void> start_broker(From from);
  void on_control();
  void on_timer();
  base::Result<void> arm_tick();
  void take(const egress::Record& record);
  void note_blocked(const egress::Row& row);
  void take_ready(const egress::Ready& ready);
  void on_resolver();
  void on_resolver_end();
  base::Result<Child> start_resolver();
  base::Result<void> watch(Source source, base::FdView fd);
  void forget(base::FdView fd);
  void lose(std::string detail, int code = 0);

  State state_ = State::kWaiting;
  std::optional<base::Error> error_;
  std::string directory_;
  From broker_from_ = From::kInstalled;
  egress::Config config_;
  /// A socket of the sandbox's; kept until the broker has said that it is ready, as those of the host are.
  struct Slot {
    enum class For : std::uint8_t { kListening, kInnerIpv4, kInnerIpv6 };
    std::uint16_t step = 0;
    For what = For::kListening;
    base::Fd socket = {};
  };
  void add_slots(const plan::Plan& plan);
  /// As the broker wants them (egress/config.h).
  [[nodiscard]] std::vector<base::FdView> sockets_for_broker() const;
  void drop_sockets();

  std::vector<Slot> slots_;
  std::vector<HostListener> published_;
  RoomForPool room_;
  std::size_t taken_ = 0;

  base::Fd epoll_, timer_, control_, resolver_socket_;
  Child broker_, resolver_;
  std::size_t resolver_starts_ = 0;
  bool asked_to_finish_ = false, finished_ = false;
  unsigned silent_ticks_ = 0;  ///< of the timer, since the broker last said something
  std::map<std::uint32_t, egress::Row> rows_;
  std::vector<Asked> questions_;
  std::vector<std::uint64_t> gone_;
  std::vector<plan::Destination> blocked_;
  std::size_t blocked_told_ = 0;
};

}  // namespace cordon::enforce::outlet
