#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/state.h"
#include "cli/verdict.h"
#include "report/json.h"
#include "report/plan_view.h"

namespace cordon::cli {

namespace {

/// What a command's run would be given, and from where each of it comes.
std::string summary(const CommandRun& run) {
  const policy::Command& command = *run.policy.command;
  const char* mode = command.mode == policy::WorkspaceMode::kView    ? "view"
                     : command.mode == policy::WorkspaceMode::kLive  ? "live"
                     : command.mode == policy::WorkspaceMode::kWrite ? "write"
                                                                     : "review";
  std::string out = fmt::format("profiles   {}\n", policy::ecosystem::why(run.detection));
  out += fmt::format("workspace  {}  {}{}\n", base::shown(run.workspace), mode,
                     run.because.empty() ? "" : fmt::format("  (root by {})", base::shown(run.because)));
  const auto line = [&](std::string_view what, const std::string& value, const std::string& origin) {
    out += fmt::format("{:<10} {}  {}\n", what, base::shown(value), base::shown(origin));
  };
  for (const policy::PathGrant& grant : run.policy.read) line("read", grant.path, grant.at.source);
  for (const policy::PathGrant& grant : run.policy.write) line("write", grant.path, grant.at.source);
  for (const policy::PathGrant& grant : run.policy.deny) line("hide", grant.path, grant.at.source);
  for (const policy::PrivatePlace& place : command.places) line("own", place.target, place.reason);
  for (const policy::NetworkRule& rule : run.policy.network)
    line("reach", fmt::format("{}:{}", rule.host, rule.port), rule.at.source);
  for (const policy::EnvGrant& grant : run.policy.env) line("env", grant.name, grant.at.source);
  return out + "\n";
}

int inspect_command(Context& context, const Arguments& arguments, Host& host, const policy::Posture& posture) {
  const bool json = arguments.has("--json");
  const auto stopped = [&](const Stop& why) {
    return refuse(context, arguments.command, json, why.refused, why.source, "a run would be refused");
  };
  auto run = set_up_command(context.invocation, arguments, host, posture, new_run_id(), context.output);
  if (!run) return stopped(run.error());
  auto decided = verdict(run->policy, host, Probing::kProbe);
  if (!decided) return stopped(decided.error());
  if (const auto* refusal = std::get_if<plan::Refusal>(&*decided)) return stopped(stop(report::refused(*refusal)));
  if (!json) context.output.print(summary(*run));
  show_plan(context, std::get<plan::Plan>(*decided), json);
  return context.output.broken() ? kRefused : 0;
}

}  // namespace

int inspect(Context& context, const Arguments& arguments) {
  const Invocation& invocation = context.invocation;
  const bool json = arguments.has("--json");
  const auto stopped = [&](const Stop& why) {
    return refuse(context, arguments.command, json, why.refused, why.source, "a run would be refused");
  };
  const auto posture = posture_of(invocation, arguments);
  if (!posture) return stopped(posture.error());
  auto host = open_host(invocation);
  if (!host) return stopped(host.error());
  if (arguments.dashes) return inspect_command(context, arguments, *host, *posture);
  auto opened = open(invocation, host->facts, {arguments.operand(), *posture, arguments.values("--env")});
  if (!opened) return stopped(opened.error());
  auto decided = verdict(opened->policy, *host, Probing::kProbe);
  if (!decided) return stopped(decided.error());
  if (const auto* refusal = std::get_if<plan::Refusal>(&*decided))
    return stopped(stop(report::refused(*refusal), opened->file.text));
  show_plan(context, std::get<plan::Plan>(*decided), json);
  return context.output.broken() ? kRefused : 0;
}

void show_plan(Context& context, const plan::Plan& plan, bool json) {
  context.output.print(json ? report::document(report::plan_json(plan)) : report::plan_text(plan));
}

}  // namespace cordon::cli
