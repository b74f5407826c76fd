// The Loop and what of a run leads out of it (enforce/outlet).
#include <fmt/format.h>

#include <csignal>
#include <span>
#include <utility>

#include "base/error.h"
#include "enforce/supervise/loop.h"
#include "enforce/supervise/process_file.h"
#include "kernel/event.h"
#include "kernel/process.h"
#include "kernel/socket.h"

namespace cordon::enforce::supervise {
namespace {

plan::Lapse lapse_of(const base::Error& why, std::string_view consequence) {
  return {.layer = plan::Layer::kNetwork,
          .what = fmt::format("cordon-broker was lost ({}{}), {}", why.detail,
                              why.code == 0 ? "" : ", " + base::errno_name(why.code), consequence),
          .mend = {},
          .step = why.step,
          .target = {}};
}

}  // namespace

base::Result<void> Run::Loop::take_socket(base::StepId step, base::Fd socket) {
  if (agent_ && agent_->step() == step) {
    if (auto taken = agent_->take_socket(step, std::move(socket)); !taken) progress_.fail_setup(taken.error());
    return {};
  }
  if (!outlet_) return {};  // not of the plan: progress_ has refused it
  if (auto taken = outlet_->take_socket(step, std::move(socket)); !taken) progress_.fail_setup(taken.error());
  return {};
}

base::Result<void> Run::Loop::on_outlet() {
  using State = outlet::Outlet::State;
  outlet_->service();
  for (const plan::Destination& one : outlet_->take_blocked())
    if (on_blocked_) on_blocked_(one);
  if (const auto init = init_pidfd_.valid() && progress_.is_executed() ? pid_of(init_pidfd_) : std::nullopt)
    listeners_.look(*init, kernel::monotonic_ns());
  ask();
  if (outlet_->state() == State::kLost) {
    outlet_lost();
  } else {
    let_go_on();
  }
  return {};
}

/// A relay that is lost takes the agent with it, which is closed: the report says so, and the run goes on.
void Run::Loop::on_agent() {
  using State = outlet::AgentRelay::State;
  agent_->service();
  if (agent_->state() == State::kServing) return let_go_on();
  if (agent_->state() != State::kOver && agent_->state() != State::kLost) return;
  static_cast<void>(kernel::epoll_remove(epoll_, agent_->poll_fd()).has_value());
  if (agent_->state() == State::kLost) progress_.fail_setup(agent_->error());
}

base::Result<void> Run::Loop::make_asker(const Options& options) {
  const auto init = pid_of(init_pidfd_);
  if (!options.at_terminal || !outlet_ || !signals_ || !init) return {};
  CORDON_TRY(asker_, Asker::make(*options.at_terminal, *init));
  return watch(Source::kAsker, asker_->poll_fd());
}

void Run::Loop::ask() {
  for (outlet::Asked& asked : outlet_->take_questions()) {
    const auto answer = [this, id = asked.id](outlet::GateAnswer given) {
      if (outlet_) outlet_->answer(id, given);
    };
    if (asker_) {
      asker_->add(std::move(asked));
    } else if (on_question_) {
      on_question_(asked, answer);
    } else {
      answer(outlet::GateAnswer::kNo);
    }
  }
  for (const std::uint64_t id : outlet_->take_gone())
    if (asker_) asker_->gone(id);
  give_answers();
}

void Run::Loop::on_asker() {
  if (asker_) asker_->service();
  give_answers();
}

/// The terminal is as the target left it, and what was stopped goes on.
void Run::Loop::end_asking() {
  if (!asker_) return;
  static_cast<void>(kernel::epoll_remove(epoll_, asker_->poll_fd()).has_value());
  asker_.reset();
}

void Run::Loop::give_answers() {
  if (!asker_ || !outlet_) return;
  for (const Asker::Given& given : asker_->take_answers()) outlet_->answer(given.id, given.answer);
}

/// Whoever sends a signal wants something else than to answer.
void Run::Loop::dismiss_questions() {
  if (!asker_) return;
  asker_->dismiss();
  give_answers();
}

/// A target that has ended by itself relies on the broker for what it sent last. Of a run that was ended by force
/// nothing more was to pass.
void Run::Loop::judge_farewell() {
  const bool by_itself = outcome_->executed && outcome_->ended_by == plan::EndedBy::kTarget;
  if (!by_itself || outlet_->state() != outlet::Outlet::State::kLost) return;
  outcome_->ended_by = plan::EndedBy::kLapse;
  outcome_->lapses.push_back(
      lapse_of(outlet_->error(), "so what the target sent or was sent last may not have arrived"));
}

/// Before the target: it does not start. After: what it was promised of the network is not held any more, though
/// nothing passes.
void Run::Loop::outlet_lost() {
  const base::Error& why = outlet_->error();
  static_cast<void>(kernel::epoll_remove(epoll_, outlet_->poll_fd()).has_value());
  end_asking();
  if (!told_to_go_) return progress_.fail_setup(why);
  static_cast<void>(on_life());  // it may have ended by itself just now
  progress_.lapsed(lapse_of(why, "so nothing of the network could be reached"));
  end_run(plan::EndedBy::kLapse, SIGKILL);
}

}  // namespace cordon::enforce::supervise
