#include "enforce/supervise/progress.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "enforce/launch/start.h"

namespace cordon::enforce::supervise {
namespace {

/// How many the launcher hands out.
std::size_t sockets_of(const plan::Plan& plan) {
  std::size_t out = 0;
  for (const plan::Step& step : plan.steps) {
    if (std::holds_alternative<plan::step::Listen>(step.act)) ++out;
    if (std::holds_alternative<plan::step::AgentSocket>(step.act)) ++out;
    if (const auto* pool = std::get_if<plan::step::SocketPool>(&step.act)) out += pool->count;
  }
  return out;
}

std::string worded(const ProcessEnd& end) {
  if (end.signal) return fmt::format("was killed by signal {}", *end.signal);
  if (end.exit_code) return fmt::format("exited with {}", *end.exit_code);
  return "is gone, how is not known";
}

}  // namespace

bool is_notified(const plan::Plan& plan) {
  return plan.exec_closed || plan.watching != plan::Watching::kNothing || plan.serves_attributes;
}

ProcessEnd ProcessEnd::from_wait_status(int status) {
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status), .core_dumped = WCOREDUMP(status)};
  return {.exit_code = WEXITSTATUS(status)};
}

Progress::Progress(const plan::Plan& plan)
    : notified_(is_notified(plan)), listens_(sockets_of(plan)), mounts_came_(plan.engine == plan::Engine::kLandlock) {}

void Progress::fail_setup(base::Error error) {
  must_kill_ = true;
  if (!outcome_.setup_error) outcome_.setup_error = std::move(error);
}

void Progress::fail_protocol(std::string detail) {
  fail_setup({.operation = "recvmsg", .subject = "the launcher's report", .detail = std::move(detail)});
}

void Progress::on_control(const launch::Message& message, bool has_fd) {
  switch (message.kind) {
    case launch::Kind::kInitStarted:
      return;
    case launch::Kind::kStepFailed:
      return step_failed(message);
    case launch::Kind::kTargetStarted:
      if (!has_fd) return fail_protocol("the target's process descriptor is missing");
      target_started_ = true;
      return;
    case launch::Kind::kMounts:
      if (!has_fd || mounts_came_) return fail_protocol("expected one mount table");
      mounts_came_ = true;
      return;
    case launch::Kind::kListening:
      if (!has_fd || listens_ == 0) return fail_protocol("expected one socket for each that listens");
      --listens_;
      return;
    case launch::Kind::kVerified:
      return verified(message);
    case launch::Kind::kListener:
      if (!has_fd || listener_came_) return fail_protocol("expected one seccomp listener");
      listener_came_ = true;
      return;
    case launch::Kind::kReady:
      return ready();
    case launch::Kind::kExecFailed:
      if (!outcome_.setup_error) {
        outcome_.setup_error = {.operation = "execve", .code = message.code, .step = base::StepId{message.step}};
      }
      return;
    case launch::Kind::kPlanRefused:
      return fail_setup({.operation = "plan", .subject = "cordon-launch", .detail = message.text.data()});
    case launch::Kind::kPlan:
    case launch::Kind::kBeginning:
    case launch::Kind::kGo:
    case launch::Kind::kTargetExited:
    case launch::Kind::kTargetStopped:
    case launch::Kind::kTargetContinued:
    case launch::Kind::kTimeLimit:
      break;
  }
  fail_protocol(fmt::format("message {} does not belong here", static_cast<unsigned>(message.kind)));
}

void Progress::step_failed(const launch::Message& message) {
  fail_setup({.operation = message.text.data(), .code = message.code, .step = base::StepId{message.step}});
}

void Progress::verified(const launch::Message& message) {
  outcome_.verifications.push_back({.check = std::string(launch::check_name(message.check)),
                                    .layer = launch::check_layer(message.check),
                                    .step = base::StepId{message.step},
                                    .held = message.held == 1,
                                    .code = message.code});
  if (message.held == 1 || not_held_) return;
  not_held_ = base::Error{.operation = "verify",
                          .subject = std::string(launch::check_name(message.check)),
                          .code = message.code,
                          .step = base::StepId{message.step},
                          .detail = "what must fail did not"};
}

