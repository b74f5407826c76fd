#include "enforce/supervise/loop.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "enforce/supervise/process_file.h"
#include "kernel/event.h"
#include "kernel/process.h"
#include "kernel/terminal.h"

namespace cordon::enforce::supervise {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;

base::Result<void> worded(kernel::Sys<void> done, std::string_view subject) {
  if (!done) return base::fail(kernel::error_at(done.error(), subject));
  return {};
}

/// Of the installed programs: the broker stands beside the launcher.
std::string directory_of(const std::string& program) { return program.substr(0, program.rfind('/') + 1); }

/// Without one nobody could hold the target back before its first call.
bool has_notifying_filter(const plan::Plan& plan) {
  return std::ranges::any_of(plan.steps, [](const plan::Step& step) {
    const auto* filter = std::get_if<plan::step::Filter>(&step.act);
    return filter != nullptr && filter->notify;
  });
}

ProcessEnd end_of(const kernel::Sys<siginfo_t>& info) {
  if (!info || info->si_pid == 0) return {};  // ECHILD: a host that ignores SIGCHLD, or reaps whatever it finds
  if (info->si_code == CLD_EXITED) return {.exit_code = info->si_status};
  return {.signal = info->si_status, .core_dumped = info->si_code == CLD_DUMPED};
}

}  // namespace

Run::Loop::Loop(const plan::Plan& plan, Options& options)
    : notified_(is_notified(plan)),
      when_mounted_(std::move(options.when_mounted)),
      on_question_(std::move(options.on_question)),
      on_blocked_(std::move(options.on_blocked)),
      listeners_(plan, std::move(options.on_listening)),
      overlay_marks_(plan),
      mounts_(plan),
      progress_(plan),
      gate_(plan.exec_closed ? ExecGate::Exec::kClosed : ExecGate::Exec::kOpen),
      has_warden_(plan.engine == plan::Engine::kLandlock),
      clock_(kernel::monotonic_ns()),
      limit_(plan.timeout_ms * kNsPerMs),
      policy_(options.keys),
      job_(JobControl::Ability::kCannotStop, 0) {
  if (plan.watching != plan::Watching::kNothing) observer_.emplace(plan);
  if (plan.serves_attributes) attributes_.emplace(plan);
}

Run::Loop::~Loop() { abandon(); }

base::Result<std::unique_ptr<Run::Loop>> Run::Loop::start(const plan::Plan& plan, Prepared::Parts& prepared) {
  std::unique_ptr<Loop> loop(new Loop(plan, prepared.options));
  CORDON_OK(loop->prepare(prepared.options.terminal));
  CORDON_OK(loop->launch(plan, prepared));
  return loop;
}

base::Result<void> Run::Loop::prepare(Terminal terminal) {
  const auto take = [](base::Fd& into, kernel::Sys<base::Fd> made) -> base::Result<void> {
    if (!made) return base::fail(kernel::error_at(made.error(), "the supervisor's loop"));
    into = std::move(*made);
    return {};
  };
  CORDON_OK(take(epoll_, kernel::epoll_create()));
  CORDON_OK(take(cancel_, kernel::eventfd()));
  CORDON_OK(take(timer_, kernel::timerfd_create()));
  CORDON_OK(watch(Source::kCancel, cancel_));
  CORDON_OK(watch(Source::kTimer, timer_));
  if (terminal == Terminal::kUntouched) return {};
  auto signals = OwnSignals::take();
  if (!signals) return base::fail(kernel::error_at(signals.error(), "the supervisor's signals"));
  signals_.emplace(std::move(*signals));
  return watch(Source::kSignals, signals_->fd());
}

