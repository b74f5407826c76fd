#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "cgroup/numbers.h"
#include "cli/asking.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/explaining.h"
#include "cli/landings.h"
#include "cli/launcher.h"
#include "cli/leavings.h"
#include "cli/left_behind.h"
#include "cli/opening.h"
#include "cli/own_places.h"
#include "cli/question.h"
#include "cli/replan.h"
#include "cli/run_flags.h"
#include "cli/run_papers.h"
#include "cli/run_words.h"
#include "cli/state.h"
#include "cli/verdict.h"
#include "enforce/hold/hold.h"
#include "enforce/hold/overlay_marks.h"
#include "enforce/supervise/supervise.h"
#include "kernel/file.h"
#include "kernel/process.h"
#include "report/json.h"

namespace cordon::cli {
namespace {

namespace supervise = enforce::supervise;

constexpr int kReaderPatienceMs = 2'000;

/// One `cordon run`, from its flags to its exit code.
class Job {
 public:
  Job(Context& context, const Arguments& arguments)
      : context_(context), arguments_(arguments), json_(arguments.has("--json")) {}

  int go();
  /// One that no plan was started with; and what was private to a command's run.
  void end() {
    prepared_.reset();
    command_.reset();
  }

 private:
  base::Result<plan::Plan, Stop> prepare();
  base::Result<plan::Plan, Stop> prepare_command();
  base::Result<void, Stop> set_up();
  base::Result<plan::Plan, Stop> planned();
  base::Result<void, Stop> hold_to_landings(const plan::Plan& plan);
  supervise::Options run_options();
  void start_launcher_early(const plan::step::EnterNamespaces& opening);
  void start_launcher_unasked();
  base::Result<plan::Outcome, Stop> start_and_wait(const plan::Plan& plan);
  base::Result<plan::Outcome> stream(supervise::Run& run);
  void note_refused_overlay(const std::string& source, const base::Error& error);
  bool assumed_wrongly(const plan::Plan& plan, const plan::Outcome& outcome);
  void tell(plan::Note note);
  void tell_of_grants(const plan::Plan& plan);
  void tell_before(const plan::Plan& plan);
  void warn_of_location();
  int conclude(report::Report report);
  int stopped(const Stop& why);
  void use_the_launchers_time();
  void find_records(Missing missing);
  void record(const std::string& document);
  [[nodiscard]] report::RunRecord run_record() const;

