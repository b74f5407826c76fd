// Run::Loop: the descriptors of a run and what is done when one of them is readable.
//
// Each pass takes everything that is ready, in a fixed order: first what people want (signals, cancel), then what the
// run reports (control, then the exec listener, which is judged by it; the outlet; the relay to the ssh agent; life),
// then the mounts, output and time, and last init's end. Only here are processes signalled, and all by pidfd, but for
// one SIGCONT to the target's own process group.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/result.h"
#include "cgroup/group.h"
#include "enforce/hold/hold.h"
#include "enforce/hold/overlay_marks.h"
#include "enforce/launch/protocol.h"
#include "enforce/outlet/agent_relay.h"
#include "enforce/outlet/outlet.h"
#include "enforce/supervise/asker.h"
#include "enforce/supervise/attributes.h"
#include "enforce/supervise/exec_gate.h"
#include "enforce/supervise/job_control.h"
#include "enforce/supervise/listener_watch.h"
#include "enforce/supervise/mount_watch.h"
#include "enforce/supervise/orphans.h"
#include "enforce/supervise/own_signals.h"
#include "enforce/supervise/prepared.h"
#include "enforce/supervise/progress.h"
#include "enforce/supervise/run_clock.h"
#include "enforce/supervise/signal_policy.h"
#include "enforce/supervise/streams.h"
#include "enforce/supervise/supervise.h"
#include "enforce/supervise/terminal.h"
#include "observe/observer.h"

namespace cordon::enforce::supervise {

class Run::Loop {
 public:
  static base::Result<std::unique_ptr<Loop>> start(const plan::Plan& plan, Prepared::Parts& prepared);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  enum class Block : std::uint8_t { kNo, kYes };
  /// One round; true once the run is over.
  base::Result<bool> pass(Block block);
  [[nodiscard]] base::FdView poll_fd() const { return epoll_; }
  base::Result<void> take_output(Taking taking);
  void cancel();
  /// Once, after pass() said true.
  plan::Outcome take_outcome() { return std::move(*outcome_); }
  /// Kills what there is and waits for it. For an Error of our own, and for a run that nobody waited for.
  void abandon();

 private:
  /// In the order in which a pass looks at them.
  enum class Source : std::uint8_t {
    kSignals,
    kCancel,
    kControl,
    kListener,
    kOutlet,
    kAgent,
    kAsker,
    kLife,
    kMounts,
    kStdout,
    kStderr,
    kTimer,
    kInit,
    kCount
  };
  static constexpr auto kSources = static_cast<std::size_t>(Source::kCount);

  Loop(const plan::Plan& plan, Options& options);
  base::Result<void> prepare(Terminal terminal);
  base::Result<void> launch(const plan::Plan& plan, Prepared::Parts& prepared);
  base::Result<void> not_started(base::Error error);
  void take_job();
  base::Result<void> watch(Source source, base::FdView fd);
  base::Result<void> make_holds(const plan::Plan& plan, const Options& options);
  void close(base::Fd& fd);

  base::Result<void> handle(Source source, std::uint32_t events);
  base::Result<void> settle_execve();
  base::Result<void> on_signals();
  void on_cancel();
  base::Result<void> on_control();
  base::Result<void> on_listener(std::uint32_t events);
  base::Result<void> serve_calls();
  base::Result<void> on_outlet();
  base::Result<void> take_socket(base::StepId step, base::Fd socket);
  void on_agent();
  base::Result<void> make_group(const plan::Plan& plan, const std::string& run_id);
  base::Result<void> admit(pid_t init);
  void attest_limits();
  void let_go_on();
  void settle_limits(const ProcessEnd& init);
  base::Result<void> make_asker(const Options& options);
  void ask();
  void on_asker();
  void give_answers();
  void end_asking();
  void dismiss_questions();
  void outlet_lost();
  void judge_farewell();
  base::Result<void> on_life();
  base::Result<void> on_mounts();
  void on_target_stopped(int signal);
  void on_output(Output& output);
  void on_time();
  base::Result<void> on_init_end();

  base::Result<void> take_batch(launch::Batch& batch);
  void take_target(base::Fd pidfd);
  base::Result<void> take_listener(base::Fd fd);
  base::Result<void> take_mounts(base::Fd table);
  base::Result<void> answer(const ExecListener::Call& call);
  base::Result<void> serve_attributes(const ExecListener::Call& call);
  bool observe(const ExecListener::Call& call, ExecGate::Verdict verdict);
  void react(const Reaction& reaction);
  void stop_ourselves(const JobControl::Stop& stop);
  void continue_target();
  void send_to_target(int signal);
  void kill_run();
  void end_run(plan::EndedBy reason, int signal);
  void mounted();
  void finish(const ProcessEnd& init);
  void give_back();
  base::Result<void> arm_timer();
  [[nodiscard]] std::uint64_t running_ns() const;

  base::Fd epoll_, cancel_, timer_;
  base::Fd control_, life_, init_pidfd_, target_pidfd_;
  std::optional<pid_t> target_pid_;
  std::optional<ExecListener> listener_;
  Output out_, error_;
  Taking taking_ = Taking::kOutput;
  bool notified_;
  std::function<void()> when_mounted_;
  outlet::OnQuestion on_question_;
  std::function<void(const plan::Destination&)> on_blocked_;
  ListenerWatch listeners_;

  std::optional<hold::Holds> holds_;  ///< gone when nothing of the run is left
  hold::OverlayMarks overlay_marks_;
  std::optional<outlet::Outlet> outlet_;
  std::optional<outlet::AgentRelay> agent_;
  std::unique_ptr<Asker> asker_;
  std::optional<cgroup::Group> group_;  ///< of a run with limits
  base::StepId group_step_;
  bool limits_stand_ = false;
  bool told_to_go_ = false;
  MountWatch mounts_;
  Progress progress_;
  ExecGate gate_;
  std::optional<observe::Observer> observer_;  ///< of a run that is watched
  std::optional<Attributes> attributes_;       ///< where changes of them are made for the target
  std::optional<Orphans> orphans_;             ///< with a warden, in a program of its own
  bool has_warden_;                            ///< the landlock engine: init is not a namespace's first process
  RunClock clock_;
  TimeLimit limit_;
  std::optional<std::uint64_t> armed_for_;  ///< running time that the timer is set to
  std::optional<plan::Outcome> outcome_;

  std::optional<OwnSignals> signals_;  ///< Terminal::kForeground only, as the next
  std::optional<OwnTerminal> terminal_;
  SignalPolicy policy_;
  JobControl job_;
};

}  // namespace cordon::enforce::supervise