base::Result<void> Run::Loop::launch(const plan::Plan& plan, Prepared::Parts& prepared) {
  if (notified_ && !has_notifying_filter(plan))
    return not_started({.operation = "plan",
                        .subject = "cordon-launch",
                        .step = base::StepId{static_cast<std::uint16_t>(plan.steps.size())},
                        .detail = "calls are to be notified, and no filter of the plan does that"});
  if (auto held = make_holds(plan, prepared.options); !held) return not_started(std::move(held).error());
  if (auto made = make_group(plan, prepared.options.run_id); !made) return not_started(std::move(made).error());
  if (outlet::Outlet::needed_by(plan)) {
    auto made = outlet::Outlet::make(plan, directory_of(prepared.options.launcher.installed_path));
    if (!made && made.error().step.value != 0) return not_started(std::move(made).error());
    CORDON_TRY(outlet_, std::move(made));
  }
  if (outlet::AgentRelay::step_of(plan) != base::StepId{}) {
    auto made = outlet::AgentRelay::make(plan, directory_of(prepared.options.launcher.installed_path));
    if (!made) return not_started(std::move(made).error());
    agent_.emplace(std::move(*made));
  }
  CORDON_TRY(ChildStreams streams, std::move(prepared.streams));
  if (has_warden_ && prepared.options.terminal == Terminal::kForeground) orphans_ = Orphans::adopt();
  const auto on_born = group_ ? launch::OnBorn([this](pid_t init) { return admit(init); }) : launch::OnBorn();
  auto started = prepared.start(plan, signals_ ? signals_->ignored() : std::vector<int>(), on_born);
  if (!started) return not_started(std::move(started).error());
  init_pidfd_ = std::move(started->init_pidfd);
  control_ = std::move(started->control);
  life_ = std::move(started->life);
  if (holds_) CORDON_OK(holds_->init_is_born(init_pidfd_));
  out_ = std::move(streams.out);
  error_ = std::move(streams.error);
  CORDON_OK(watch(Source::kControl, control_));
  CORDON_OK(watch(Source::kLife, life_));
  CORDON_OK(watch(Source::kInit, init_pidfd_));
  if (outlet_) CORDON_OK(watch(Source::kOutlet, outlet_->poll_fd()));
  if (agent_) CORDON_OK(watch(Source::kAgent, agent_->poll_fd()));
  CORDON_OK(make_asker(prepared.options));
  if (out_.is_open()) CORDON_OK(watch(Source::kStdout, out_.fd()));
  if (error_.is_open()) CORDON_OK(watch(Source::kStderr, error_.fd()));
  if (signals_) take_job();
  return {};
}

void Run::Loop::take_job() {
  signals_->hold_stops();
  terminal_ = OwnTerminal::open();
  // A session's leader has nobody above it who would continue it.
  const bool shell_above = terminal_ && ::getsid(0) != ::getpid();
  job_ = JobControl(shell_above ? JobControl::Ability::kCanStop : JobControl::Ability::kCannotStop, ::getpgrp());
}

/// A step that failed in the launcher itself is an Outcome as any other step's; so is a request to end meanwhile.
base::Result<void> Run::Loop::not_started(base::Error error) {
  if (signals_) CORDON_OK(on_signals());
  if (!progress_.was_killed()) {
    if (error.step == base::StepId{}) return base::fail(std::move(error));
    progress_.fail_setup(std::move(error));
  }
  finish({});
  return worded(kernel::eventfd_raise(cancel_), "the supervisor's loop");
}

base::Result<void> Run::Loop::watch(Source source, base::FdView fd) {
  const std::uint32_t events = source == Source::kMounts ? EPOLLPRI : EPOLLIN;  // the table is always readable
  return worded(kernel::epoll_add(epoll_, fd, events, static_cast<std::uint64_t>(source)), "the supervisor's loop");
}

/// Before the launcher starts: it masks what stands there.
base::Result<void> Run::Loop::make_holds(const plan::Plan& plan, const Options& options) {
  if (!hold::Holds::needed_by(plan)) return {};
  CORDON_TRY(holds_, hold::Holds::make(plan, options.hold_registry));
  return {};
}

void Run::Loop::close(base::Fd& fd) {
  if (!fd.valid()) return;
  // Explicitly: a copy of the descriptor in a process that the host forked would keep it in the set.
  static_cast<void>(kernel::epoll_remove(epoll_, fd));
  fd.reset();
}

base::Result<void> Run::Loop::take_output(Taking taking) {
  if (taking == taking_) return {};
  taking_ = taking;
  for (const auto& [source, output] : {std::pair{Source::kStdout, &out_}, std::pair{Source::kStderr, &error_}}) {
    if (!output->is_open()) continue;
    if (taking == Taking::kOutput) {
      CORDON_OK(watch(source, output->fd()));
    } else {
      CORDON_OK(worded(kernel::epoll_remove(epoll_, output->fd()), "the supervisor's loop"));
    }
  }
  return {};
}

void Run::Loop::cancel() { static_cast<void>(kernel::eventfd_raise(cancel_)); }

