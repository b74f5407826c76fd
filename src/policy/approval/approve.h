// approve: what must be shown before a manifest is stamped, and the stamp itself.
//
// review() decides and touches nothing. stamp() writes: the text with its provenance block rewritten (comments and
// layout stay) into a private file beside the manifest, synced, and put in its place in one step, and only if the name
// still leads to the very file and bytes that were reviewed. After any failure the manifest is as it was and no
// temporary file is left. Then the journal; a journal that cannot be written leaves the stamp standing and says so.
//
// A stamp is unkeyed: it tells drift, not authorship. Its state follows from the fingerprint alone, so stamps made by
// the older system stay valid. Asking, and showing, is cli/'s.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/error.h"
#include "base/result.h"
#include "policy/approval/journal.h"
#include "policy/approval/location.h"
#include "policy/approval/manifest_file.h"
#include "policy/approval/pins.h"
#include "policy/manifest/manifest.h"
#include "policy/policy.h"

namespace cordon::policy::approval {

using manifest::StampState;

struct ReviewInput {
  const ManifestFile& manifest;
  const Policy& as_written;
  std::string fingerprint;          ///< manifest::fingerprint(as_written, pins)
  std::vector<PinnedContent> pins;  ///< as read now
  JournalReading journal;           ///< read_journal(places, manifest.real_path, provenance.approves, caller)
  std::vector<Finding> findings;    ///< judge_location(manifest, caller, accounts)
};

struct ApproveReview {
  StampState stamp = StampState::kUnapproved;
  JournalVerdict journal = JournalVerdict::kAbsent;
  JournalSource journal_source = JournalSource::kOwn;
  std::string
      journal_note;  ///< which case of the journal applies and that the whole policy must be read; "" on a match

  /// Nothing to do: the stamp is current, this host recorded it, and the file has no group or world write bit.
  bool already_approved = false;

  /// Against the policy that the journal says was approved last: "now also writes ./out". Only meaningful where
  /// `has_previous`; else the whole policy is what must be read.
  bool has_previous = false;
  std::vector<manifest::Change> changes;
  std::vector<PinChange> pin_changes;
  std::string previous_at;  ///< RFC 3339, UTC
  Reviewed previous_reviewed = Reviewed::kWithoutAsking;

  std::vector<Finding> findings;
  bool fatal = false;       ///< a finding forbids stamping here
  bool will_clamp = false;  ///< the group/world write bits will be taken away
  std::string fingerprint;  ///< what stamp() will write
};
ApproveReview review(const ReviewInput& input);

struct StampInput {
  const Policy& as_written;
  const ApproveReview& review;
  std::vector<PinnedContent> pins;
  std::string generated_at;  ///< RFC 3339, UTC
  Reviewed reviewed = Reviewed::kWithoutAsking;
  JournalPlaces journal;
  Caller caller;
};

struct Stamped {
  std::string fingerprint;
  std::string real_path;   ///< the file that was written
  std::uint32_t mode = 0;  ///< its mode now
  bool clamped = false;    ///< group/world write bits were taken away
  /// The stamp stands but this host could not record it: cli/ says so and ends with 125.
  std::optional<base::Error> journal_failure;
};

/// Stamps. On success `manifest` is the new file (text, digest, identity, mode). Refuses a review with fatal findings.
/// Codes: location-unsafe, manifest-changed ("changed while you were reading"), manifest-moved, stamp-not-written
/// (with the call and errno), provenance-not-written.
base::Result<Stamped, base::Diagnostics> stamp(ManifestFile& manifest, const StampInput& input);

}  // namespace cordon::policy::approval
