#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/verdict.h"
#include "report/json.h"
#include "report/plan_view.h"

namespace cordon::cli {

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