base::Result<bool> Run::Loop::pass(Block block) {
  if (outcome_) return true;
  CORDON_OK(arm_timer());
  // Whoever asked the set before, as a host does that polls for us, was told in our place.
  const bool mounts_changed = mounts_.has_changed();
  if (mounts_changed) block = Block::kNo;
  if (block == Block::kYes && observer_) CORDON_OK(serve_calls());
  std::array<epoll_event, kSources> events{};
  const auto count = kernel::epoll_wait(epoll_, events, block == Block::kYes ? -1 : 0);
  if (!count) return base::fail(kernel::error_at(count.error(), "the supervisor's loop"));
  std::array<std::uint32_t, kSources> ready{};
  for (const epoll_event& event : std::span(events).first(*count)) ready.at(event.data.u64) = event.events;
  if (mounts_changed) ready.at(static_cast<std::size_t>(Source::kMounts)) = EPOLLPRI;
  for (std::size_t source = 0; source < kSources && !outcome_; ++source) {
    if (ready.at(source) != 0) CORDON_OK(handle(static_cast<Source>(source), ready.at(source)));
  }
  if (progress_.must_kill() && !outcome_) kill_run();
  if (!outcome_) CORDON_OK(arm_timer());  // a host that polls for us sleeps until then
  return outcome_.has_value();
}

base::Result<void> Run::Loop::handle(Source source, std::uint32_t events) {
  switch (source) {
    case Source::kSignals:
      return on_signals();
    case Source::kCancel:
      on_cancel();
      return {};
    case Source::kControl:
      return on_control();
    case Source::kListener:
      return on_listener(events);
    case Source::kOutlet:
      return on_outlet();
    case Source::kAgent:
      on_agent();
      return {};
    case Source::kAsker:
      on_asker();
      return {};
    case Source::kLife:
      return on_life();
    case Source::kMounts:
      return on_mounts();
    case Source::kStdout:
      on_output(out_);
      return {};
    case Source::kStderr:
      on_output(error_);
      return {};
    case Source::kTimer:
      on_time();
      return {};
    case Source::kInit:
      return on_init_end();
    case Source::kCount:
      break;
  }
  return {};
}

/// Init closes its control socket when it gets to it, which may be after the execve. A stopped child: the limit.
base::Result<void> Run::Loop::settle_execve() {
  CORDON_OK(on_control());
  const std::uint64_t limit = running_ns() + (50 * kNsPerMs);
  while (progress_.is_ready() && control_.valid() && !outcome_ && running_ns() < limit) {
    std::array open{pollfd{.fd = listener_ ? listener_->fd().get() : -1, .events = POLLIN, .revents = 0},
                    pollfd{.fd = control_.get(), .events = POLLIN, .revents = 0}};
    static_cast<void>(kernel::poll(open, 1));
    if (open[0].revents != 0) CORDON_OK(on_listener(static_cast<std::uint32_t>(open[0].revents)));
    CORDON_OK(on_control());
  }
  return {};
}

base::Result<void> Run::Loop::on_signals() {
  CORDON_OK(settle_execve());  // whether there is a target to pass it on to
  while (const auto arrived = signals_->next()) {
    dismiss_questions();
    react(policy_.on_signal(arrived->signal, arrived->origin, running_ns()));
  }
  return {};
}

void Run::Loop::react(const Reaction& reaction) {
  switch (reaction.what) {
    case Reaction::What::kNothing:
      return;
    case Reaction::What::kForward:
      return send_to_target(reaction.signal);
    case Reaction::What::kEnd:
      return end_run(plan::EndedBy::kSignal, reaction.signal);
    case Reaction::What::kStop:
      return stop_ourselves({.signal = reaction.signal});
  }
}

void Run::Loop::on_cancel() {
  // Not closed: another thread may be writing to it. Once is enough, so it is not looked at again.
  static_cast<void>(kernel::epoll_remove(epoll_, cancel_));
  end_run(plan::EndedBy::kSignal, SIGKILL);
}

base::Result<void> Run::Loop::on_control() {
  while (control_.valid()) {
    auto batch = launch::receive(control_, MSG_DONTWAIT);
    if (!batch && batch.error().code == EAGAIN) return {};
    if (!batch) progress_.fail_setup(kernel::error_at(batch.error(), "the launcher's report"));
    if (!batch || batch->count == 0) {
      close(control_);
      progress_.on_control_closed();
    } else {
      CORDON_OK(take_batch(*batch));
    }
  }
  if (progress_.is_executed()) policy_.executed();
  if (progress_.is_silent() && target_pidfd_.valid()) {
    static_cast<void>(kernel::pidfd_send_signal(target_pidfd_, SIGKILL));
  }
  return {};
}