  Context& context_;
  const Arguments& arguments_;
  bool json_;
  std::optional<Host> host_;
  std::optional<Opened> opened_;
  std::optional<CommandRun> command_;    ///< the second door: `opened_` has its policy
  plan::step::EnterNamespaces opening_;  ///< what prepared_ was started on
  std::optional<supervise::Prepared> prepared_;
  RunPapers papers_;
  std::vector<plan::Note> told_;  ///< notes that were said when the run began
  plan::LeftBehind left_;
  bool time_used_ = false;
  int refused_code_ = kRefused;
  base::Fd records_;
  std::string run_id_ = new_run_id();
  std::string started_at_ = now_rfc3339();
  /// The supervisor failed while the target may have run: neither a verdict nor a refusal can be given.
  std::optional<base::Error> lost_;
  std::optional<enforce::hold::PlantedMark> mark_;  ///< why an overlay could not be built
};

base::Result<plan::Plan, Stop> Job::planned() {
  const Probing probing = arguments_.has("--dry-run") ? Probing::kProbe : Probing::kAssume;
  auto decided = verdict(opened_->policy, *host_, probing, [this](std::vector<plan::Step> steps) {
    if (prepared_) prepared_->begin_plan(std::move(steps));
  });
  if (!decided) return base::fail(std::move(decided).error());
  if (const auto* refusal = std::get_if<plan::Refusal>(&*decided)) {
    if (command_ && is_not_executable(*refusal)) refused_code_ = kNotExecutable;
    return base::fail(stop(report::refused(*refusal), opened_->file.text));
  }
  plan::Plan plan = std::get<plan::Plan>(std::move(*decided));
  if (auto wrong = run_id_without_limits(arguments_, plan)) return base::fail(stop(*std::move(wrong)));
  return plan;
}

/// The second door.
base::Result<plan::Plan, Stop> Job::prepare_command() {
  const Invocation& invocation = context_.invocation;
  if (!arguments_.after.empty()) {
    if (auto nothing = not_found(invocation.caller, arguments_.after.front())) {
      refused_code_ = kNotFound;
      return base::fail(*std::move(nothing));
    }
  }
  if (!arguments_.has("--dry-run")) start_launcher_unasked();
  CORDON_TRY(host_, open_host(invocation));
  CORDON_OK(set_up());
  return planned();
}

/// Again, where it turns out that no overlay can be mounted.
base::Result<void, Stop> Job::set_up() {
  CORDON_TRY(const policy::Posture posture, posture_of(context_.invocation, arguments_));
  command_.reset();  // before the directories of the same run are made again
  CORDON_TRY(command_, set_up_command(context_.invocation, arguments_, *host_, posture, run_id_, context_.output));
  opened_.emplace();
  opened_->policy = command_->policy;
  return {};
}

base::Result<plan::Plan, Stop> Job::prepare() {
  CORDON_OK(check_run_flags(arguments_));
  if (arguments_.dashes) {
    CORDON_TRY(papers_, RunPapers::of(arguments_, context_.invocation.caller.uid));
    return prepare_command();
  }
  CORDON_TRY(papers_, RunPapers::of(arguments_, context_.invocation.caller.uid));
  const Invocation& invocation = context_.invocation;
  CORDON_TRY(const policy::Posture posture, posture_of(invocation, arguments_));
  if (!arguments_.has("--dry-run")) start_launcher_unasked();
  const auto start_early = [this](const plan::HostFacts& facts) {
    if (!arguments_.has("--dry-run")) start_launcher_early(usual_opening(facts));
  };
  CORDON_TRY(host_, open_host(invocation, start_early));
  auto opened = open(invocation, host_->facts, {arguments_.operand(), posture, arguments_.values("--env")});
  if (!opened) {
    mend_a_command(invocation.caller, arguments_.operand(), opened.error().refused);
    return base::fail(std::move(opened).error());
  }
  opened_ = std::move(*opened);
  CORDON_OK(papers_.spare(*opened_));
  const bool stamped = !arguments_.has("--allow-unapproved");
  if (stamped) CORDON_OK(require_stamp(invocation, host_->facts, *opened_));
  CORDON_TRY(plan::Plan plan, planned());
  if (stamped) CORDON_OK(hold_to_landings(plan));
  return plan;
}

/// The approval is of what was seen here, not of whatever a link or a `#!` line says today.
base::Result<void, Stop> Job::hold_to_landings(const plan::Plan& plan) {
  const LandingCheck check = check_landings(context_.invocation, host_->facts, *opened_, plan);
  CORDON_OK(require_landings(context_.invocation, *opened_, check));
  if (check.recorded || arguments_.has("--dry-run")) return {};
  const bool written =
      check.unusable.empty() &&
      record_landings(context_.invocation, host_->facts, *opened_, opened_->fingerprint, check).has_value();
  if (check.now.empty()) return {};
  const std::string text =
      written ? "the approval did not record what links and '#!' lines lead to here: it is recorded now, and held from "
                "here on"
              : "what links and '#!' lines lead to could not be recorded, so a change of it will not be noticed";
  tell({written ? "leads-recorded" : "leads-not-recorded", text, {}});
  return {};
}

/// A reader of ours that does not read holds up the target's output, and nothing else.
base::Result<plan::Outcome> Job::stream(supervise::Run& run) {
  using Taking = supervise::Run::Taking;
  Output& output = context_.output;
  while (true) {
    CORDON_TRY(const bool over, run.service());
    if (over) return run.wait();
    output.flush();
    CORDON_OK(run.take_output(output.is_full() ? Taking::kNothing : Taking::kOutput));
    std::array<pollfd, 2> both{pollfd{.fd = run.poll_fd().get(), .events = POLLIN, .revents = 0},
                               pollfd{.fd = output.waiting_for().get(), .events = POLLOUT, .revents = 0}};
    const auto ready = kernel::poll(both, -1);
    if (!ready && ready.error().code != EINTR) return base::fail(kernel::error_at(ready.error(), "the run"));
  }
}

supervise::Options Job::run_options() {
  supervise::Options options;
  options.launcher = launcher_source();
  options.terminal = supervise::Terminal::kForeground;
  if (arguments_.has("--ask")) options.at_terminal = questions_of(context_.invocation);
  options.on_blocked = [this](const plan::Destination& one) {
    if (!json_) context_.output.say(report::blocked_text(one, context_.invocation.err.style));
  };
  if (!json_) return options;
  const auto stream_to = [this](report::Stream stream) {
    return [this, stream](std::span<const std::byte> chunk) {
      context_.output.emit(report::chunk_event(stream, {reinterpret_cast<const char*>(chunk.data()), chunk.size()}));
    };
  };
  options.streams = supervise::StreamMode::kCallbacks;
  options.stdin_mode = supervise::StdinMode::kNull;
  options.on_stdout = stream_to(report::Stream::kStdout);
  options.on_stderr = stream_to(report::Stream::kStderr);
  return options;
}

/// The launcher is at work while we look around and plan. One that was started on another guess is ended.
void Job::start_launcher_early(const plan::step::EnterNamespaces& opening) {
  if (prepared_ && opening_ == opening) return;
  if (arguments_.value("--engine") == "landlock") return;  // no namespace to be entered
  prepared_.reset();
  opening_ = opening;
  prepared_ = supervise::Prepared::begin(run_options(), opening);
}

/// An ordinary user's ids are mapped alone, and most hosts have all namespaces: that needs no look at this one.
void Job::start_launcher_unasked() {
  plan::HostFacts usual;
  usual.uid = context_.invocation.caller.uid;
  usual.gid = context_.invocation.caller.gid;
  if (usual.uid != 0) start_launcher_early(usual_opening(usual));
}

base::Result<plan::Outcome, Stop> Job::start_and_wait(const plan::Plan& plan) {
  const bool own_namespaces = plan.engine == plan::Engine::kNamespace;
  if (own_namespaces) start_launcher_early(usual_opening(host_->facts));  // not there yet, or has had another plan
  supervise::Prepared prepared =
      own_namespaces ? std::move(*prepared_) : supervise::Prepared::without_launcher(run_options());
  prepared_.reset();
  if (enforce::hold::Holds::needed_by(plan)) {
    prepared.set_hold_registry(hold_registry(state_directory(context_.invocation.caller, own_home(host_->facts)),
                                             host_->state, approval_caller(context_.invocation)));
  }
  prepared.set_run_id(arguments_.value("--run-id"));
  prepared.set_when_mounted([this] { host_->session.pins().release(); });
  prepared.set_on_listening(told_of_listening(command_, [this](plan::Note note) { tell(std::move(note)); }));
  const host::AutoExecWatch watch = watch_writes(context_.invocation.caller, host_->facts, plan);
  auto run = supervise::Run::start(plan, std::move(prepared));
  use_the_launchers_time();
  if (!run) {
    plan::Outcome outcome;
    outcome.setup_error = run.error();
    return outcome;
  }
  auto outcome = json_ ? stream(*run) : run->wait();
  remove_private_directory(plan);
  left_ = watch.after(clean_holds(state_directory(context_.invocation.caller, own_home(host_->facts))));
  // Who wanted the run to be over does not want to wait for a reader that reads nothing.
  const bool by_itself = outcome && outcome->asked_to_end == 0 && outcome->ended_by == plan::EndedBy::kTarget;
  if (!by_itself) context_.output.lose_patience(kReaderPatienceMs);
  if (outcome) return std::move(*outcome);
  lost_ = outcome.error();
  return base::fail(stop(report::refused(outcome.error(), "supervision-failed", "")));
}

/// The facts behind a failed step are dropped and probed, each for real. True where one of them turned out otherwise
/// than it was assumed: then, and only then, another plan can do better.
bool Job::assumed_wrongly(const plan::Plan& plan, const plan::Outcome& outcome) {
  if (!outcome.setup_error) return false;
  const std::vector<plan::Feature> behind = features_behind(plan, *outcome.setup_error);
  const std::vector<std::string> overlays = refused_overlays(plan, *outcome.setup_error);
  for (const std::string& source : overlays) note_refused_overlay(source, *outcome.setup_error);
  if (!overlays.empty()) return true;
  if (behind.empty()) return false;
  const plan::HostFacts before = host_->facts;
  for (plan::Feature feature : behind) host_->session.drop(feature, host_->facts);
  host_->session.probe(behind, host_->facts);
  return std::ranges::any_of(behind, [&](plan::Feature feature) {
    const bool assumed = before.feature(feature).state != plan::Availability::kNo;
    return assumed && host_->facts.feature(feature).state == plan::Availability::kNo;
  });
}

void Job::note_refused_overlay(const std::string& source, const base::Error& error) {
  plan::FeatureFact& fact = host_->facts.refused_overlays[source];
  fact.state = plan::Availability::kNo;
  fact.code = error.code;
  fact.operation = error.operation;
}

void Job::tell(plan::Note note) {
  if (std::ranges::find(told_, note) != told_.end()) return;  // by the first of two plans
  if (!json_) {
    const std::string at = note.at.line == 0 ? std::string() : fmt::format(" (line {})", note.at.line);
    context_.output.say(report::laid_out({"cordon: ", "note:", report::Paint::kYellow, note.text + at, 2},
                                         context_.invocation.err.style));
  }
  told_.push_back(std::move(note));
}

/// What a grant means that is surely meant otherwise, and under --strict whatever grants nothing: said however the run
/// ends.
void Job::tell_of_grants(const plan::Plan& plan) {
  for (const plan::Note& note : plan.notes) {
    const bool strictly = note.code == "missing-read" && opened_->policy.posture.strict;
    if (strictly || note.code == "write-looks-like-file" || note.code == "engine-chosen") tell(note);
  }
  for (const base::Diagnostic& note : opened_->notes) {
    const auto grants_nothing = [&](const plan::Note& other) {
      return other.code == "missing-read" && other.at.line == note.at.line && other.at.column == note.at.column;
    };
    if (note.code == "not-expanded" && std::ranges::any_of(plan.notes, grants_nothing))
      tell({note.code, fmt::format("{}, and nothing has this name; {}", note.message, note.hint), note.at});
  }
}

void Job::tell_before(const plan::Plan& plan) {
  tell_of_grants(plan);
  if (!command_) return;
  for (plan::Note& note : notes_of(*command_)) tell(std::move(note));
}

void Job::warn_of_location() {
  if (opened_->stamp != policy::manifest::StampState::kCurrent) return;
  for (const policy::approval::Finding& finding : findings(context_.invocation, *opened_)) {
    base::Diagnostic diagnostic = policy::approval::to_diagnostic(finding, opened_->file.written_path);
    diagnostic.severity = base::Severity::kWarning;
    told_.push_back({finding.code, finding.message, diagnostic.at});
    if (!json_) context_.output.say(report::text(diagnostic, {}, context_.invocation.err.style));
  }
}

report::RunRecord Job::run_record() const {
  if (arguments_.dashes) return {run_id_, started_at_, base::join(arguments_.after, " "), {}};
  return {run_id_, started_at_, opened_ ? opened_->file.real_path : arguments_.operand(),
          opened_ ? opened_->fingerprint : std::string()};
}

void Job::record(const std::string& document) {
  if (!host_) return;
  if (!records_.valid()) find_records(Missing::kMake);
  // A run is not failed for its record; a full disk or a read-only home is no reason to tell an exit code otherwise.
  if (records_.valid()) static_cast<void>(write_record(records_, run_id_, document));
}

void Job::find_records(Missing missing) {
  const std::string directory = state_directory(context_.invocation.caller, own_home(host_->facts));
  if (auto opened = open_records(directory, host_->state, approval_caller(context_.invocation), missing))
    records_ = std::move(*opened);
}

/// What can wait until the launcher is at work: it builds for milliseconds, and we would only sleep. A home that may
/// hang waits for the end: nobody would keep the time limit meanwhile.
void Job::use_the_launchers_time() {
  if (std::exchange(time_used_, true)) return;
  warn_of_location();
  if (!host_->session.may_hang()) find_records(Missing::kLeave);
}

int Job::stopped(const Stop& why) {
  if (lost_ && json_) {
    context_.output.print(report::failed_event(*lost_, left_));
    return kRefused;
  }
  const std::string_view closing = lost_ ? "the run was ended; what it did until then stands" : "nothing was run";
  if (host_ && opened_) record(report::record_document(run_record(), why.refused));
  if (auto written = papers_.write(why.refused); !written)
    context_.output.say(report::text(written.error().refused, {}, {}, context_.invocation.err.style));
  const int code = refuse(context_, arguments_.command, json_, why.refused, why.source, closing);
  return refused_code_ == kRefused ? code : refused_code_;
}

int Job::conclude(report::Report report) {
  report.left = std::move(left_);
  std::erase_if(report.notes, [&](const plan::Note& note) { return std::ranges::find(told_, note) != told_.end(); });
  report.told = std::move(told_);
  for (const policy::PathGrant& grant : opened_->policy.read) {
    const auto fact = host_->facts.paths.find(grant.path);
    if (fact != host_->facts.paths.end() && fact->second.state == plan::PathState::kAbsent)
      report.missing_read_grants.push_back(grant.written);
  }
  if (report.failure) {
    report::Refused refused = report::refused(report);
    if (mark_) say_mark(*mark_, refused.items.front());
    return stopped(stop(std::move(refused), opened_->file.text));
  }
  record(report::record_document(run_record(), report));
  if (json_)
    context_.output.print(report::verdict_event(report));
  else
    context_.output.say((report.observed.watching == plan::Watching::kNothing
                             ? std::string()
                             : plain_before_report(context_.invocation)) +
                        report::text(report, context_.invocation.err.style));
  if (auto written = papers_.write(report); !written) {
    context_.output.say(report::text(written.error().refused, {}, {}, context_.invocation.err.style));
    return kRefused;
  }
  if (!context_.output.broken()) return report.exit_code;
  context_.output.say("cordon: error: standard output could not be written, so the verdict was not delivered\n");
  return kRefused;
}

int Job::go() {
  auto plan = prepare();
  if (!plan) return stopped(plan.error());
  if (arguments_.has("--dry-run")) {
    show_plan(context_, *plan, json_);
    return context_.output.broken() ? kRefused : 0;
  }
  tell_before(*plan);
  auto outcome = start_and_wait(*plan);
  if (outcome && assumed_wrongly(*plan, *outcome)) {
    if (command_) {
      if (auto again = set_up(); !again) return stopped(again.error());
    }
    plan = planned();
    if (!plan) return stopped(plan.error());
    tell_before(*plan);
    outcome = start_and_wait(*plan);
  }
  if (!outcome) return stopped(outcome.error());
  if (const auto& error = outcome->setup_error;
      error && error->step.value > 0 && error->step.value <= plan->steps.size())
    mark_ = enforce::hold::planted_mark(plan->at(error->step));
  if (command_) {
    const std::string state = state_directory(context_.invocation.caller, own_home(host_->facts));
    for (plan::Note& note : end_command(*command_, *plan, *outcome, state, context_.invocation)) tell(std::move(note));
  }
  report::Report report = report::make_report(*plan, *outcome);
  explain_watched(*host_, opened_->policy, *plan, *outcome, report);
  if (command_)
    for (report::Denial& denial : report.denials) denial.grant = report::as_flag(denial.grant);
  return conclude(std::move(report));
}

}  // namespace

int run(Context& context, const Arguments& arguments) {
  // Never given back: freeing what a verdict knows piece by piece takes longer than the kernel needs for all of it.
  static Job* const job = new Job(context, arguments);
  const int code = job->go();
  job->end();
  return code;
}

}  // namespace cordon::cli
