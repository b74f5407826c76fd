// manifest: the YAML text that a person writes and reviews <-> the Policy that everything behind it is made from.
//
// Pure: no file is opened, no environment read; the caller hands in the text and, for resolve(), the anchors. The life
// of a manifest is parse -> (fingerprint, stamp_state) -> resolve -> planner. The fingerprint is taken before resolve()
// or after it, it makes no difference: it covers what was written, never what that became on this host.
//
// Invariants: a text that parses has exactly one meaning (no tags, anchors, aliases, merge keys, duplicate keys or
// second documents); a rule that cannot be parsed is an error and never a wider rule; every problem of a text is
// reported in one go, with its place. The keys, their types and their documentation stand in one table (keys.h).
//
// Called by policy/approval and cli/. Must not: touch the disk, decide whether a grant is wise, or print.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/result.h"
#include "policy/policy.h"

namespace cordon::policy::manifest {

/// Longest manifest, in bytes. A reader should take one byte more than this and hand it in: parse() says the rest.
inline constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostEntries = 4096;  ///< of all lists together

struct Loaded {
  Policy policy;            ///< as written: no grant has a `path` yet
  std::string text;         ///< the bytes that were parsed, for render() and with_provenance()
  base::Diagnostics notes;  ///< warnings and notes; never errors
};

/// Parses and checks a whole manifest. `file_name` is how the user named it; it goes into every Span. The errors are in
/// the order of the text, at most 50 and then one that counts the rest; notes are not among them.
base::Result<Loaded, base::Diagnostics> parse(std::string_view text, std::string_view file_name);

/// What a pinned file held when it was read.
struct PinnedContent {
  std::string written;  ///< as in PathGrant::written of the `pin` entry
  std::string sha256;   ///< lower-case hex (digest.h); empty: it could not be read, which equals no content at all
  friend bool operator==(const PinnedContent&, const PinnedContent&) = default;
};

/// SHA-256 in lower-case hex over everything that the policy grants, as written. Origins, provenance, posture, supplied
/// environment values and resolved paths are outside it. Byte for byte the older system's encoding while only its keys
/// are used, so that its stamps stay valid; a versioned one of our own as soon as a new key is (uses_new_keys). A pin
/// without its content in `pinned` counts as unreadable: the result is then no file's approval.
std::string fingerprint(const Policy& policy, std::span<const PinnedContent> pinned = {});

/// True where the versioned encoding is used: a key of Cordon's own (SPEC §2), a list under `exec`, a rule's reason.
bool uses_new_keys(const Policy& policy);

enum class StampState { kUnapproved, kCurrent, kStale };

/// Compares the stamp in the provenance with a fingerprint just taken. Drift detection, unkeyed.
StampState stamp_state(const Policy& policy, std::string_view fingerprint);
std::string_view stamp_state_name(StampState state);  ///< "unapproved", "current", "stale"

/// What relative and `~` paths hang on.
struct Anchors {
  std::string manifest_directory;  ///< absolute; relative paths start here
  std::string home;                ///< $HOME or the passwd home; looked at only where a path needs it
  std::string manifest_path;       ///< absolute; becomes Policy::manifest.path
};

/// Fills `path` of every grant (entrypoint, read, write, pin, deny, wx, devices excepted: those are absolute as
/// written), of listed programs given as paths, and `interpreter_path` where the interpreter is a path. Lexical only:
/// links are host/'s matter. `args` are never touched. Refuses write grants that come out as "/", a home or above it.
base::Result<Policy, base::Diagnostics> resolve(Policy policy, const Anchors& anchors);

/// The text with its provenance block replaced, or one appended; every other byte stays: comments, layout, line
/// endings. Comments inside the block are kept where its entries are only given new values. The result has been parsed
/// again and holds the same policy and exactly this provenance; where that cannot be had, a Diagnostic says why.
base::Result<std::string, base::Diagnostics> with_provenance(std::string_view text, const Provenance& provenance);

enum class ProvenanceBlock { kOmit, kInclude };

/// The policy as YAML in one canonical layout: keys in the table's order, sets sorted, scalars quoted where they need
/// it. Parses to the same fingerprint. For the journal and for drafts.
std::string canonical_yaml(const Policy& policy, ProvenanceBlock provenance = ProvenanceBlock::kOmit);

/// One difference between two policies, in words.
struct Change {
  enum class Effect { kWidens, kNarrows, kDiffers };
  Effect effect = Effect::kDiffers;
  std::string key;       ///< the manifest key it is about: "write", "limits.memory"
  std::string sentence;  ///< "now also writes ./out"; bytes from outside quoted; no full stop
  friend bool operator==(const Change&, const Change&) = default;
};

/// Everything that the fingerprint would notice, in the order of the keys; empty where nothing was changed.
std::vector<Change> changes(const Policy& before, const Policy& after);

/// The sentences of changes().
std::vector<std::string> semantic_diff(const Policy& before, const Policy& after);

/// The policy's keys under the names that `validate --json` uses: entrypoint, interpreter, interpreter_args, args, env,
/// read, write, network (["host:port"]), exec, exec_programs, limits and Cordon's own; absent where empty. `exec` is
/// always a string ("list" with exec_programs). Supplied environment values never appear. Strings are valid UTF-8.
nlohmann::ordered_json to_json(const Policy& policy);

}  // namespace cordon::policy::manifest
