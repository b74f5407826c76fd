#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "plan/wire.h"

namespace cordon::report {
namespace {

using plan::Layer;
using plan::LayerState;

constexpr std::array kLayers = {Layer::kFilesystem,  Layer::kProcesses, Layer::kNetwork, Layer::kExec,
                                Layer::kSystemCalls, Layer::kLandlock,  Layer::kLimits,  Layer::kPrivileges};

constexpr std::string_view kExecve = "execve";

bool is_execute(const plan::Step& step) { return std::holds_alternative<plan::step::Execute>(step.act); }

Failure failure_of(const plan::Plan& plan, const base::Error& error) {
  Failure failure{.error = error, .step = {}, .reason = {}, .at = {}};
  if (error.step.value == 0 || error.step.value > plan.steps.size()) return failure;
  const plan::Step& step = plan.at(error.step);
  failure.step = plan::step_name(step.act);
  failure.reason = step.reason;
  failure.at = step.at;
  failure.layer = step.layer;
  const auto* execute = std::get_if<plan::step::Execute>(&step.act);
  if (execute != nullptr && error.operation == kExecve) failure.error.subject = execute->path;
  return failure;
}

void note_verifications(std::vector<LayerLine>& layers, const plan::Outcome& outcome) {
  for (LayerLine& line : layers) {
    const auto concerns = [&](const plan::Verification& check) { return check.layer == line.layer; };
    const bool any = std::ranges::any_of(outcome.verifications, concerns);
    const auto broken =
        std::ranges::find_if(outcome.verifications, [&](const auto& check) { return concerns(check) && !check.held; });
    if (broken != outcome.verifications.end()) {
      line.state = LayerState::kDegraded;
      line.detail = broken->check + " did not hold";
    } else {
      line.verified = any && outcome.executed && line.state == LayerState::kEnforced;
    }
  }
}

void note_lapses(std::vector<LayerLine>& layers, const std::vector<plan::Lapse>& lapses) {
  for (const plan::Lapse& lapse : lapses)
    for (LayerLine& line : layers)
      if (line.layer == lapse.layer) {
        line.state = LayerState::kDegraded;
        line.verified = false;
        line.detail = lapse.what;
      }
}

/// What stood in the way is named on its layer, so that `report.layers` of a refusal says where the host fell short.
void note_failure(Report& report) {
  if (!report.failure || report.ending != Ending::kNotSetUp) return;
  for (LayerLine& line : report.layers)
    if (line.layer == report.failure->layer && line.state != LayerState::kNotRequested) {
      line.state = LayerState::kUnavailable;
      line.detail = base::to_string(report.failure->error);
    }
}

/// "host:port"; IPv6 in brackets.
std::string destination_text(const plan::Destination& one) {
  const std::string host = one.host.contains(':') ? "[" + one.host + "]" : one.host;
  return one.port == 0 ? host : fmt::format("{}:{}", host, one.port);
}

/// Quoted where YAML would read something else (an IPv6 address has colons).
std::string yaml_host(const std::string& host) {
  const bool plain = std::ranges::all_of(
      host, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-'; });
  return plain ? host : base::quote(host);
}

bool is_address(const std::string& host) {
  return host.contains(':') || std::ranges::all_of(host, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

/// A destination that no rule covers, and the rule that would, if any can; names first, since people write those. A
/// name that was only asked for would have been connected to next, on a port that nobody knows.
void note_network(Report& report) {
  std::vector<plan::Destination> all = report.destinations;
  std::ranges::stable_sort(all, {}, [](const plan::Destination& one) { return is_address(one.host); });
  for (const plan::Destination& one : all) {
    const bool denied = one.reach == plan::Reach::kDenied || one.reach == plan::Reach::kGateDenied;
    if (!denied || one.host.empty()) continue;
    const bool asked = one.way == plan::Way::kDns;
    // Whose name an address has: nobody connects to that one.
    const bool can_be_granted = one.why.empty() && !one.host.ends_with(".arpa");
    report.denials.push_back({asked ? "look-up" : "connect", destination_text(one), one.count,
                              can_be_granted ? network_grant(one.host, asked ? 0 : one.port) : std::string()});
    report.denials_total += one.count;
  }
}

/// The kernel tells nobody what a list refused; a shell says it by its exit code.
void note_exec_list(const plan::Plan& plan, Report& report) {
  if (report.ending != Ending::kExited || report.exit_code != 126) return;
  const auto lists = [](const plan::Step& step) {
    const auto* filter = std::get_if<plan::step::Filter>(&step.act);
    return filter != nullptr && filter->name == plan::wire::kExecList;
  };
  const auto step = std::ranges::find_if(plan.steps, lists);
  if (step == plan.steps.end()) return;
  report.notes.push_back(
      {.code = "exec-list-126",
       .text = "a shell answers 126 where a program may not be executed: one that is not in the list under "
               "exec, or a helper that a listed program starts; add it to the list by its path",
       .at = step->at});
}

std::optional<plan::step::Cgroup> limits_of(const plan::Plan& plan) {
  for (const plan::Step& step : plan.steps)
    if (const auto* group = std::get_if<plan::step::Cgroup>(&step.act)) return *group;
  return std::nullopt;
}

Ending ending_of(const plan::Plan& plan, const plan::Outcome& outcome) {
  if (outcome.setup_error) {
    const std::uint16_t step = outcome.setup_error->step.value;
    const bool at_execute = step > 0 && step <= plan.steps.size() && is_execute(plan.at(outcome.setup_error->step));
    // Another call that failed for that step says nothing of the program: the host refused it.
    return at_execute && outcome.setup_error->operation == kExecve ? Ending::kNotExecuted : Ending::kNotSetUp;
  }
  if (!outcome.lapses.empty() || outcome.ended_by == plan::EndedBy::kLapse) return Ending::kLapsed;
  switch (outcome.ended_by) {
    case plan::EndedBy::kTimeout:
      return Ending::kTimeLimit;
    case plan::EndedBy::kMemory:
      return Ending::kMemoryLimit;
    case plan::EndedBy::kSignal:
      return Ending::kOnRequest;
    case plan::EndedBy::kLapse:
    case plan::EndedBy::kTarget:
      break;
  }
  if (!outcome.executed) return Ending::kNotSetUp;
  return outcome.signal != 0 ? Ending::kSignalled : Ending::kExited;
}

int exit_code_of(Ending ending, const plan::Outcome& outcome) {
  switch (ending) {
    case Ending::kExited:
      return outcome.exit_code;
    case Ending::kSignalled:
    case Ending::kMemoryLimit:
    case Ending::kOnRequest:
      return outcome.signal != 0 ? 128 + outcome.signal : outcome.exit_code;
    case Ending::kTimeLimit:
    case Ending::kLapsed:
      return 124;
    case Ending::kNotExecuted:
      return 126;
    case Ending::kNotSetUp:
      return 125;
  }
  CORDON_CHECK(false);
}

}  // namespace

bool is_untunneled(const plan::Destination& one) {
  return one.reach == plan::Reach::kMalformed && one.way == plan::Way::kProxy && !one.host.empty();
}

std::string network_grant(const std::string& host, std::uint16_t port) {
  const std::string text = port == 0 ? "PORT" : fmt::format("'{}'", port);
  return fmt::format("network: [{{host: {}, port: {}}}]", yaml_host(host), text);
}

std::string as_flag(const std::string& grant) {
  const auto inner = [&](std::string_view before, std::string_view after) -> std::optional<std::string> {
    if (!grant.starts_with(before) || !grant.ends_with(after)) return std::nullopt;
    return grant.substr(before.size(), grant.size() - before.size() - after.size());
  };
  if (const auto path = inner("read: [", "]")) return "--allow-read " + *path;
  if (const auto path = inner("write: [", "]")) return "--allow-write " + *path;
  if (const auto port = inner("host_services: [", "]")) return "--host-service " + *port;
  const auto rule = inner("network: [{host: ", "}]");
  constexpr std::string_view kPort = ", port: ";
  const std::size_t at = rule ? rule->rfind(kPort) : std::string::npos;
  if (at == std::string::npos) return grant;
  std::string port = rule->substr(at + kPort.size());
  std::erase(port, '\'');
  const std::string host = rule->substr(0, at);
  return "--allow-domain " + host + (port == "PORT" || port == "443" ? "" : ":" + port);
}

std::vector<LayerLine> planned_layers(const plan::Plan& plan) {
  std::vector<LayerLine> lines;
  for (Layer layer : kLayers) {
    const bool requested = std::ranges::find(plan.requested, layer) != plan.requested.end();
    LayerLine line{.layer = layer,
                   .tier = plan::tier_of(layer),
                   .state = requested ? LayerState::kEnforced : LayerState::kNotRequested,
                   .detail = {},
                   .mend = {}};
    for (const plan::Degradation& degradation : plan.degradations) {
      if (degradation.layer != layer || (requested && degradation.state <= line.state)) continue;
      line.state = degradation.state;
      line.detail = degradation.what;
      line.mend = degradation.mend;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

bool fully_enforced(const std::vector<LayerLine>& layers) {
  const auto short_of = [](const LayerLine& line) {
    return line.state == LayerState::kDegraded || line.state == LayerState::kUnavailable;
  };
  return !layers.empty() && std::ranges::none_of(layers, short_of);
}

namespace {

/// The paths are many, and no document has them.
plan::Observations without_paths(const plan::Observations& from) {
  return {.watching = from.watching,
          .paths = {},
          .programs = from.programs,
          .lost = from.lost,
          .losses = from.losses,
          .complete = from.complete};
}

}  // namespace

Report make_report(const plan::Plan& plan, const plan::Outcome& outcome) {
  Report report;
  report.ending = ending_of(plan, outcome);
  report.exit_code = exit_code_of(report.ending, outcome);
  report.signal = outcome.signal;
  report.executed = outcome.executed;
  report.engine = plan.engine;
  report.layers = planned_layers(plan);
  note_verifications(report.layers, outcome);
  note_lapses(report.layers, outcome.lapses);
  report.verifications = outcome.verifications;
  for (const plan::ExecAttempt& attempt : outcome.exec_attempts)
    report.denials.push_back({"exec", attempt.path, attempt.count, "exec: all"});
  report.denials_total = outcome.exec_attempts_total;
  report.destinations = outcome.destinations;
  report.inbound = outcome.inbound;
  report.agent = outcome.agent;
  note_network(report);
  report.observed = without_paths(outcome.observations);
  report.lapses = outcome.lapses;
  report.degradations = plan.degradations;
  report.notes = plan.notes;
  note_exec_list(plan, report);
  report.accepted_aliases = plan.accepted_aliases;
  if (outcome.setup_error) report.failure = failure_of(plan, *outcome.setup_error);
  note_failure(report);
  report.limits = limits_of(plan);
  report.limits_use = outcome.limits;
  report.timeout_ms = plan.timeout_ms;
  report.wall_ms = outcome.wall_ms;
  return report;
}

std::string_view ending_code(Ending ending) {
  switch (ending) {
    case Ending::kExited:
      return "exited";
    case Ending::kSignalled:
      return "signalled";
    case Ending::kTimeLimit:
      return "time-limit";
    case Ending::kMemoryLimit:
      return "memory-limit";
    case Ending::kOnRequest:
      return "ended-on-request";
    case Ending::kLapsed:
      return "promise-lapsed";
    case Ending::kNotExecuted:
      return "not-executed";
    case Ending::kNotSetUp:
      return "not-set-up";
  }
  CORDON_CHECK(false);
}

}  // namespace cordon::report
