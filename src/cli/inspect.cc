#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/config_files.h"
#include "cli/state.h"
#include "cli/verdict.h"
#include "report/json.h"
#include "report/plan_view.h"

namespace cordon::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Line {
  std::string what, value, origin;
};

std::vector<Line> lines_of(const CommandRun& run) {
  std::vector<Line> out;
  const auto paths = [&](const char* what, const std::vector<policy::PathGrant>& grants) {
    for (const policy::PathGrant& grant : grants) {
      const bool executes = std::ranges::find(run.policy.wx, grant) != run.policy.wx.end();
      out.push_back({executes ? "write and execute" : what, grant.path, origin_words(grant.at)});
    }
  };
  paths("read", run.policy.read);
  paths("write", run.policy.write);
  paths("hide", run.policy.deny);
  for (const policy::PrivatePlace& place : run.policy.command->places)
    out.push_back({"own", place.target, place.reason});
  for (const policy::NetworkRule& rule : run.policy.network)
    out.push_back({"reach", fmt::format("{}:{}", rule.host, rule.port), origin_words(rule.at)});
  for (const policy::Text& port : run.policy.host_services)
    out.push_back({"service", port.value, origin_words(port.at)});
  for (const policy::Text& allowance : run.policy.allow)
    out.push_back({"allow", allowance.value, origin_words(allowance.at)});
  for (const policy::Text& agent : run.policy.agent) out.push_back({"agent", agent.value, origin_words(agent.at)});
  for (const policy::Text& device : run.policy.devices)
    out.push_back({"device", device.value, origin_words(device.at)});
  for (const policy::Text& port : run.policy.publish) out.push_back({"publish", port.value, origin_words(port.at)});
  for (const policy::Text& block : run.policy.posture.allow_address)
    out.push_back({"address", block.value, origin_words(block.at)});
  for (const policy::EnvGrant& grant : run.policy.env) out.push_back({"env", grant.name, origin_words(grant.at)});
  for (const policy::config::Ask& ask : run.ignored)
    out.push_back({"ignored", policy::config::in_words(ask), origin_words(ask.at)});
  return out;
}

/// What a command's run would be given, and from where each of it comes.
std::string summary(const CommandRun& run) {
  const policy::Command& command = *run.policy.command;
  const char* mode = command.mode == policy::WorkspaceMode::kView    ? "view"
                     : command.mode == policy::WorkspaceMode::kLive  ? "live"
                     : command.mode == policy::WorkspaceMode::kWrite ? "write"
                                                                     : "review";
  std::string out =
      fmt::format("profiles   {}\n", run.chosen.empty() ? policy::ecosystem::why(run.detection)
                                                        : fmt::format("{} (--profile): {}", base::shown(run.chosen),
                                                                      base::join(run.effective.profiles, ", ")));
  out += fmt::format("workspace  {}  {}{}\n", base::shown(run.workspace), mode,
                     run.because.empty() ? "" : fmt::format("  (root by {})", base::shown(run.because)));
  for (const Line& one : lines_of(run))
    out += fmt::format("{:<10} {}  {}\n", one.what, base::shown(one.value), base::shown(one.origin));
  for (const plan::Note& note : run.notes) out += fmt::format("note       {}\n", note.text);
  return out + "\n";
}

/// The same for a program. Values of variables are never shown.
Json summary_json(const CommandRun& run) {
  Json out = {{"profiles", run.effective.profiles}, {"workspace", run.workspace}};
  for (const Line& one : lines_of(run))
    out[one.what].push_back({{"value", base::escape(one.value)}, {"origin", base::escape(one.origin)}});
  Json notes = Json::array();
  for (const plan::Note& note : run.notes) notes.push_back({{"code", note.code}, {"text", note.text}});
  out["notes"] = std::move(notes);
  return out;
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
  const auto& plan = std::get<plan::Plan>(*decided);
  if (json) {
    Json document = report::plan_json(plan);
    document["command"] = summary_json(*run);
    context.output.print(report::document(document));
  } else {
    context.output.print(summary(*run));
    show_plan(context, plan, false);
  }
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
  if (arguments.dashes && !arguments.after.empty()) {
    if (const auto nothing = not_found(invocation.caller, arguments.after.front())) return stopped(*nothing);
  }
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
