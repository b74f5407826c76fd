#include "cli/verdict.h"
#include "cli/config_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/abs_path.h"
#include "base/text.h"
#include "cgroup/group.h"
#include "cli/command_places.h"
#include "cli/engine.h"
#include "cli/leavings.h"
#include "cli/network_flags.h"
#include "cli/own_places.h"
#include "cordon_build_id.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;
namespace manifest = policy::manifest;

constexpr int kMostRounds = 32;  // the planner promises few; a planner that never ends is a bug and refuses

/// The usual mistake: the script is named where its manifest belongs.
void mend_not_a_manifest(const std::string& path, base::Diagnostics& problems) {
  const std::string beside = approval::manifest_beside(path);
  if (beside.empty()) return;
  problems = {base::Diagnostic{
      .code = "not-a-manifest",
      .at = {.file = path},
      .message = fmt::format("{} is not a manifest", base::shown(path)),
      .hint = fmt::format("its manifest stands beside it: {}", base::shown(beside)),
  }};
}

base::Result<void, Stop> supply(policy::Policy& policy, const std::vector<std::string>& given,
                                const std::string& source) {
  const auto fail_with = [&](std::string code, std::string message, std::string mend) {
    report::Refused refused = report::refused_usage(std::move(code), std::move(message), std::move(mend), {});
    return base::fail(stop(std::move(refused), source));
  };
  for (const std::string& entry : given) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail_with("env-malformed", fmt::format("--env {} is not NAME=VALUE", base::shown(entry.substr(0, equals))),
                       "--env NAME=VALUE");
    const std::string name = entry.substr(0, equals);
    const auto listed = std::ranges::find(policy.env, name, &policy::EnvGrant::name);
    if (listed == policy.env.end())
      return fail_with("env-not-listed",
                       fmt::format("--env gives {}, which the manifest does not list", base::shown(name)),
                       fmt::format("write in the manifest: env: [{}]", base::shown(name)));
    listed->supplied = entry.substr(equals + 1);
  }
  return {};
}

std::string drift_words(const approval::ApproveReview& review) {
  std::vector<std::string> words;
  for (const approval::PinChange& change : review.pin_changes) words.push_back(approval::to_sentence(change));
  if (review.has_previous)
    for (const manifest::Change& change : review.changes) words.push_back(change.sentence);
  if (words.empty()) return "the approval is of another text than this";
  return "the approval no longer holds; what changed: " + base::join(words, "; ");
}

void probe_unknown(Host& host) {
  std::vector<plan::Feature> unknown;
  for (plan::Feature feature : host::all_features())
    if (host.facts.feature(feature).state == plan::Availability::kUnknown) unknown.push_back(feature);
  if (!unknown.empty()) host.session.probe(unknown, host.facts);
}

}  // namespace

Stop stop(report::Refused refused, std::string source) { return {std::move(refused), std::move(source)}; }

base::Result<void, Stop> refuse_value(std::string code, std::string message, std::string mend) {
  return base::fail(stop(report::refused_usage(std::move(code), std::move(message), std::move(mend), {})));
}

base::Result<std::vector<policy::PathGrant>, Stop> accepted_aliases(const Invocation& invocation,
                                                                    const Arguments& arguments) {
  std::vector<policy::PathGrant> trees;
  const auto here = base::AbsPath::parse(invocation.caller.working_directory);
  for (const std::string& tree : arguments.values("--accept-alias")) {
    const auto path = here ? here->join(tree) : base::AbsPath::parse(tree);
    if (!path)
      return base::fail(stop(
          report::refused_usage("accept-alias-malformed", "--accept-alias needs a path", "--accept-alias TREE", {})));
    trees.push_back({.written = tree, .path = path->str(), .at = {.span = {}, .source = "--accept-alias"}});
  }
  return trees;
}

