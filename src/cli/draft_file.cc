#include "cli/draft_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "policy/approval/draft_file.h"
#include "policy/manifest/manifest.h"
#include "policy/manifest/rewrite.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;
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

void drop_declined(std::vector<policy::PathGrant>& grants, const std::set<std::string>& declined) {
  std::erase_if(grants, [&](const policy::PathGrant& grant) { return declined.contains(grant.path); });
}

policy::Provenance provenance_of(const report::ProfileView& view) {
  return {.generated_by = std::string(kGeneratedBy),
          .generated_at = {},
          .approves = {},
          .blocked_hosts = view.blocked_hosts};
}

base::Result<std::string, base::Diagnostics> merged_text(const Opened& there, const policy::Policy& draft,
                                                         report::ProfileView& view) {
  CORDON_TRY(manifest::Rewritten rewritten, manifest::with_permissions(there.file.text, draft));
  view.layout_kept = rewritten.layout_kept;
  auto with = manifest::with_provenance(rewritten.text, provenance_of(view));
  if (with) return with;
  // A provenance that cannot be put in plainly: then the whole text is ours to write.
  view.layout_kept = false;
  policy::Policy whole = draft;
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

}  // namespace

base::Result<std::optional<Opened>, Stop> existing_draft(const Invocation& invocation, const plan::HostFacts& facts,
                                                         const Subject& subject) {
  if (subject.out.empty()) return std::optional<Opened>();
  auto there = open(invocation, facts, {subject.out, {}, {}});
  if (!there) {
    if (is_missing(there.error())) return std::optional<Opened>();
    return base::fail(std::move(there).error());
  }
  if (there->policy.entrypoint.path != subject.base.entrypoint.path)
    return base::fail(of_another_program(*there, subject));
  return std::optional<Opened>(std::move(*there));
}

policy::Policy draft_base(const Subject& subject, const std::optional<Opened>& existing,
                          const std::set<std::string>& declined) {
  policy::Policy out = existing ? existing->policy : subject.base;
  out.posture = {};
  if (!existing) return out;
  out.interpreter = subject.base.interpreter;
  out.interpreter_path = subject.base.interpreter_path;
  out.interpreter_args = subject.base.interpreter_args;
  drop_declined(out.read, declined);
  drop_declined(out.write, declined);
  return out;
}

base::Result<void, Stop> write_draft(Context& context, const Subject& subject, std::optional<Opened>& existing,
                                     const policy::Policy& draft, report::ProfileView& view) {
  view.manifest = subject.out;
  policy::Policy whole = draft;
  whole.provenance = provenance_of(view);
  if (subject.out.empty()) {
    context.output.print(manifest::canonical_yaml(whole, manifest::ProvenanceBlock::kInclude));
    view.written = true;
    return {};
  }
  if (!existing) {
    auto written =
        approval::write_new_draft(subject.out, manifest::canonical_yaml(whole, manifest::ProvenanceBlock::kInclude));
    if (!written) return base::fail(stop(report::refused(written.error())));
    view.written = true;
    return {};
  }
  view.merged = true;
  // Nothing new: an approval goes on being one.
  if (manifest::canonical_yaml(existing->as_written) == manifest::canonical_yaml(draft)) {
    view.notes.push_back(fmt::format("{} allows all of it already, and is left as it is", base::shown(subject.out)));
    return {};
  }
  if (existing->stamp != manifest::StampState::kCurrent) {
    if (const std::string kept = lines_of(existing->as_written); !kept.empty())
      view.notes.push_back(
          fmt::format("{} was there, and nobody approved it: these lines of it are kept, whoever wrote "
                      "them: {}",
                      base::shown(subject.out), kept));
  }
  view.approval_voided = existing->stamp == manifest::StampState::kCurrent;
  auto text = merged_text(*existing, draft, view);
  if (!text) return base::fail(stop(report::refused(text.error()), existing->file.text));
  auto written = approval::replace_with_draft(existing->file, *text, approval_caller(context.invocation));
  if (!written) return base::fail(stop(report::refused(written.error())));
  view.written = true;
  return {};
}

}  // namespace cordon::cli
