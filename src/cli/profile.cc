#include "cli/profile.h"
#include "cli/config_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "cli/choosing.h"
#include "cli/commands.h"
#include "cli/draft_file.h"
#include "cli/drafting.h"
#include "cli/question.h"
#include "cli/subject.h"
#include "cli/watched_run.h"
#include "planner/draft.h"
#include "planner/path_text.h"
#include "policy/draft/draft.h"
#include "policy/draft/places.h"
#include "policy/manifest/manifest.h"
#include "report/inside.h"
#include "report/layout.h"
#include "report/profile_view.h"

namespace cordon::cli {
namespace {

namespace draft = policy::draft;

constexpr std::size_t kMostRounds = 25;
constexpr int kMostJudgements = 16;

std::vector<std::string> shown_of(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) out.push_back(base::shown(path));
  return out;
}

bool is_of_the_network(const plan::Refusal& refusal) {
  return std::ranges::all_of(refusal.items,
                             [](const plan::RefusedItem& item) { return item.layer == plan::Layer::kNetwork; });
}

class Profile {
 public:
  Profile(Context& context, const Arguments& arguments)
      : context_(context), arguments_(arguments), json_(arguments.has("--json")) {}

  base::Result<int, Stop> go();

 private:
  [[nodiscard]] bool asks() const { return context_.invocation.in.terminal; }
  [[nodiscard]] bool is_seeded() const {
    return existing_ && existing_->stamp == policy::manifest::StampState::kCurrent;
  }
  base::Result<void, Stop> prepare();
  base::Result<void, Stop> consent_to_network();
  [[nodiscard]] std::vector<draft::Want> beside_its_own(std::vector<draft::Want> wants) const;
  base::Result<WatchedRun, Stop> watch(const draft::Proposal& chosen);
  base::Result<draft::Proposal, Stop> proposal_of(WatchedRun& run);
  base::Result<void, Stop> keep_list(WatchedRun& run, draft::Proposal& proposal);
  base::Result<void, Stop> judge(Host& host, draft::Proposal& proposal);
  base::Result<void, Stop> rounds(Choosing& choosing);
  void say_what_is_missing(const Choosing& choosing);
  void say_that_no_line_mends_it();
  void fill(const draft::Proposal& proposal);
  [[nodiscard]] const policy::Policy& begins_with(const draft::Proposal& chosen) const;
  base::Result<int, Stop> conclude(Choosing& choosing);

