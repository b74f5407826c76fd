// The journal: this host's private record of what was approved here, one entry per manifest, so that a re-approval can
// show what changed. It grants nothing: a stamp holds without it, and a record that cannot be trusted only means that
// the whole policy is shown again.
//
//   <directory>/<sha256 of the manifest's real path>.json      directory 0700, entry 0600
//
// Directory and entry are used only when neither can have been written by others: owned by the caller or root, no group
// or world write bit (a sticky bit does not help: others could plant an entry), no write by ACL, never through a link.
// An entry is bounded, parsed strictly, and must be about this path and carry the fingerprint of its own policy text.
//
// The directories are handed in by cli/ ($XDG_STATE_HOME/cordon/approvals, and the older system's bento/approvals,
// which is read where Cordon has no entry and never written).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "policy/approval/facts.h"
#include "policy/approval/pins.h"
#include "policy/policy.h"

namespace cordon::policy::approval {

inline constexpr std::size_t kMostJournalBytes = 8U << 20;

struct JournalPlaces {
  std::string own;    ///< absolute; "" = none (then nothing is read, and nothing can be written)
  std::string older;  ///< absolute; "" = none
};

enum class Reviewed : std::uint8_t {
  kByHuman,       ///< somebody answered the question on a terminal
  kWithoutAsking  ///< --yes
};

struct JournalEntry {
  std::string fingerprint;    ///< lower-case hex
  std::string policy;         ///< canonical YAML of the policy as approved
  std::string manifest_path;  ///< real path
  std::string stamped_at;     ///< RFC 3339, UTC
  Reviewed reviewed = Reviewed::kWithoutAsking;
  std::vector<PinnedContent> pins;  ///< what the stamp covered
  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

enum class JournalVerdict : std::uint8_t {
  kAbsent,
  kUntrusted,      ///< others could have written it, or it does not parse; `why` says which
  kSomethingElse,  ///< sound, but about another stamp or another path than the manifest's
  kMatches,
};
std::string_view verdict_name(
    JournalVerdict verdict);  ///< "absent", "untrusted", "describes-something-else", "matches"

enum class JournalSource : std::uint8_t { kOwn, kOlder };

struct JournalReading {
  JournalVerdict verdict = JournalVerdict::kAbsent;
  std::optional<JournalEntry> entry;  ///< only for kMatches
  std::optional<Policy> approved;     ///< entry->policy, parsed; only for kMatches
  JournalSource source = JournalSource::kOwn;
  std::string why;  ///< one sentence for people, quoted; "" for kAbsent and kMatches
};

/// What the journal knows of the manifest at `real_path`, whose stamp is `approves` ("" for none: then nothing
/// matches).
JournalReading read_journal(const JournalPlaces& places, std::string_view real_path, std::string_view approves,
                            Caller caller);

/// Stores `entry`, atomically: a new private file, synced, renamed over the old one. Makes the directory (0700) where
/// it is missing. Fails where the directory is not private.
base::Result<void> write_journal(const std::string& directory, const JournalEntry& entry, Caller caller);

/// "<sha256 of real path>.json"
std::string journal_entry_name(std::string_view real_path);

}  // namespace cordon::policy::approval
