#include "cli/draft_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "policy/manifest/manifest.h"
#include "policy/manifest/rewrite.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;
namespace draft = policy::draft;
namespace manifest = policy::manifest;

constexpr std::string_view kGeneratedBy = "cordon profile";

bool is_missing(const Stop& why) { return why.refused.items.front().code == "manifest-missing"; }

Stop of_another_program(const Opened& there, const Subject& subject) {
  return stop(
      report::refused_usage("out-of-another-program",
                            fmt::format("{} is the manifest of {}, not of {}", base::shown(subject.out),
                                        base::shown(there.as_written.entrypoint.written), base::shown(subject.named)),
                            "name another file: --out FILE", {}),
      there.file.text);
}

void drop_declined(std::vector<policy::PathGrant>& grants, draft::Access access,
                   const std::vector<draft::Want>& declined, report::ProfileView& view) {
  std::erase_if(grants, [&](const policy::PathGrant& grant) {
    const auto why = std::ranges::find_if(declined, [&](const draft::Want& want) {
      return (grant.path == want.path && access == want.access) || draft::covers(grant, access, want);
    });
    if (why == declined.end()) return false;
    view.notes.push_back(fmt::format("{}: {} is taken out: it gives {}, which you declined", draft::access_name(access),
                                     base::shown(grant.written), base::shown(why->path)));
    return true;
  });
}

policy::Provenance provenance_of(const report::ProfileView& view) {
  return {.generated_by = std::string(kGeneratedBy),
          .generated_at = {},
          .approves = {},
          .blocked_hosts = view.blocked_hosts};
}

base::Result<std::string, base::Diagnostics> merged_text(const Opened& there, const policy::Policy& drafted,
                                                         report::ProfileView& view) {
  if (drafted.entrypoint.path != there.policy.entrypoint.path) {  // more than its permissions changes
    view.layout_kept = false;
    policy::Policy whole = drafted;
    whole.provenance = provenance_of(view);
    return manifest::canonical_yaml(whole, manifest::ProvenanceBlock::kInclude);
  }
  CORDON_TRY(manifest::Rewritten rewritten, manifest::with_permissions(there.file.text, drafted));
  view.layout_kept = rewritten.layout_kept;
  auto with = manifest::with_provenance(rewritten.text, provenance_of(view));
  if (with) return with;
  // A provenance that cannot be put in plainly: then the whole text is ours to write.
  view.layout_kept = false;
  policy::Policy whole = drafted;
  whole.provenance = provenance_of(view);
  return manifest::canonical_yaml(whole, manifest::ProvenanceBlock::kInclude);
}

/// What a manifest grants, in one line.
std::string lines_of(const policy::Policy& policy) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> out;
  if (policy.exec.mode == policy::ExecMode::kAll) out.emplace_back("exec: all");
  for (const policy::PathGrant& grant : policy.exec.programs) out.push_back("exec " + base::shown(grant.written));
  for (const policy::PathGrant& grant : policy.read) out.push_back("read " + base::shown(grant.written));
  for (const policy::PathGrant& grant : policy.write) out.push_back("write " + base::shown(grant.written));
  for (const policy::NetworkRule& rule : policy.network)
    out.push_back(fmt::format("network {}:{}", base::shown(rule.host), base::shown(rule.port)));
  for (const policy::EnvGrant& grant : policy.env) out.push_back("env " + base::shown(grant.name));
  const std::size_t total = out.size();
  if (total > kMost) out.resize(kMost);
  return base::join(out, ", ") + (total > kMost ? fmt::format(" and {} more", total - kMost) : std::string());
}

/// A manifest that starts its program by itself, and whose program now needs the directory that the user stands in:
/// what `begins` adds goes in front, and the arguments and programs that it has stay.
void start_by_env(const policy::Policy& begins, policy::Policy& out) {
  const std::vector<policy::Text> own = std::move(out.args);
  const auto program = std::ranges::find(begins.args, out.entrypoint.path, &policy::Text::value);
  out.args.assign(begins.args.begin(), program == begins.args.end() ? program : std::next(program));
  out.args.insert(out.args.end(), own.begin(), own.end());
  out.entrypoint = begins.entrypoint;
  out.interpreter = begins.interpreter;
  out.interpreter_path = begins.interpreter_path;
  out.interpreter_args = begins.interpreter_args;
  if (out.exec.mode == policy::ExecMode::kAll) return;
  if (out.exec.mode != policy::ExecMode::kList || begins.exec.mode == policy::ExecMode::kAll) {
    out.exec = begins.exec;
    return;
  }
  for (const policy::PathGrant& program_of_it : begins.exec.programs)
    if (std::ranges::find(out.exec.programs, program_of_it.path, &policy::PathGrant::path) == out.exec.programs.end())
      out.exec.programs.push_back(program_of_it);
}

/// The lines of `before` that stand in `after` too.
policy::Policy kept_of(policy::Policy before, const policy::Policy& after) {
  const auto keep = [](auto& lines, const auto& others, auto same) {
    std::erase_if(lines, [&](const auto& one) {
      return std::ranges::none_of(others, [&](const auto& other) { return same(one, other); });
    });
  };
  const auto same_path = [](const policy::PathGrant& a, const policy::PathGrant& b) { return a.written == b.written; };
  keep(before.read, after.read, same_path);
  keep(before.write, after.write, same_path);
  keep(before.network, after.network,
       [](const policy::NetworkRule& a, const policy::NetworkRule& b) { return a.host == b.host && a.port == b.port; });
  if (before.exec.mode != after.exec.mode) before.exec = {};
  return before;
}

}  // namespace