  Context& context_;
  const Arguments& arguments_;
  bool json_;
  Subject subject_;
  policy::Posture posture_;
  std::optional<Opened> existing_;
  std::optional<policy::approval::DraftPlace> place_;  ///< where there is none
  draft::Forwarding forwarding_ = draft::Forwarding::kRefused;
  OwnDirectory own_ = OwnDirectory::kWritten;
  policy::Policy watched_policy_;
  bool sees_network_ = true;  ///< a host without the means to ask about destinations runs without a network at all
  TerminalSettings terminal_;
  NewNames new_names_;
  int ended_by_ = 0;  ///< a signal that asked for an end
  plan::Outcome last_;
  report::ProfileView view_;
};

base::Result<void, Stop> Profile::consent_to_network() {
  if (!arguments_.has("--allow-network")) return {};
  forwarding_ = draft::Forwarding::kAllowed;
  if (!asks()) return {};
  if (ask(context_.invocation,
          "cordon: the program may then reach any host, before anybody has read what it does\n"
          "cordon: let it? [y/N] ") == Answer::kYes)
    return {};
  return base::fail(stop(report::refused_usage(
      "declined", "the answer was not yes", "leave --allow-network out: what it reaches for is recorded anyway", {})));
}

base::Result<void, Stop> Profile::prepare() {
  CORDON_TRY(posture_, posture_of(context_.invocation, arguments_));
  CORDON_TRY(Host host, open_host(context_.invocation));
  CORDON_OK(add_global_config(context_.invocation, host.facts, posture_));
  CORDON_TRY(subject_, subject_of(context_.invocation, arguments_, host));
  CORDON_TRY(existing_, existing_draft(context_.invocation, host.facts, subject_));
  if (is_seeded()) new_names_.know(existing_->policy.write);
  if (!existing_) {
    CORDON_TRY(place_, require_place_for_draft(host, subject_));
  }
  const plan::PathFact* around = nullptr;
  for (const auto& [asked, fact] : host.facts.paths)
    if (fact.real == subject_.project) around = &fact;
  if (!draft::floor_of(draft::Access::kWrite, subject_.project, host.facts).empty())
    own_ = OwnDirectory::kNotGranted;
  else if (around == nullptr || !around->writable)
    own_ = OwnDirectory::kRead;
  return consent_to_network();
}

/// Its own directory it may write in every round: a line for reading there would take that away again.
std::vector<draft::Want> Profile::beside_its_own(std::vector<draft::Want> wants) const {
  if (own_ != OwnDirectory::kWritten) return wants;
  const draft::Want own{.access = draft::Access::kWrite, .path = subject_.project, .real = subject_.project};
  std::erase_if(
      wants, [&](const draft::Want& want) { return want.access == draft::Access::kRead && draft::covers(own, want); });
  return wants;
}

/// The discovery policy with what was chosen so far, and what a person approved before.
base::Result<WatchedRun, Stop> Profile::watch(const draft::Proposal& chosen) {
  const WatchSettings settings{.streams = json_ || subject_.out.empty() ? TargetStreams::kAside : TargetStreams::kOwn,
                               .input = asks() || json_ ? TargetInput::kEmpty : TargetInput::kOwn};
  while (true) {
    policy::Policy policy = discovery_policy(subject_, context_.invocation, posture_, own_, forwarding_);
    if (is_seeded()) {
      policy.read.insert(policy.read.end(), existing_->policy.read.begin(), existing_->policy.read.end());
      policy.write.insert(policy.write.end(), existing_->policy.write.begin(), existing_->policy.write.end());
      policy.deny.insert(policy.deny.end(), existing_->policy.deny.begin(), existing_->policy.deny.end());
      policy.network.insert(policy.network.end(), existing_->policy.network.begin(), existing_->policy.network.end());
      policy.host_services = existing_->policy.host_services;
      for (const policy::EnvGrant& grant : existing_->policy.env)
        if (std::ranges::find(policy.env, grant.name, &policy::EnvGrant::name) == policy.env.end())
          policy.env.push_back(grant);
    }
    policy = draft::compose(policy, {.wants = beside_its_own(chosen.wants)}, subject_.anchors);
    if (!sees_network_) policy.posture.ask = false;
    watched_policy_ = policy;
    CORDON_TRY(auto ran, watch_run(context_, policy, settings));
    if (auto* run = std::get_if<WatchedRun>(&ran)) return std::move(*run);
    const auto& refusal = std::get<plan::Refusal>(ran);
    if (sees_network_ && is_of_the_network(refusal)) {
      sees_network_ = false;
      continue;
    }
    // Its own directory may be what cannot be granted; then it is watched without.
    const bool by_grants = std::ranges::all_of(refusal.items, &plan::RefusedItem::is_grant);
    if (!by_grants || own_ == OwnDirectory::kNotGranted) return base::fail(stop(report::refused(refusal)));
    own_ = own_ == OwnDirectory::kWritten ? OwnDirectory::kRead : OwnDirectory::kNotGranted;
  }
}

/// What the planner would refuse, or would take for an opt-in, is in no draft: asked until it has nothing to say.
base::Result<void, Stop> Profile::judge(Host& host, draft::Proposal& proposal) {
  for (int attempt = 0; attempt < kMostJudgements; ++attempt) {
    policy::Policy composed = draft::compose(existing_ ? existing_->policy : subject_.base, proposal, subject_.anchors);
    composed.posture = posture_;
    CORDON_TRY(const planner::Verdict decided, verdict(composed, host, Probing::kAssume));
    const auto* refusal = std::get_if<plan::Refusal>(&decided);
    const bool changed = refusal != nullptr ? draft::withhold_refused(proposal, *refusal)
                                            : draft::withhold_lifted(proposal, std::get<plan::Plan>(decided));
    if (changed) continue;
    // No list of programs can be held, on this host or beside what is written.
    if (refusal != nullptr && !existing_ && subject_.base.exec.mode == policy::ExecMode::kList) {
      subject_.base.exec = {.mode = policy::ExecMode::kAll, .programs = {}, .at = {}};
      continue;
    }
    // A home that only withheld lines led to.
    const bool below_home = std::ranges::any_of(proposal.wants, [&](const draft::Want& want) {
      return draft::relocatable(want.path, subject_.anchors).starts_with("~/");
    });
    if (!below_home) std::erase(proposal.env, "HOME");
    if (refusal != nullptr)
      view_.notes.push_back("a run of the draft would be refused: " + report::reason(report::refused(*refusal)));
    return {};
  }
  return {};
}

/// Where a list under exec: stands what was started goes there, and never makes it `all`: by what the planner lets the
/// list start.
base::Result<void, Stop> Profile::keep_list(WatchedRun& run, draft::Proposal& proposal) {
  if (!existing_) return {};
  const policy::Exec& exec = existing_->policy.exec;
  const bool all_is_given = is_seeded() && exec.mode == policy::ExecMode::kAll;
  if (exec.mode != policy::ExecMode::kList && !all_is_given) return {};
  proposal.exec_all = false;
  std::erase_if(proposal.flagged, [](const draft::Remark& one) { return one.code == "exec-all"; });
  if (all_is_given) return {};
  CORDON_TRY(const planner::Verdict decided, verdict(existing_->policy, run.host, Probing::kAssume));
  const auto* plan = std::get_if<plan::Plan>(&decided);
  if (plan == nullptr) return {};
  const report::Inside inside(*plan);
  plan::Questions questions;
  for (const plan::ObservedPath& one : run.outcome.observations.paths)
    if ((one.acts & plan::kActExecute) != 0) questions.paths.push_back(one.path);
  if (auto answered = run.host.session.answer(questions, run.host.facts); !answered)
    return base::fail(stop(report::refused(answered.error(), "host-unanswered", "")));
  for (const std::string& path : questions.paths) {
    const plan::PathFact& fact = run.host.facts.paths.at(path);
    if (fact.state == plan::PathState::kPresent && planner::is_regular(fact) && !inside.starts(fact.real))
      proposal.exec_programs.push_back(path);
  }
  return {};
}

base::Result<draft::Proposal, Stop> Profile::proposal_of(WatchedRun& run) {
  draft::Proposal out =
      draft::propose({.policy = watched_policy_,
                      .plan = run.plan,
                      .outcome = run.outcome,
                      .facts = run.host.facts,
                      .project = subject_.project,
                      .script = subject_.script,
                      .standing = existing_ ? std::span<const policy::PathGrant>(existing_->policy.write)
                                            : std::span<const policy::PathGrant>(),
                      .starter = subject_.alone ? draft::Starter::kAnother : draft::Starter::kItself,
                      .began_ns = run.began_ns,
                      .forwarding = forwarding_});
  view_.notes.clear();
  if (!asks()) withhold_looks(out, run);
  // Where every program may be started, which ones were is no gap.
  if (out.exec_all) out.lost -= std::min(out.lost, killed_while_starting(run.outcome.observations));
  new_names_.widen(out, run);
  gather_new(out, run);
  name_links_of_listed(out, run);
  drop_made_in_the_run(out, run);
  CORDON_OK(keep_list(run, out));
  CORDON_OK(judge(run.host, out));
  // After that: what is withheld covers nothing. What nobody approved was not there in this run: it is asked about
  // again.
  draft::drop_given(out, is_seeded() ? existing_->policy : subject_.base);
  return out;
}

base::Result<void, Stop> Profile::rounds(Choosing& choosing) {
  for (view_.rounds = 1;; ++view_.rounds) {
    CORDON_TRY(WatchedRun run, watch(choosing.chosen()));
    if (asks()) terminal_.restore();
    // The first Ctrl-C is the program's: a server ends by it, and its draft is wanted. Whatever else asks for an end is
    // about us.
    ended_by_ = run.outcome.ended_by == plan::EndedBy::kSignal ? SIGINT : run.outcome.asked_to_end;
    if (ended_by_ != 0) return {};
    CORDON_TRY(const draft::Proposal proposal, proposal_of(run));
    last_ = std::move(run.outcome);
    const bool missed = choosing.take(proposal);
    if (!asks() || choosing.quit() || !missed) return {};
    if (view_.rounds == kMostRounds) {
      view_.incomplete.push_back(fmt::format("it asked for more in each of {} runs", kMostRounds));
      return {};
    }
  }
}

void Profile::say_what_is_missing(const Choosing& choosing) {
  const draft::Proposal& chosen = choosing.chosen();
  const auto missed = std::ranges::count_if(chosen.wants, [](const draft::Want& want) { return !want.was_given; });
  if (choosing.quit()) view_.incomplete.emplace_back("you left before every line was answered");
  for (std::string& why : early_end(last_)) view_.incomplete.push_back(std::move(why));
  if (chosen.lost > 0) view_.incomplete.push_back(fmt::format("{} of its calls could not be told", chosen.lost));
  const auto withheld =
      std::ranges::count_if(chosen.withheld, [](const draft::Remark& one) { return one.code != "looked-up-only"; });
  if (withheld > 0)
    view_.incomplete.push_back(fmt::format("{} that it asked for {} not in the draft",
                                           report::counted(static_cast<std::size_t>(withheld), "thing", "things"),
                                           withheld == 1 ? "is" : "are"));
  if (!asks() && missed > 0 && last_.exit_code != 0)
    view_.incomplete.push_back(fmt::format(
        "it ended with code {}, and had not been given {} of the paths yet: approve the draft and profile again, or "
        "profile at a terminal",
        last_.exit_code, missed));
  if (!asks() && missed == 0 && last_.exit_code != 0 && forwarding_ == draft::Forwarding::kRefused &&
      !chosen.network.empty())
    view_.incomplete.push_back(
        fmt::format("it ended with code {}, and was refused {} of its hosts: approve the draft and profile again",
                    last_.exit_code, chosen.network.size()));
  if (choosing.declines() > 0)
    view_.incomplete.push_back(fmt::format("{} that it asked for {} not in the draft, as you declined",
                                           report::counted(choosing.declines(), "line", "lines"),
                                           choosing.declines() == 1 ? "is" : "are"));
  if (chosen.unnamed > 0)
    view_.notes.push_back(fmt::format("{} connections had no name that a rule could hold", chosen.unnamed));
  if (!sees_network_)
    view_.notes.emplace_back("this host cannot show what the program reached for: it ran without any network");
  if (last_.exit_code == 127)
    view_.notes.emplace_back(
        "code 127 is a shell's word for a command that is not on PATH, which is /usr/bin:/bin inside");
  const auto has_started = [&](std::string_view name) {
    return std::ranges::any_of(last_.observations.programs,
                               [&](const plan::ExecutedProgram& one) { return planner::name_of(one.path) == name; });
  };
  if (last_.exit_code != 0 && has_started("go") && has_started("git"))
    view_.notes.emplace_back(
        "go asks git for the version that it builds, and a .git that is only held empty in the sandbox is no checkout: "
        "go build -buildvcs=false, or a .git of its own");
  if (subject_.is_command) {
    const bool by_env = subject_.alone && &begins_with(chosen) == &subject_.base;
    view_.notes.push_back(fmt::format(
        "{}run it with: cordon run {}",
        by_env ? fmt::format("env -C starts it in {}, as here; ", base::shown(subject_.project)) : std::string(),
        subject_.out.empty() ? std::string("MANIFEST") : base::shown(subject_.out)));
  }
}

/// The manifest was in force and has all that was asked for, and the program failed all the same: that it works is not
/// vouched for.
void Profile::say_that_no_line_mends_it() {
  if (last_.exit_code == 0 || !view_.incomplete.empty()) return;
  view_.incomplete.push_back(
      fmt::format("it ended with code {}, and no line would change that: what it said tells more", last_.exit_code));
}

void Profile::fill(const draft::Proposal& chosen) {
  view_.program = subject_.named;
  view_.exit_code = last_.exit_code;
  view_.signal = last_.signal;
  for (const draft::Want& want : chosen.wants) view_.lines.push_back(line_of(want, subject_.anchors));
  for (const policy::NetworkRule& rule : chosen.network) view_.network.push_back(host_and_port(rule.host, rule.port));
  view_.env = chosen.env;
  if (chosen.exec_all) view_.exec = "all";
  if (!chosen.exec_programs.empty()) view_.exec = "[" + base::join(shown_of(chosen.exec_programs), ", ") + "]";
  for (const plan::ExecutedProgram& one : chosen.started)
    if (std::ranges::find(view_.started, one.path) == view_.started.end()) view_.started.push_back(one.path);
  const auto add = [](std::vector<report::ProfileRemark>& to, const std::vector<draft::Remark>& from) {
    for (const draft::Remark& one : from)
      to.push_back({.kind = one.kind,
                    .path = one.path,
                    .host = one.host,
                    .code = one.code,
                    .reason = one.reason,
                    .port = one.port});
  };
  add(view_.withheld, chosen.withheld);
  add(view_.flagged, chosen.flagged);
  view_.blocked_hosts = chosen.blocked_hosts;
  view_.runtime = chosen.runtime;
  view_.scratch = chosen.scratch;
  view_.lost = chosen.lost;
  view_.unnamed = chosen.unnamed;
}

/// Where nothing of the draft lies in the directory that the user stands in, or around it, the program need not be
/// started there, and the directory would not even exist. A manifest that starts it there already goes on doing so: its
/// own lines are what it needs there.
const policy::Policy& Profile::begins_with(const draft::Proposal& chosen) const {
  if (!subject_.alone) return subject_.base;
  if (existing_ && starts_the_same(subject_, existing_->policy, subject_.base)) return subject_.base;
  const auto lies_there = [&](const draft::Want& want) {
    return planner::within(want.real, subject_.project) || planner::within(subject_.project, want.real);
  };
  const bool anywhere = subject_.project == "/" || subject_.project == "/tmp";
  return anywhere || std::ranges::any_of(chosen.wants, lies_there) ? subject_.base : *subject_.alone;
}

base::Result<int, Stop> Profile::conclude(Choosing& choosing) {
  draft::Proposal chosen = choosing.chosen();
  const policy::Policy base = draft_base(subject_, begins_with(chosen), existing_, choosing.all_declined(), view_);
  draft::drop_covered(chosen, base);
  fill(chosen);
  say_what_is_missing(choosing);
  const policy::Policy composed = draft::compose(base, chosen, subject_.anchors);
  // Who left before the first answer wants no file.
  const bool nothing = choosing.quit() && view_.rounds == 1 && chosen.wants.empty() && chosen.network.empty();
  if (!nothing) CORDON_OK(write_draft(context_, subject_, existing_, place_, composed, view_));
  if (is_seeded() && !view_.written) say_that_no_line_mends_it();
  if (json_)
    context_.output.print(report::profile_document(view_, policy::manifest::to_json(composed).dump()));
  else
    context_.output.say(plain_before_report(context_.invocation) +
                        report::profile_text(view_, context_.invocation.err.style));
  if (context_.output.broken()) return kRefused;
  return view_.incomplete.empty() ? 0 : kNotVouchedFor;
}

base::Result<int, Stop> Profile::go() {
  CORDON_OK(prepare());
  if (asks()) terminal_ = TerminalSettings::now();
  Choosing choosing(asks() ? Choosing::Asks::kAtTerminal : Choosing::Asks::kNobody, subject_.anchors,
                    context_.invocation);
  CORDON_OK(rounds(choosing));
  if (ended_by_ != 0) {
    context_.output.say(plain_before_report(context_.invocation) + "cordon: ended on request; no draft was written\n");
    constexpr int kShellAddsToSignals = 128;
    return kShellAddsToSignals + ended_by_;
  }
  return conclude(choosing);
}

}  // namespace

int profile(Context& context, const Arguments& arguments) {
  auto code = arguments.has("--check") ? check_profile(context, arguments) : Profile(context, arguments).go();
  if (code) return *code;
  return refuse(context, arguments.command, arguments.has("--json"), code.error().refused, code.error().source,
                "no draft was written");
}

}  // namespace cordon::cli
