#include "policy/approval/approve.h"

#include <sys/stat.h>

#include "base/text.h"
#include "policy/approval/replace_manifest.h"

namespace cordon::policy::approval {
namespace {

using base::Diagnostic;

constexpr std::uint32_t kOthersWrite = S_IWGRP | S_IWOTH;
constexpr std::string_view kGeneratedBy = "cordon approve";

std::string note_on(const JournalReading& journal, StampState stamp) {
  const std::string read_all = "; read the whole policy";
  switch (journal.verdict) {
    case JournalVerdict::kMatches:
      return {};
    case JournalVerdict::kAbsent:
      if (stamp == StampState::kUnapproved) return {};
      return "the manifest carries a stamp that was not made on this host" + read_all;
    case JournalVerdict::kUntrusted:
      return "what was approved here before cannot be told, because the journal cannot be used: " + journal.why +
             read_all;
    case JournalVerdict::kSomethingElse:
      return "what the stamp stands for cannot be told from this host's journal: " + journal.why + read_all;
  }
  return {};
}

/// What the older system and Cordon write differs in layout only; both keep the hosts that profiling saw blocked.
Provenance provenance_for(const StampInput& input) {
  Provenance out{.generated_by = std::string(kGeneratedBy),
                 .generated_at = input.generated_at,
                 .approves = input.review.fingerprint,
                 .blocked_hosts = {}};
  if (input.as_written.provenance) out.blocked_hosts = input.as_written.provenance->blocked_hosts;
  return out;
}

/// The new text, proven to mean what was reviewed: same policy, this stamp, within the bounds of a manifest.
base::Result<std::string, base::Diagnostics> stamped_text(const ManifestFile& manifest, const StampInput& input) {
  const Provenance provenance = provenance_for(input);
  CORDON_TRY(std::string text, manifest::with_provenance(manifest.text, provenance));
  CORDON_TRY(const manifest::Loaded again, manifest::parse(text, manifest.written_path));
  const bool same = manifest::fingerprint(again.policy, input.pins) == input.review.fingerprint;
  if (!same || again.policy.provenance != provenance) {
    return base::fail(base::Diagnostics{
        Diagnostic{.code = "provenance-not-written",
                   .at = {.file = manifest.written_path},
                   .message = "the text with its new provenance block would not mean what was reviewed",
                   .hint = "remove the provenance block by hand and approve again"}});
  }
  return text;
}

}  // namespace

ApproveReview review(const ReviewInput& input) {
  ApproveReview out;
  out.fingerprint = input.fingerprint;
  out.stamp = manifest::stamp_state(input.as_written, input.fingerprint);
  out.journal = input.journal.verdict;
  out.journal_source = input.journal.source;
  out.journal_note = note_on(input.journal, out.stamp);
  out.findings = input.findings;
  out.fatal = has_fatal(input.findings);
  out.will_clamp = (input.manifest.facts.mode & kOthersWrite) != 0;
  if (input.journal.verdict == JournalVerdict::kMatches) {
    out.has_previous = true;
    out.changes = manifest::changes(*input.journal.approved, input.as_written);
    out.pin_changes = changed_pins(input.journal.entry->pins, input.pins);
    out.previous_at = input.journal.entry->stamped_at;
    out.previous_reviewed = input.journal.entry->reviewed;
  }
  out.already_approved = out.stamp == StampState::kCurrent && out.has_previous && !out.will_clamp && !out.fatal;
  return out;
}

base::Result<Stamped, base::Diagnostics> stamp(ManifestFile& manifest, const StampInput& input) {
  if (input.review.fatal) {
    base::Diagnostics refused;
    for (const Finding& finding : input.review.findings) {
      if (finding.fatal) refused.push_back(to_diagnostic(finding, manifest.written_path));
    }
    return base::fail(std::move(refused));
  }
  CORDON_TRY(const std::string text, stamped_text(manifest, input));
  CORDON_OK(replace_manifest(manifest, text, input.caller));

  Stamped out{.fingerprint = input.review.fingerprint,
              .real_path = manifest.real_path,
              .mode = manifest.facts.mode,
              .clamped = input.review.will_clamp,
              .journal_failure = std::nullopt};
  const auto recorded = write_journal(input.journal.own,
                                      {.fingerprint = input.review.fingerprint,
                                       .policy = manifest::canonical_yaml(input.as_written),
                                       .manifest_path = manifest.real_path,
                                       .stamped_at = input.generated_at,
                                       .reviewed = input.reviewed,
                                       .pins = input.pins},
                                      input.caller);
  if (!recorded) out.journal_failure = recorded.error();
  return out;
}

}  // namespace cordon::policy::approval