base::Result<policy::Posture, Stop> posture_of(const Invocation& invocation, const Arguments& arguments) {
  policy::Posture posture;
  CORDON_TRY(posture.engine, engine_asked(arguments));
  posture.strict = arguments.has("--strict");
  posture.allow_degraded = arguments.has("--allow-degraded");
  posture.as_root = arguments.has("--as-root");
  CORDON_TRY(posture.accept_alias, accepted_aliases(invocation, arguments));
  if (posture.strict && posture.allow_degraded)
    return base::fail(stop(report::refused_usage("flags-contradict", "--strict and --allow-degraded exclude each other",
                                                 "leave one of them out", usage_line(*arguments.command, 78))));
  if (arguments.has("--record-exec")) posture.watch = policy::Watch::kPrograms;
  if (arguments.has("--explain") || arguments.has("--audit") || arguments.has("--audit-log"))
    posture.watch = policy::Watch::kPaths;
  CORDON_OK(network_posture(invocation, arguments, posture));
  return posture;
}

base::Result<Host, Stop> open_host(const Invocation& invocation, const WhenIntroduced& when_introduced) {
  Host out{.session = host::Session(invocation.caller, host::cache_location(invocation.caller, CORDON_BUILD_ID)),
           .facts = {}};
  if (auto answered = out.session.answer({}, out.facts); !answered)
    return base::fail(stop(report::refused(answered.error(), "host-unanswered", "")));
  if (when_introduced) when_introduced(out.facts);
  const std::string state = state_directory(invocation.caller, own_home(out.facts));
  out.session.take_as_absent(clean_holds(state));
  out.state = open_state(state, approval_caller(invocation));
  sweep_command_places(state, out.state, approval_caller(invocation));
  out.facts.work_place = work_place(state, out.state, approval_caller(invocation));
  static_cast<void>(
      hold_registry(state, out.state, approval_caller(invocation)));  // so that this run's plan can hide it
  out.facts.own_places = own_places(invocation, out.facts);
  if (const auto id = cgroup::new_id()) out.facts.private_name = "cordon-" + *id;
  return out;
}

base::Result<Opened, Stop> open(const Invocation& invocation, const plan::HostFacts& facts, const Request& request) {
  Opened out;
  auto file = approval::open_manifest(request.manifest);
  if (!file) return base::fail(stop(report::refused(file.error())));
  out.file = std::move(*file);
  const std::string& source = out.file.text;
  auto loaded = manifest::parse(source, out.file.written_path);
  if (!loaded) {
    mend_not_a_manifest(request.manifest, loaded.error());
    return base::fail(stop(report::refused(loaded.error()), source));
  }
  out.as_written = std::move(loaded->policy);
  out.notes = std::move(loaded->notes);
  auto resolved = manifest::resolve(out.as_written, {out.file.directory, facts.home, out.file.name_path});
  if (!resolved) return base::fail(stop(report::refused(resolved.error()), source));
  out.policy = std::move(*resolved);
  out.policy.posture = request.posture;
  CORDON_OK(add_global_config(invocation, facts, out.policy.posture));
  auto pins = approval::read_pins(out.policy);
  if (!pins) return base::fail(stop(report::refused(pins.error()), source));
  out.pins = std::move(*pins);
  out.fingerprint = manifest::fingerprint(out.as_written, out.pins);
  out.stamp = manifest::stamp_state(out.as_written, out.fingerprint);
  CORDON_OK(supply(out.policy, request.environment, source));
  return out;
}

namespace {

/// For the engine that the policy names.
base::Result<planner::Verdict, Stop> decide(const policy::Policy& policy, Host& host, const WhenBegun& when_begun) {
  planner::Memory memory;
  for (int round = 0; round < kMostRounds; ++round) {
    const plan::Questions questions = planner::next_questions(policy, host.facts, memory);
    if (planner::empty(questions)) return planner::plan(policy, host.facts, memory);
    if (auto answered = host.session.answer(questions, host.facts); !answered)
      return base::fail(stop(report::refused(answered.error(), "host-unanswered", "")));
    if (round == 0 && when_begun) when_begun(planner::beginning(policy, host.facts));
  }
  const base::Error endless{
      .operation = "plan", .subject = "", .detail = "the planner asks without end; please report this"};
  return base::fail(stop(report::refused(endless, "internal", "")));
}

}  // namespace

