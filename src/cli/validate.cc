#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/landings.h"
#include "cli/verdict.h"
#include "cli/view.h"
#include "report/json.h"

namespace cordon::cli {
namespace {

void add_findings(const Invocation& invocation, const Opened& opened, report::ManifestView& view) {
  if (opened.stamp == policy::manifest::StampState::kUnapproved) return;
  for (const policy::approval::Finding& finding : findings(invocation, opened)) {
    plan::Note note{finding.code, finding.message, {}};
    if (!finding.remedy.empty()) note.text += "; mend: " + finding.remedy;
    view.notes.push_back(std::move(note));
  }
}

/// A run would refuse: the text is what was approved, and leads elsewhere.
void add_landings(const Invocation& invocation, const Host& host, const Opened& opened, const planner::Verdict& verdict,
                  report::ManifestView& view) {
  const auto* plan = std::get_if<plan::Plan>(&verdict);
  if (plan == nullptr || view.approval != report::ApprovalState::kCurrent) return;
  const LandingCheck check = check_landings(invocation, host.facts, opened, *plan);
  if (check.changes.empty()) return;
  view.approval = report::ApprovalState::kStale;
  for (const std::string& change : check.changes)
    view.notes.push_back({"approval-stale", "since it was approved, " + change, {}});
}

}  // namespace

int validate(Context& context, const Arguments& arguments) {
  const Invocation& invocation = context.invocation;
  const bool json = arguments.has("--json");
  const auto stopped = [&](const Stop& why) {
    return refuse(context, arguments.command, json, why.refused, why.source, "the manifest is not valid");
  };
  policy::Posture posture;
  auto accepted = accepted_aliases(invocation, arguments);
  if (!accepted) return stopped(accepted.error());
  posture.accept_alias = std::move(*accepted);
  posture.alias_search = policy::AliasSearch::kQuick;
  auto host = open_host(invocation);
  if (!host) return stopped(host.error());
  auto opened = open(invocation, host->facts, {arguments.operand(), std::move(posture), {}});
  if (!opened) return stopped(opened.error());
  auto decided = verdict(opened->policy, *host, Probing::kProbe);
  if (!decided) return stopped(decided.error());

  const bool ask_relocatable = arguments.has("--relocatable");
  report::ManifestView view =
      view_of(*opened, *host, *decided, ask_relocatable ? AskRelocatable::kYes : AskRelocatable::kNo);
  add_findings(invocation, *opened, view);
  add_landings(invocation, *host, *opened, *decided, view);
  for (const base::Diagnostic& note : opened->notes) view.notes.push_back({note.code, note.message, note.at});
  if (arguments.has("--strict")) view.strict_problems = report::strict_problems(view);
  if (json)
    context.output.print(report::manifest_document(policy::manifest::to_json(opened->as_written), view));
  else
    context.output.print(report::validate_text(view, opened->file.text, invocation.out.style));
  if (context.output.broken()) return kRefused;
  if (view.strict_problems && !view.strict_problems->empty()) return kRefused;
  if (ask_relocatable && !view.relocatable.value_or(false)) return kRefused;
  return 0;
}

}  // namespace cordon::cli
