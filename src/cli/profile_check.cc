#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/text.h"
#include "cli/choosing.h"
#include "cli/drafting.h"
#include "cli/explaining.h"
#include "cli/profile.h"
#include "cli/question.h"
#include "cli/watched_run.h"
#include "planner/path_text.h"
#include "planner/planner.h"
#include "policy/draft/draft.h"
#include "policy/draft/places.h"
#include "policy/manifest/manifest.h"
#include "report/inside.h"
#include "report/profile_view.h"

namespace cordon::cli {
namespace {

namespace draft = policy::draft;
namespace manifest = policy::manifest;

std::string difference_of(const draft::Remark& one) {
  const std::string what = !one.path.empty() ? one.path
                           : one.port == 0   ? one.host
                                             : host_and_port(one.host, std::to_string(one.port));
  return fmt::format("{} {}: {}", one.kind, base::shown(what), one.reason);
}

/// Under a manifest that closes exec what was started is what was refused.
bool started_more(const policy::Policy& policy, const plan::Outcome& outcome) {
  return policy.exec.mode != policy::ExecMode::kAll && outcome.exec_attempts_total > 0;
}

/// What the manifest runs and where, as a person knows it: `cordon profile -- COMMAND` drafts env -C DIRECTORY COMMAND.
struct Program {
  std::string name, directory;
};
Program program_of(const policy::Policy& policy) {
  const std::string& path = policy.entrypoint.path;
  const bool by_env = path.ends_with("/env") && policy.args.size() > 2 && policy.args[0].value == "-C" &&
                      policy.args[1].value.starts_with('/');
  if (by_env) return {policy.args[2].value, policy.args[1].value};
  return {policy.entrypoint.written, std::string(planner::parent_of(path))};
}

/// What no program's own doing is, and no draft has a line for.
bool is_incidental(const plan::ObservedPath& one) {
  constexpr std::array kKernel = std::to_array<std::string_view>({"/dev", "/proc", "/sys"});
  return draft::is_bytecode(one.path) || draft::is_library_setting(one.path) ||
         draft::is_of_the_java_machine(one.path) ||
         std::ranges::any_of(kKernel, [&](std::string_view place) { return planner::within(one.path, place); });
}

/// A line of the proposal, or a remark, is about it already.
bool is_told(const draft::Proposal& proposal, const std::string& path) {
  const auto around = [&](const std::string& other) {
    return planner::within(path, other) || planner::within(other, path);
  };
  return std::ranges::any_of(proposal.wants, [&](const draft::Want& want) { return around(want.path); }) ||
         std::ranges::any_of(proposal.withheld, [&](const draft::Remark& one) {
           return !one.path.empty() && (one.path == path || one.path == planner::parent_of(path));
         });
}

/// What --explain would call denied and no rule says by its name: shields, `deny`, a list of programs, links, listings
/// that show less than stands there. What was only looked
/// at is a line of the proposal, or withheld from it.
std::vector<std::string> refused_in(WatchedRun& run, const policy::Policy& policy, const draft::Proposal& proposal) {
  plan::Observations used = run.outcome.observations;
  std::erase_if(used.paths, [](const plan::ObservedPath& one) {
    return (one.acts & ~std::uint32_t{plan::kActProbe}) == 0 || is_incidental(one);
  });
  std::vector<std::string> out;
  for (const report::Denial& one : denied_paths(run.host, policy, run.plan, used))
    if (one.act == "exec" || !is_told(proposal, one.subject))
      out.push_back(fmt::format("{} {}: {}", one.act, base::shown(one.subject), one.why));
  const report::Inside inside(run.plan);
  // Of its own directory a draft shows only what was opened, and says so: interpreters, make and git list it.
  const std::string own = program_of(policy).directory;
  for (const plan::ObservedPath& one : used.paths)
    if (one.path != own && (one.acts & plan::kActEnumerate) != 0 && inside.is_partial(inside.resolved(one.path)) &&
        planner::depth_of(one.path) > 1 && !draft::is_of_the_importer(one.programs) && !is_told(proposal, one.path))
      out.push_back(
          fmt::format("read {}: it listed it, and saw only what other lines name in it", base::shown(one.path)));
  return out;
}

report::ProfileView view_of(const Opened& opened, const draft::Proposal& proposal, const policy::Policy& needed,
                            const plan::Outcome& outcome) {
  report::ProfileView view;
  view.program = program_of(opened.policy).name;
  view.manifest = opened.file.written_path;
  view.rounds = 1;
  view.exit_code = outcome.exit_code;
  view.signal = outcome.signal;
  for (const manifest::Change& change : manifest::changes(opened.as_written, needed))
    if (change.effect == manifest::Change::Effect::kWidens) view.differences.push_back(change.sentence);
  if (started_more(opened.policy, outcome))
    for (const plan::ExecAttempt& one : outcome.exec_attempts)
      view.differences.push_back(fmt::format("exec {}: it tried to start it", base::shown(one.path)));
  for (const draft::Remark& one : proposal.withheld) view.differences.push_back(difference_of(one));
  // A reach for a server of this host's, which no manifest but one with host_services: lets it have.
  for (const draft::Remark& one : proposal.flagged)
    if (one.code == "own-loopback") view.differences.push_back(difference_of(one));
  const std::uint64_t lost = proposal.lost - std::min(proposal.lost, killed_while_starting(outcome.observations));
  if (lost > 0) view.incomplete.push_back(fmt::format("{} of its calls could not be told", lost));
  for (std::string& why : early_end(outcome)) view.incomplete.push_back(std::move(why));
  return view;
}

}  // namespace

base::Result<int, Stop> check_profile(Context& context, const Arguments& arguments) {
  const Invocation& invocation = context.invocation;
  const bool json = arguments.has("--json");
  if (!arguments.operands.empty() || !arguments.after.empty())
    return base::fail(stop(
        report::refused_usage("check-takes-no-program", "--check runs the program that the manifest names",
                              fmt::format("cordon profile --check {}", base::shown(arguments.value("--check"))), {})));
  CORDON_TRY(policy::Posture posture, posture_of(invocation, arguments));
  CORDON_TRY(Host host, open_host(invocation));
  CORDON_TRY(Opened opened, open(invocation, host.facts, {arguments.value("--check"), posture, {}}));
  CORDON_OK(require_stamp(invocation, host.facts, opened));
  policy::Policy watched = opened.policy;
  watched.posture.watch = policy::Watch::kPaths;
  watched.posture.ask = true;  // so that what no rule covers is seen, and refused
  const WatchSettings settings{.streams = json ? TargetStreams::kAside : TargetStreams::kOwn,
                               .input = json ? TargetInput::kEmpty : TargetInput::kOwn};
  CORDON_TRY(auto ran, watch_run(context, watched, settings));
  if (auto* refusal = std::get_if<plan::Refusal>(&ran))
    return base::fail(stop(report::refused(*refusal), opened.file.text));
  WatchedRun& run = std::get<WatchedRun>(ran);
  draft::Proposal proposal = draft::propose({.policy = watched,
                                             .plan = run.plan,
                                             .outcome = run.outcome,
                                             .facts = run.host.facts,
                                             .project = program_of(opened.policy).directory,
                                             .script = {},
                                             .standing = opened.policy.write,
                                             .began_ns = run.began_ns,
                                             .forwarding = draft::Forwarding::kRefused});
  withhold_looks(proposal, run);
  proposal.env.clear();
  proposal.exec_all = false;
  // What its rules let through is no difference.
  draft::drop_covered(proposal, opened.policy);
  policy::Policy needed = draft::compose(opened.as_written, proposal, {opened.file.directory, host.facts.home});
  report::ProfileView view = view_of(opened, proposal, needed, run.outcome);
  std::ranges::move(refused_in(run, opened.policy, proposal), std::back_inserter(view.differences));
  if (json)
    context.output.print(report::profile_document(view, {}));
  else
    context.output.say(plain_before_report(invocation) + report::check_text(view, invocation.err.style));
  if (context.output.broken()) return kRefused;
  return view.differences.empty() && view.incomplete.empty() ? 0 : kNotVouchedFor;
}

}  // namespace cordon::cli