base::Result<planner::Verdict, Stop> verdict(const policy::Policy& policy, Host& host, Probing probing,
                                             const WhenBegun& when_begun) {
  if (probing == Probing::kProbe) probe_unknown(host);
  CORDON_TRY(planner::Verdict first, decide(policy, host, when_begun));
  auto* const refusal = std::get_if<plan::Refusal>(&first);
  if (refusal == nullptr || !is_for_other_engine(policy, *refusal)) return first;
  policy::Policy other = policy;
  other.posture.engine = policy::EngineChoice::kLandlock;
  CORDON_TRY(planner::Verdict second, decide(other, host, {}));
  if (auto* const also = std::get_if<plan::Refusal>(&second)) return both(std::move(*refusal), std::move(*also));
  auto& plan = std::get<plan::Plan>(second);
  plan.notes.push_back(chosen_note(host.facts));
  return second;
}

approval::Caller approval_caller(const Invocation& invocation) {
  return {static_cast<uid_t>(invocation.caller.uid), static_cast<gid_t>(invocation.caller.gid)};
}

approval::JournalPlaces journal_places(const host::Caller& caller, const std::string& home) {
  approval::JournalPlaces out;
  const std::string own = state_directory(caller, home);
  if (own.empty()) return out;
  out.own = own + "/approvals";
  out.older = own.substr(0, own.rfind('/')) + "/bento/approvals";
  return out;
}

std::vector<approval::Finding> findings(const Invocation& invocation, const Opened& opened) {
  return approval::judge_location(opened.file, approval_caller(invocation), approval::read_account_files());
}

std::string approving_mend(const Invocation& invocation, const Opened& opened, std::string_view act) {
  const std::string command = fmt::format("cordon approve {}", base::shown(opened.file.written_path));
  const std::vector<approval::Finding> found = findings(invocation, opened);
  const auto fatal = std::ranges::find_if(found, &approval::Finding::fatal);
  if (fatal == found.end()) return fmt::format("{}: {}", act, command);
  const std::uint32_t owner = opened.file.facts.owner;
  if (owner != 0 && owner != invocation.caller.uid)
    return fmt::format("let user {}, whose file it is, {}: {}",
                       approval::shown_user(approval::read_account_files(), owner), act, command);
  return fmt::format("{}; then {}: {}", fatal->remedy, act, command);
}

approval::ApproveReview review(const Invocation& invocation, const plan::HostFacts& facts, const Opened& opened) {
  const approval::Caller caller = approval_caller(invocation);
  const std::string stamp = opened.as_written.provenance ? opened.as_written.provenance->approves : std::string();
  approval::ReviewInput input{
      .manifest = opened.file,
      .as_written = opened.as_written,
      .fingerprint = opened.fingerprint,
      .pins = opened.pins,
      .journal = approval::read_journal(journal_places(invocation.caller, own_home(facts)), opened.file.real_path,
                                        stamp, caller),
      .findings = findings(invocation, opened),
  };
  return approval::review(input);
}

base::Result<void, Stop> require_stamp(const Invocation& invocation, const plan::HostFacts& facts,
                                       const Opened& opened) {
  if (opened.stamp == manifest::StampState::kCurrent) return {};
  plan::RefusedItem item;
  item.at.file = opened.file.written_path;
  if (opened.stamp == manifest::StampState::kUnapproved) {
    item.code = "not-approved";
    item.message = "nobody has approved this manifest";
  } else {
    item.code = "approval-stale";
    item.message = drift_words(review(invocation, facts, opened));
  }
  item.mend = approving_mend(invocation, opened, "read it and stamp it");
  report::Refused refused;
  refused.items.push_back(std::move(item));
  return base::fail(stop(std::move(refused), opened.file.text));
}

}  // namespace cordon::cli
