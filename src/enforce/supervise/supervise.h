// One run, from the launcher's start until nothing of it is left: the supervisor.
//
// A Run starts the launcher with a plan, answers the exec notifications of `exec: none`, passes signals on, keeps the
// time limit, stops and continues together with the target, hands on the target's output, and fills a plan::Outcome.
// It is one event loop over descriptors, on the caller's thread; it makes no threads and keeps no state outside the
// Run, so that any number of runs may go on at once in one process.
//
// Invariants: the life socket is held by nobody but the Run: when the Run goes, in whatever way (destructor, crash,
// kill -9), init exits and the kernel kills the whole namespace. When wait() has returned, no process of the run is
// left and none is a zombie. At most one execve of a run is ever let through, and only the launcher's own.
//
// Called by cli/ (Terminal::kForeground) and by the public library (Terminal::kUntouched). It must not print, must not
// read the environment, and but for Terminal::kForeground must not touch anything that the whole process shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "enforce/launch/start.h"
#include "enforce/outlet/question.h"
#include "enforce/supervise/signal_policy.h"
#include "plan/outcome.h"
#include "plan/plan.h"

namespace cordon::enforce::supervise {

/// What the target's standard output and standard error are.
enum class StreamMode : std::uint8_t {
  kInherit,    ///< the caller's own
  kCallbacks,  ///< pipes; every chunk read goes to on_stdout and on_stderr
};

/// What the target's standard input is.
enum class StdinMode : std::uint8_t {
  kInherit,
  kNull,   ///< /dev/null
  kGiven,  ///< Options::stdin_fd
};

/// Whose terminal it is.
enum class Terminal : std::uint8_t {
  /// A library: signals and the terminal are the host program's own business. The target runs in a session of its own.
  kUntouched,
  /// A command of a shell's job. The target shares the caller's process group, so that keys, pipelines and job control
  /// work as without Cordon. For the time of the run the calling thread (which must be the only one that takes
  /// signals) blocks INT, TERM, HUP, QUIT, TSTP, TTIN, TTOU, USR1, USR2 and CONT, less those that are ignored, and
  /// handles them; the mask is restored at the end. A signal sent to the caller is passed on to the target; of INT,
  /// TERM and HUP the second one, or 10 s after the first, ends the run. Keys reach the target by the kernel.
  kForeground,
};

/// Called on the thread that is in start(), service() or wait(); must not call back into the Run but for cancel().
using OnChunk = std::function<void(std::span<const std::byte>)>;

struct Options {
  launch::LauncherSource launcher;
  StreamMode streams = StreamMode::kInherit;
  OnChunk on_stdout, on_stderr;  ///< kCallbacks; an empty one drops the bytes
  StdinMode stdin_mode = StdinMode::kInherit;
  base::Fd stdin_fd;  ///< kGiven; closed once the target has it
  Terminal terminal = Terminal::kUntouched;
  Keys keys = Keys::kTarget;  ///< Terminal::kForeground only
  /// Where the journals of mount points lie (enforce/hold); a plan with a HoldPoint needs it.
  std::string hold_registry;
  /// Names the control group of a plan with limits (cgroup::is_run_id); "": one that nobody else has.
  std::string run_id;
  /// Asked (--ask, a library's gate) about what no rule covers; answers by calling `answer`, at any time while the run
  /// lasts, on this thread. Without it, or without an answer, the answer is no.
  outlet::OnQuestion on_question;
  /// Terminal::kForeground only, in the place of on_question: a person at the terminal is asked, and the run stands
  /// still meanwhile.
  std::optional<outlet::AtTerminal> at_terminal;
  /// The address guard blocked a granted host, for the first time; of the first few. On this thread, while the run
  /// lasts.
  std::function<void(const plan::Destination&)> on_blocked;
  /// The target listens on this port, which is not published: said once, of a run with a way out. On this thread.
  std::function<void(std::uint16_t port)> on_listening;
  /// Called once, when every mount is made or can no longer be: what pins the plan's objects may be dropped.
  std::function<void()> when_mounted;
};

/// What can be done before there is a plan: the launcher is started on a guess at its first step (launch::Early), and
/// makes namespaces while the caller plans. A wrong guess costs the time that it would have saved, and changes nothing.
/// Dropped, it ends what it started and waits for that.
class Prepared {
 public:
  /// Cannot fail: what does not work now is tried again by Run::start(), which says why.
  static Prepared begin(Options options, const plan::step::EnterNamespaces& assumed);
  /// Nothing is started before there is a plan.
  static Prepared without_launcher(Options options);
  Prepared(Prepared&&) noexcept;
  Prepared& operator=(Prepared&&) noexcept;
  ~Prepared();
  /// What the plan is expected to begin with (launch::Early::begin_plan). Nothing where no launcher was started.
  void begin_plan(std::vector<plan::Step> steps);
  /// Of the plan, and so to be set when there is one: Options::hold_registry, run_id, when_mounted and on_listening.
  void set_hold_registry(std::string path);
  void set_run_id(std::string id);
  void set_when_mounted(std::function<void()> call);
  void set_on_listening(std::function<void(std::uint16_t)> call);

 private:
  friend class Run;
  struct Parts;
  explicit Prepared(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

class Run {
 public:
  /// Starts the launcher. An Error here means that nothing was started; a failure of a step is an Outcome's
  /// setup_error. The plan is not needed after this returns.
  static base::Result<Run> start(const plan::Plan& plan, Options options);
  static base::Result<Run> start(const plan::Plan& plan, Prepared prepared);

  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  /// A run that was not waited for is killed, and waited for.
  ~Run();

  /// Blocks until the run is over. An Error only where the supervisor itself could not go on: the run was killed then.
  /// To be called once, and not beside service() on another thread.
  base::Result<plan::Outcome> wait();

  /// For a host with an event loop: readable (poll, epoll) when service() has something to do. Exec notifications, time
  /// limits and output wait until it is called.
  [[nodiscard]] base::FdView poll_fd() const;

  /// Does what can be done without blocking; true once the run is over and wait() will not block.
  base::Result<bool> service();

  /// Takes no output of the target's (kCallbacks) until it is told otherwise: for a host whose own reader is slow. The
  /// target waits once its pipe is full; everything else goes on. What is in the pipes comes when the run ends.
  enum class Taking : std::uint8_t { kNothing, kOutput };
  base::Result<void> take_output(Taking taking);

  /// Ends the run at once: everything in it is killed, the Outcome says EndedBy::kSignal with signal SIGKILL. Any
  /// thread, any time before the Run is destroyed, any number of times.
  void cancel();

 private:
  class Loop;
  explicit Run(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

/// start() and wait() in one. `when_mounted` takes the place of options.when_mounted where that is empty.
base::Result<plan::Outcome> run(const plan::Plan& plan, Options options, std::function<void()> when_mounted = {});

}  // namespace cordon::enforce::supervise
