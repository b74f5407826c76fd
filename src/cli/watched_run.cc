#include "cli/watched_run.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>

#include "cli/climbing.h"
#include "cli/launcher.h"
#include "cli/leavings.h"
#include "cli/own_places.h"
#include "cli/replan.h"
#include "enforce/hold/hold.h"
#include "enforce/supervise/supervise.h"
#include "policy/draft/draft.h"
#include "report/report.h"

namespace cordon::cli {
namespace {

namespace supervise = enforce::supervise;

supervise::Options options_for(Context& context, const WatchSettings& settings) {
  supervise::Options options;
  options.launcher = launcher_source();
  options.terminal = supervise::Terminal::kForeground;
  options.keys = supervise::Keys::kSecondEnds;
  // Whatever is reached for is seen and refused; what may be reached stands in the policy.
  options.on_question = [](const enforce::outlet::Asked&,
                           const std::function<void(enforce::outlet::GateAnswer)>& answer) {
    answer(enforce::outlet::GateAnswer::kNever);
  };
  if (settings.input == TargetInput::kEmpty) options.stdin_mode = supervise::StdinMode::kNull;
  if (settings.streams == TargetStreams::kOwn) return options;
  const auto aside = [&context](std::span<const std::byte> chunk) {
    context.output.say({reinterpret_cast<const char*>(chunk.data()), chunk.size()});
  };
  options.streams = supervise::StreamMode::kCallbacks;
  options.on_stdout = aside;
  options.on_stderr = aside;
  return options;
}

base::Result<plan::Outcome, Stop> run_plan(Context& context, Host& host, const plan::Plan& plan,
                                           const WatchSettings& settings) {
  supervise::Options options = options_for(context, settings);
  const std::string state = state_directory(context.invocation.caller, own_home(host.facts));
  if (enforce::hold::Holds::needed_by(plan))
    options.hold_registry = hold_registry(state, host.state, approval_caller(context.invocation));
  options.when_mounted = [&host] { host.session.pins().release(); };
  auto outcome = supervise::run(plan, std::move(options));
  static_cast<void>(clean_holds(state));
  if (!outcome) return base::fail(stop(report::refused(outcome.error(), "supervision-failed", "")));
  return std::move(*outcome);
}

/// What this host says now, of everything that the run named.
base::Result<Host, Stop> ask_about(Context& context, const policy::Policy& policy, const plan::Plan& plan,
                                   plan::Outcome& outcome) {
  CORDON_TRY(Host host, open_host(context.invocation));
  settle_climbs(host, plan, outcome.observations);
  plan::Questions questions;
  questions.paths = policy::draft::paths_to_ask(outcome.observations, plan);
  if (!host.facts.home.empty()) questions.paths.push_back(host.facts.home);
  for (const policy::EnvGrant& grant : policy.env) questions.environment.push_back(grant.name);
  if (auto answered = host.session.answer(questions, host.facts); !answered)
    return base::fail(stop(report::refused(answered.error(), "host-unanswered", "")));
  return host;
}

}  // namespace

std::vector<std::string> early_end(const plan::Outcome& outcome) {
  constexpr int kShellAddsToSignals = 128;
  std::vector<std::string> out;
  for (const plan::Lapse& lapse : outcome.lapses) out.push_back("the run was ended, because " + lapse.what);
  if (outcome.ended_by == plan::EndedBy::kTimeout) out.emplace_back("the time limit ended the run");
  if (outcome.ended_by == plan::EndedBy::kMemory) out.emplace_back("the memory limit ended the run");
  if (outcome.ended_by == plan::EndedBy::kSignal) out.emplace_back("the run was ended on request");
  if (outcome.ended_by == plan::EndedBy::kLapse && outcome.lapses.empty())
    out.emplace_back("a promise lapsed, and the run was ended");
  if (out.empty() && outcome.signal != 0)
    out.push_back(fmt::format("the program was ended by {}", report::signal_name(outcome.signal)));
  if (outcome.signal == SIGSYS || outcome.exit_code == kShellAddsToSignals + SIGSYS)
    out.emplace_back("it made a system call that no run allows, whatever its manifest says");
  return out;
}

base::Result<std::variant<WatchedRun, plan::Refusal>, Stop> watch_run(Context& context, const policy::Policy& policy,
                                                                      const WatchSettings& settings) {
  CORDON_TRY(Host host, open_host(context.invocation));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t began = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  constexpr int kAttempts = 2;  // the second does without overlays that this host refused
  for (int attempt = 1;; ++attempt) {
    CORDON_TRY(planner::Verdict decided, verdict(policy, host, Probing::kProbe));
    if (auto* refusal = std::get_if<plan::Refusal>(&decided)) return std::move(*refusal);
    plan::Plan plan = std::get<plan::Plan>(std::move(decided));
    CORDON_TRY(plan::Outcome outcome, run_plan(context, host, plan, settings));
    if (outcome.setup_error) {
      const std::vector<std::string> overlays = refused_overlays(plan, *outcome.setup_error);
      for (const std::string& source : overlays) host.facts.refused_overlays[source].state = plan::Availability::kNo;
      if (!overlays.empty() && attempt < kAttempts) continue;
      return base::fail(stop(report::refused(report::make_report(plan, outcome))));
    }
    CORDON_TRY(Host after, ask_about(context, policy, plan, outcome));
    return WatchedRun{
        .plan = std::move(plan), .outcome = std::move(outcome), .host = std::move(after), .began_ns = began};
  }
}

}  // namespace cordon::cli