void Progress::ready() {
  ready_ = true;
  // The child ends by itself where a check does not hold. That it did is not taken on trust.
  if (not_held_) return fail_setup(*not_held_);
  if (!target_started_) return fail_protocol("the target's process descriptor is missing");
  if (listens_ != 0) return fail_protocol("a socket that listens is missing");
  if (!mounts_came_) return fail_protocol("the mount table is missing");
  if (notified_ && !listener_came_) return fail_protocol("calls are to be notified, and no seccomp listener came");
}

void Progress::on_control_closed() {
  if (outcome_.setup_error) return;
  if (ready_) {
    outcome_.executed = true;
  } else {
    silent_ = true;
  }
}

void Progress::on_life(const launch::Message& message) {
  if (message.kind == launch::Kind::kTargetExited && !target_end_) {
    target_end_ = ProcessEnd::from_wait_status(message.code);
  }
  if (message.kind == launch::Kind::kTimeLimit) {
    timed_out();
    killed(plan::EndedBy::kTimeout, SIGKILL);
  }
}

void Progress::killed(plan::EndedBy reason, int signal) {
  if (killed_ || (target_end_ && outcome_.executed)) return;
  killed_ = reason;
  killed_signal_ = signal;
}

void Progress::lapsed(plan::Lapse lapse) {
  if (!killed_ && !target_end_) outcome_.lapses.push_back(std::move(lapse));
}

void Progress::timed_out() {
  if (!target_end_) outcome_.ended_by = plan::EndedBy::kTimeout;
}

/// At the limit the kernel kills everything at once, init with it. Init may have told of the target's end before.
void Progress::used(plan::LimitsUse use, const ProcessEnd& init) {
  out_of_memory_ = use.memory_kills != 0 && !killed_ && init.signal == SIGKILL;
  outcome_.limits = use;
}

void Progress::explain_silence(const ProcessEnd& init) {
  if (outcome_.setup_error || killed_) return;
  if (out_of_memory_) {
    outcome_.setup_error = base::Error{.operation = "limits.memory",
                                       .subject = "cordon-launch",
                                       .step = outcome_.limits->step,
                                       .detail = "the limit was reached before the program was started"};
    return;
  }
  const std::string detail = target_end_ ? "the target's child " + worded(*target_end_) + " before its execve"
                                         : "init " + worded(init) + " before the target was started";
  outcome_.setup_error =
      base::Error{.operation = "launch", .subject = "cordon-launch", .detail = "ended without a word: " + detail};
}

plan::Outcome Progress::finish(const ProcessEnd& init, std::uint64_t wall_ms) {
  outcome_.wall_ms = wall_ms;
  if (!outcome_.executed) explain_silence(init);
  if (!outcome_.executed && killed_) {
    outcome_.ended_by = *killed_;
    outcome_.signal = killed_signal_;
  } else if (out_of_memory_ && outcome_.executed) {
    outcome_.ended_by = plan::EndedBy::kMemory;
    outcome_.signal = SIGKILL;
  } else if (target_end_) {
    outcome_.exit_code = target_end_->exit_code.value_or(0);
    outcome_.signal = target_end_->signal.value_or(0);
    outcome_.core_dumped = target_end_->core_dumped;
  } else {
    outcome_.signal = SIGKILL;
    if (killed_ && outcome_.ended_by != plan::EndedBy::kTimeout) outcome_.ended_by = *killed_;
    if (!killed_ && outcome_.executed) lapse();
  }
  return outcome_;
}

void Progress::lapse() {
  outcome_.ended_by = plan::EndedBy::kLapse;
  plan::Lapse killed;
  killed.layer = plan::Layer::kProcesses;
  killed.what = "init was killed from outside";
  outcome_.lapses.push_back(std::move(killed));
}

}  // namespace cordon::enforce::supervise
