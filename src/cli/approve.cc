#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/consent.h"
#include "cli/landings.h"
#include "cli/own_places.h"
#include "cli/pin.h"
#include "cli/state.h"
#include "cli/verdict.h"
#include "cli/view.h"
#include "report/approve_view.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;

report::ChangeLine::Effect effect_of(policy::manifest::Change::Effect effect) {
  using Effect = policy::manifest::Change::Effect;
  return effect == Effect::kWidens    ? report::ChangeLine::Effect::kWidens
         : effect == Effect::kNarrows ? report::ChangeLine::Effect::kNarrows
                                      : report::ChangeLine::Effect::kDiffers;
}

report::ApproveView approve_view(const Opened& opened, const approval::ApproveReview& review,
                                 const LandingCheck& landings) {
  report::ApproveView view;
  view.file = opened.file.written_path;
  view.has_previous = review.has_previous;
  view.previous_at = review.previous_at;
  view.previous_by_human = review.previous_reviewed == approval::Reviewed::kByHuman;
  for (const policy::manifest::Change& change : review.changes)
    view.changes.push_back({effect_of(change.effect), change.sentence});
  for (const approval::PinChange& change : review.pin_changes)
    view.changes.push_back({report::ChangeLine::Effect::kDiffers, approval::to_sentence(change)});
  for (const std::string& change : landings.changes)
    view.changes.push_back({report::ChangeLine::Effect::kDiffers, change});
  view.journal_note = review.journal_note;
  for (const approval::Finding& finding : review.findings)
    if (!finding.fatal) view.findings.push_back(approval::to_diagnostic(finding, opened.file.written_path));
  view.will_clamp = review.will_clamp;
  return view;
}

/// Everything that forbids a stamp: what a run would refuse, and a place where others can rewrite the manifest.
base::Result<void, Stop> may_stamp(const Opened& opened, const planner::Verdict& verdict,
                                   const approval::ApproveReview& review) {
  report::Refused all;
  if (const auto* refusal = std::get_if<plan::Refusal>(&verdict)) all = report::refused(*refusal);
  base::Diagnostics fatal;
  for (const approval::Finding& finding : review.findings)
    if (finding.fatal) fatal.push_back(approval::to_diagnostic(finding, opened.file.written_path));
  if (!fatal.empty()) std::ranges::move(report::refused(fatal).items, std::back_inserter(all.items));
  if (all.items.empty()) return {};
  return base::fail(stop(std::move(all), opened.file.text));
}

int stamp(Context& context, Opened& opened, const plan::HostFacts& facts, const approval::ApproveReview& review,
          const LandingCheck& landings, approval::Reviewed reviewed) {
  const Invocation& invocation = context.invocation;
  approval::StampInput input{.as_written = opened.as_written,
                             .review = review,
                             .pins = opened.pins,
                             .generated_at = now_rfc3339(),
                             .reviewed = reviewed,
                             .journal = journal_places(invocation.caller, own_home(facts)),
                             .caller = approval_caller(invocation)};
  auto stamped = approval::stamp(opened.file, input);
  if (!stamped)
    return refuse(context, nullptr, false, report::refused(stamped.error()), opened.file.text, "not stamped");
  report::ApproveView view;
  view.file = opened.file.written_path;
  context.output.print(report::approved_text(view, stamped->clamped, invocation.out.style));
  // As `run` compares it; without a journal of this host there is nothing to compare with.
  const auto recorded = record_landings(invocation, facts, opened, stamped->fingerprint, landings);
  if (!stamped->journal_failure && !recorded) stamped->journal_failure = recorded.error();
  if (stamped->journal_failure) {
    return refuse(context, nullptr, false,
                  report::refused(*stamped->journal_failure, "journal-not-written",
                                  "the stamp stands; the next review here will show the whole policy"),
                  {}, "the stamp could not be recorded on this host");
  }
  return context.output.broken() ? kRefused : 0;
}

}  // namespace

int approve(Context& context, const Arguments& arguments) {
  const Invocation& invocation = context.invocation;
  const auto stopped = [&](const Stop& why) {
    return refuse(context, arguments.command, false, why.refused, why.source, "not stamped");
  };
  policy::Posture posture;
  auto accepted = accepted_aliases(invocation, arguments);
  if (!accepted) return stopped(accepted.error());
  posture.accept_alias = std::move(*accepted);
  auto host = open_host(invocation);
  if (!host) return stopped(host.error());
  auto opened = open(invocation, host->facts, {arguments.operand(), std::move(posture), {}});
  if (!opened) return stopped(opened.error());
  if (arguments.has("--pin"))
    if (auto pinned = pin_entrypoint(*opened, host->facts); !pinned) return stopped(pinned.error());
  auto decided = verdict(opened->policy, *host, Probing::kProbe);
  if (!decided) return stopped(decided.error());
  const approval::ApproveReview review = cli::review(invocation, host->facts, *opened);
  LandingCheck landings;
  if (const auto* plan = std::get_if<plan::Plan>(&*decided))
    landings = check_landings(invocation, host->facts, *opened, *plan);
  const report::ApproveView words = approve_view(*opened, review, landings);
  const report::Style& style = invocation.out.style;
  const bool runs = std::holds_alternative<plan::Plan>(*decided);
  if (review.already_approved && runs && landings.changes.empty()) {
    if (!landings.recorded)
      static_cast<void>(record_landings(invocation, host->facts, *opened, opened->fingerprint, landings));
    context.output.print(report::already_approved_text(words, style));
    return context.output.broken() ? kRefused : 0;
  }
  report::ManifestView view = view_of(*opened, *host, *decided, AskRelocatable::kNo);
  for (const base::Diagnostic& note : opened->notes)
    view.callouts.push_back({note.code, note.hint.empty() ? note.message : note.message + "; " + note.hint, note.at});
  context.output.print(report::summary_text(view, style) + report::callouts_text(view, style) +
                       report::review_text(words, style));
  if (auto allowed = may_stamp(*opened, *decided, review); !allowed) return stopped(allowed.error());
  const auto reviewed = consent(context, arguments, report::question_text(), "stamp without asking");
  if (!reviewed) return stopped(reviewed.error());
  return stamp(context, *opened, host->facts, review, landings, *reviewed);
}

}  // namespace cordon::cli