base::Result<void> Run::Loop::take_batch(launch::Batch& batch) {
  for (std::size_t i = 0; i < batch.count; ++i) {
    const launch::Message& message = batch.messages.at(i);
    const bool has_fd = i + 1 == batch.count && batch.fd.valid();
    progress_.on_control(message, has_fd);
    if (message.kind == launch::Kind::kListening && has_fd)
      CORDON_OK(take_socket(base::StepId{message.step}, std::move(batch.fd)));
    if (message.kind == launch::Kind::kTargetStarted) overlay_marks_.remove_from_ways();  // the mounts stand
    if (message.kind == launch::Kind::kTargetStarted && has_fd) take_target(std::move(batch.fd));
    if (message.kind == launch::Kind::kMounts && has_fd) CORDON_OK(take_mounts(std::move(batch.fd)));
    if (message.kind == launch::Kind::kListener && has_fd) CORDON_OK(take_listener(std::move(batch.fd)));
  }
  if (progress_.is_ready() && !progress_.must_kill()) gate_.ready();
  if (progress_.mounts_are_done()) mounted();
  return {};
}

void Run::Loop::take_target(base::Fd pidfd) {
  target_pidfd_ = std::move(pidfd);
  target_pid_ = pid_of(target_pidfd_);
  attest_limits();
  if (target_pid_) return gate_.target_is(*target_pid_);
  // A short-lived target may be gone by now. Where calls are notified it cannot be: its execve waits for our answer.
  std::array<pollfd, 1> ended{pollfd{.fd = target_pidfd_.get(), .events = POLLIN, .revents = 0}};
  if (!notified_ || kernel::poll(ended, 0).value_or(0) != 0) return;
  progress_.fail_setup({.operation = "read",
                        .subject = "/proc/self/fdinfo",
                        .detail = "which process the target is cannot be told: /proc must show this process"});
}

base::Result<void> Run::Loop::on_life() {
  while (life_.valid()) {
    const auto batch = launch::receive(life_, MSG_DONTWAIT);
    if (!batch && batch.error().code == EAGAIN) return {};
    if (!batch || batch->count == 0) {
      close(life_);
      return {};
    }
    for (const launch::Message& message : batch->all()) {
      progress_.on_life(message);
      if (message.kind == launch::Kind::kTargetStopped) on_target_stopped(message.code);
      if (message.kind == launch::Kind::kTargetContinued) job_.target_continued();
    }
  }
  return {};
}

void Run::Loop::on_target_stopped(int signal) {
  if (asker_ && asker_->is_asking()) return;  // by us
  const auto target = target_pid_ ? process_stat(*target_pid_) : std::nullopt;
  const pid_t foreground = terminal_ ? terminal_->foreground() : 0;
  if (const auto stop = job_.target_stopped(signal, target, foreground)) stop_ourselves(*stop);
}

void Run::Loop::stop_ourselves(const JobControl::Stop& stop) {
  if (stop.take_terminal) terminal_->give_to(job_.our_group());
  signals_->stop_ourselves(stop.signal);
  if (terminal_) {
    if (const auto group = job_.resumed(terminal_->foreground())) terminal_->give_to(*group);
  }
  if (!signals_->stop_is_pending()) continue_target();
}

/// A shell continues its job's group, and what is in the target's own group besides.
void Run::Loop::continue_target() {
  const auto group = job_.target_group();
  const auto now = target_pid_ ? process_stat(*target_pid_) : std::nullopt;
  job_.target_continued();
  send_to_target(SIGCONT);
  if (group && now && now->group == *group) static_cast<void>(kernel::kill(-*group, SIGCONT));
}

void Run::Loop::send_to_target(int signal) {
  if (!target_pidfd_.valid()) return;
  static_cast<void>(kernel::pidfd_send_signal(target_pidfd_, signal));  // ESRCH: it has just ended
  // A stopped process sees no signal before it is continued.
  const bool stops = signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
  if (job_.target_is_stopped() && !stops) static_cast<void>(kernel::pidfd_send_signal(target_pidfd_, SIGCONT));
}

void Run::Loop::on_output(Output& output) {
  if (output.hand_on() == Output::State::kOpen) return;
  static_cast<void>(kernel::epoll_remove(epoll_, output.fd()));
  output.close();
}

