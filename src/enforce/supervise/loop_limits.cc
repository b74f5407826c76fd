// The Loop and the run's limits: its time, and its control group (step::Cgroup).
#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "enforce/supervise/loop.h"
#include "enforce/supervise/process_file.h"
#include "kernel/file.h"
#include "kernel/socket.h"

namespace cordon::enforce::supervise {
namespace {

/// An Error of the group's, as one of the step that asked for it.
base::Result<void> of_step(base::Result<void> done, base::StepId step) {
  if (done) return done;
  base::Error error = std::move(done).error();
  error.step = step;
  return base::fail(std::move(error));
}

}  // namespace

void Run::Loop::on_time() {
  std::array<std::byte, 8> expirations{};
  static_cast<void>(kernel::read(timer_, expirations));
  armed_for_.reset();
  react(policy_.due(running_ns()));
  const TimeLimit::Act act = limit_.due(running_ns());
  if (act == TimeLimit::Act::kNothing) return;
  progress_.timed_out();
  if (act == TimeLimit::Act::kKill || !progress_.is_executed()) return end_run(plan::EndedBy::kTimeout, SIGKILL);
  send_to_target(SIGTERM);
}

/// Before the launcher is told the plan: what cannot be held refuses the run before anything of it is there.
base::Result<void> Run::Loop::make_group(const plan::Plan& plan, const std::string& run_id) {
  const auto at = std::ranges::find_if(
      plan.steps, [](const plan::Step& step) { return std::holds_alternative<plan::step::Cgroup>(step.act); });
  if (at == plan.steps.end()) return {};
  group_step_ = base::StepId{static_cast<std::uint16_t>(at - plan.steps.begin() + 1)};
  const auto& wanted = std::get<plan::step::Cgroup>(at->act);
  std::string id = run_id;
  if (id.empty()) {
    CORDON_TRY(id, cgroup::new_id());
  }
  auto made = cgroup::Group::make(
      wanted.way, {.memory_bytes = wanted.memory_bytes, .cpu_hundredths = wanted.cpu_hundredths, .pids = wanted.pids},
      id);
  if (!made) return of_step(base::fail(std::move(made).error()), group_step_);
  group_.emplace(std::move(*made));
  return {};
}

base::Result<void> Run::Loop::admit(pid_t init) { return of_step(group_->admit(init), group_step_); }

/// The child that will be the target waits for our word: nothing of the target's runs before this.
void Run::Loop::attest_limits() {
  if (!group_) return;
  const auto init = pid_of(init_pidfd_);
  if (!init || !target_pid_) {
    progress_.fail_setup({.operation = "read",
                          .subject = "/proc/self/fdinfo",
                          .step = group_step_,
                          .detail = "which processes are to be limited cannot be told: /proc must show this process"});
    return;
  }
  const std::array<pid_t, 2> inside{*init, *target_pid_};
  if (auto held = of_step(group_->attest(inside), group_step_); !held) return progress_.fail_setup(held.error());
  limits_stand_ = true;
  let_go_on();
}

/// Once the broker and the relay serve and the limits stand, whichever of them the plan has.
void Run::Loop::let_go_on() {
  const bool serving = !outlet_ || outlet_->state() == outlet::Outlet::State::kServing;
  const bool relaying = !agent_ || agent_->state() >= outlet::AgentRelay::State::kServing;
  if (!serving || !relaying || (group_ && !limits_stand_) || std::exchange(told_to_go_, true)) return;
  const launch::Message go{.kind = launch::Kind::kGo};
  // A child that is gone already says so by itself.
  static_cast<void>(kernel::send_message(control_, std::as_bytes(std::span(&go, 1))).has_value());
}

/// Read before the group is taken away, and compared once more with what was set.
void Run::Loop::settle_limits(const ProcessEnd& init) {
  if (!group_) return;
  plan::LimitsUse use = group_->use();
  use.step = group_step_;
  progress_.used(use, init);
  const auto still = group_->attest_limits();
  if (still || !progress_.is_executed()) return;
  progress_.found_lapsed(
      {.layer = plan::Layer::kLimits,
       .what = "a limit was changed from outside while the target ran: " + base::to_string(still.error()),
       .mend = {},
       .step = group_step_,
       .target = {}});
}

}  // namespace cordon::enforce::supervise