base::Result<std::optional<Opened>, Stop> existing_draft(const Invocation& invocation, const plan::HostFacts& facts,
                                                         const Subject& subject) {
  if (subject.out.empty()) return std::optional<Opened>();
  auto there = open(invocation, facts, {subject.out, {}, {}});
  if (!there) {
    if (is_missing(there.error())) return std::optional<Opened>();
    return base::fail(std::move(there).error());
  }
  const bool is_its_own = starts_the_same(subject, there->policy, subject.base) ||
                          (subject.alone && starts_the_same(subject, there->policy, *subject.alone));
  if (!is_its_own) return base::fail(of_another_program(*there, subject));
  return std::optional<Opened>(std::move(*there));
}

base::Result<std::optional<approval::DraftPlace>, Stop> require_place_for_draft(Host& host, const Subject& subject) {
  if (subject.out.empty()) return std::optional<approval::DraftPlace>();
  auto held = approval::hold_place_for_draft(subject.out);
  const std::size_t slash = subject.out.rfind('/');
  const std::string directory = slash == 0 ? "/" : subject.out.substr(0, slash);
  const auto refuse = [&](std::string message) {
    return base::fail(stop(report::refused_usage("draft-not-written", std::move(message),
                                                 "name a new file in a directory that you may write: --out FILE, or "
                                                 "--out - for standard output",
                                                 {})));
  };
  plan::Questions questions;
  questions.paths = {directory, subject.out};
  if (auto answered = host.session.answer(questions, host.facts); !answered)
    return base::fail(stop(report::refused(answered.error(), "host-unanswered", "")));
  const plan::PathFact& around = host.facts.paths.at(directory);
  if (around.state != plan::PathState::kPresent || (around.id.type & S_IFMT) != S_IFDIR)
    return refuse(fmt::format("there is no directory {} for the draft", base::shown(directory)));
  if (!around.writable || around.read_only)
    return refuse(fmt::format("the draft cannot be made in {}, which you may not write", base::shown(directory)));
  const plan::PathFact& itself = host.facts.paths.at(subject.out);
  const bool is_link = std::ranges::any_of(itself.hops, [&](const plan::LinkHop& hop) {
    return hop.at == subject.out || hop.at == around.real + "/" + subject.out.substr(slash + 1);
  });
  if (itself.state != plan::PathState::kAbsent || is_link)
    return refuse(fmt::format("{} is there, and is no file that a draft can go to", base::shown(subject.out)));
  if (!held) return base::fail(stop(report::refused(held.error())));
  return std::optional(std::move(*held));
}

policy::Policy draft_base(const Subject& subject, const policy::Policy& begins, const std::optional<Opened>& existing,
                          const Declined& declined, report::ProfileView& view) {
  policy::Policy out = existing ? existing->policy : begins;
  out.posture = {};
  if (!existing) return out;
  if (!starts_the_same(subject, out, begins)) {
    start_by_env(begins, out);
  } else if (out.interpreter.empty()) {
    out.interpreter = begins.interpreter;
    out.interpreter_path = begins.interpreter_path;
    out.interpreter_args = begins.interpreter_args;
  }
  drop_declined(out.read, draft::Access::kRead, declined.wants, view);
  drop_declined(out.write, draft::Access::kWrite, declined.wants, view);
  if (declined.exec_all && out.exec.mode == policy::ExecMode::kAll) {
    out.exec = begins.exec.mode == policy::ExecMode::kAll ? policy::Exec{} : begins.exec;
    view.notes.emplace_back("exec: all is taken out, as you declined it");
  }
  std::erase_if(out.network, [&](const policy::NetworkRule& rule) {
    if (!declined.hosts.contains(rule.host + ":" + rule.port)) return false;
    view.notes.push_back(
        fmt::format("network: {}:{} is taken out, as you declined it", base::shown(rule.host), base::shown(rule.port)));
    return true;
  });
  return out;
}

base::Result<void, Stop> write_draft(Context& context, const Subject& subject, std::optional<Opened>& existing,
                                     const std::optional<approval::DraftPlace>& place, const policy::Policy& drafted,
                                     report::ProfileView& view) {
  view.manifest = subject.out;
  policy::Policy whole = drafted;
  whole.provenance = provenance_of(view);
  if (subject.out.empty()) {
    context.output.print(manifest::canonical_yaml(whole, manifest::ProvenanceBlock::kInclude));
    view.written = true;
    return {};
  }
  if (!existing) {
    auto written =
        approval::write_new_draft(*place, manifest::canonical_yaml(whole, manifest::ProvenanceBlock::kInclude));
    if (!written) return base::fail(stop(report::refused(written.error())));
    view.written = true;
    return {};
  }
  view.merged = true;
  // Nothing new: an approval goes on being one.
  if (manifest::canonical_yaml(existing->as_written) == manifest::canonical_yaml(drafted)) {
    view.notes.push_back(fmt::format("{} allows all of it already, and is left as it is", base::shown(subject.out)));
    return {};
  }
  if (existing->stamp != manifest::StampState::kCurrent) {
    if (const std::string kept = lines_of(kept_of(existing->as_written, drafted)); !kept.empty())
      view.notes.push_back(
          fmt::format("{} was there, and nobody approved it: these lines of it are kept, whoever wrote "
                      "them: {}",
                      base::shown(subject.out), kept));
  }
  view.approval_voided = existing->stamp == manifest::StampState::kCurrent;
  auto text = merged_text(*existing, drafted, view);
  if (!text) return base::fail(stop(report::refused(text.error()), existing->file.text));
  auto written = approval::replace_with_draft(existing->file, *text, approval_caller(context.invocation));
  if (!written) return base::fail(stop(report::refused(written.error())));
  view.written = true;
  return {};
}

}  // namespace cordon::cli