base::Result<void> Run::Loop::arm_timer() {
  const auto limit = limit_.next();
  const auto request = policy_.next();
  const auto next = limit && request ? std::min(limit, request) : (limit ? limit : request);
  if (next == armed_for_) return {};
  armed_for_ = next;
  std::uint64_t after = 0;  // disarms
  if (next) {
    const std::uint64_t now = running_ns();
    after = *next > now ? *next - now : 1;
  }
  return worded(kernel::timerfd_settime(timer_, after), "the supervisor's loop");
}

std::uint64_t Run::Loop::running_ns() const { return clock_.running_ns(kernel::monotonic_ns()); }

void Run::Loop::kill_run() {
  if (!init_pidfd_.valid()) return;
  if (observer_) observer_->look_at_all();
  // Its end alone would end nothing. It ends the run when nobody holds its life socket; stopped it would not see that.
  if (has_warden_) {
    close(life_);
    static_cast<void>(kernel::pidfd_send_signal(init_pidfd_, SIGCONT));
    if (target_pidfd_.valid()) static_cast<void>(kernel::pidfd_send_signal(target_pidfd_, SIGKILL));
    return;
  }
  const auto sent = kernel::pidfd_send_signal(init_pidfd_, SIGKILL);
  if (!sent && sent.error().code != ESRCH) close(life_);  // init exits by this as well
}

void Run::Loop::end_run(plan::EndedBy reason, int signal) {
  static_cast<void>(on_life());  // it may have ended by itself just now
  progress_.killed(reason, signal);
  kill_run();
}

base::Result<void> Run::Loop::on_init_end() {
  const auto end = end_of(kernel::waitid(P_PIDFD, static_cast<id_t>(init_pidfd_.get()), WEXITED | WNOHANG | __WALL));
  close(init_pidfd_);
  // A warden that was killed has ended nothing.
  if (has_warden_ && target_pidfd_.valid()) static_cast<void>(kernel::pidfd_send_signal(target_pidfd_, SIGKILL));
  if (orphans_) orphans_->end_all();
  CORDON_OK(on_life());
  const auto parting = progress_.was_killed() ? egress::Parting::kAtOnce : egress::Parting::kWhenDelivered;
  if (outlet_) outlet_->ask_to_finish(parting);
  if (agent_) agent_->ask_to_finish();
  // A key that ended the child before its execve may arrive here a moment later.
  if (signals_) CORDON_OK(on_signals());
  CORDON_OK(on_control());
  CORDON_OK(on_life());
  out_.drain();
  error_.drain();
  finish(end);
  return {};
}

void Run::Loop::finish(const ProcessEnd& init) {
  settle_limits(init);
  outcome_ = progress_.finish(init, clock_.running_ns(kernel::monotonic_ns()) / kNsPerMs);
  outcome_->asked_to_end = policy_.requested();
  outcome_->exec_attempts = gate_.attempts();
  outcome_->exec_attempts_total = gate_.total();
  if (observer_) observer_->finish(*outcome_);
  group_.reset();
  holds_.reset();
  overlay_marks_.remove();
  mounts_.close();  // the last word for the namespace: the kernel takes its mounts apart here
  if (outlet_) {
    outlet::Outlet::Counted counted = outlet_->finish();
    outcome_->destinations = std::move(counted.destinations);
    outcome_->inbound = std::move(counted.inbound);
    judge_farewell();
  }
  if (agent_) outcome_->agent = agent_->finish();
  give_back();
  mounted();
}

void Run::Loop::give_back() {
  end_asking();
  const bool killed = !outcome_ || outcome_->signal != 0;
  if (terminal_) terminal_->restore(killed ? OwnTerminal::TargetEnd::kKilled : OwnTerminal::TargetEnd::kByItself);
  terminal_.reset();
  signals_.reset();
}

void Run::Loop::abandon() {
  listener_.reset();  // whoever waits for an answer gets ENOSYS
  end_asking();
  outlet_.reset();
  agent_.reset();
  if (!init_pidfd_.valid()) return holds_.reset();
  kill_run();
  close(life_);
  std::array<pollfd, 1> ended{pollfd{.fd = init_pidfd_.get(), .events = POLLIN, .revents = 0}};
  while (true) {
    const auto n = kernel::poll(ended, -1);
    if (n || n.error().code != EINTR) break;
  }
  static_cast<void>(kernel::waitid(P_PIDFD, static_cast<id_t>(init_pidfd_.get()), WEXITED | WNOHANG | __WALL));
  close(init_pidfd_);
  group_.reset();
  holds_.reset();
  overlay_marks_.remove();
  give_back();
}

}  // namespace cordon::enforce::supervise
