// Promotion: from the private upper directory of an ended run into the workspace, or into a cache.
//
// Every byte, name, type, mode, time, attribute and link below the upper was chosen by an attacker, and somebody else
// may change the destination meanwhile. So: by descriptor, through no link and no mount, one component never trusted
// because an earlier look found it good. Nothing that the run was not to write arrives, nothing arrives with more than
// permission bits, nothing on the host is replaced that changed since the run began. What is not promoted stays in the
// upper, named, for `cordon changes`.
//
// First the whole upper is looked at and cleaned; then a journal says what will be done and is synced; then it is done,
// and the journal goes. After a death at any point replay() finishes the work; done twice, it changes nothing.
// Called by cli/ once every process of the run is gone. Single-threaded. It must not print, and never sees a Policy.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::enforce::promote {

enum class Kind : std::uint8_t { kFile, kDirectory, kLink };

enum class Class : std::uint8_t {
  kOutput,    ///< promoted; of a directory: everything below it too, which is then not asked about
  kLock,      ///< a file, after the outputs
  kManifest,  ///< a file, last
  kOther,     ///< kept; a directory that exists at the destination is looked into, for outputs below
  kNever,     ///< kept, with all below
  kDropped,   ///< neither promoted nor kept: a tool makes it again
  kLeads,     ///< a directory, new perhaps: made for the outputs in it, of which alone it then holds something
};

/// `path` is relative to the workspace, without a leading or trailing slash. Of a deletion, `kind` is what would go.
using Classify = std::function<Class(std::string_view path, Kind kind)>;

enum class Handling : std::uint8_t { kPromote, kKeep };

/// Whether lock files, manifests and deletions conflict where only the directory around them changed since `since`.
/// An output that is added replaces nothing, and never does.
enum class Siblings : std::uint8_t { kCount, kIgnored };

struct Bounds {
  std::uint64_t entries = 2'000'000;
  std::size_t levels = 256;
  std::size_t path = 4'095;  ///< bytes of a relative path; what one system call takes
  std::uint64_t bytes = std::uint64_t{64} << 30U;
  std::size_t listed = 1'000;  ///< entries in each list of the Outcome
};

struct Task {
  base::Fd upper;        ///< of an overlay with userxattr, unmounted
  base::Fd destination;  ///< the workspace, which was the lower directory
  /// A private directory (0700) on the upper's mount, outside every grant: for the journal and what is replaced.
  base::Fd scratch;
  timespec since{};  ///< ctime of a file that was made on the destination's file system when the run began
  Classify classify;
  /// Names that never arrive, whatever the case of their letters: "x" at any depth, "x/y" as the end of any path.
  /// `.git` and bare repositories are always among them.
  std::vector<std::string> shields;
  std::string workspace;                   ///< its absolute path, for links that name it
  std::vector<std::string> allowed_roots;  ///< absolute; links may point below them
  mode_t umask = 022;
  uid_t uid = 0;  ///< whose the run's files are
  gid_t gid = 0;
  Handling locks = Handling::kPromote;
  Handling manifests = Handling::kKeep;
  Siblings siblings = Siblings::kCount;
  Bounds bounds;
};

enum class Reason : std::uint8_t {
  kPromoted,  ///< made, or replaced
  kDeleted,
  kStripped,  ///< promoted without its set-id bits, attributes or access control list
  // kept
  kNotAnOutput,
  kHeldLock,
  kHeldManifest,
  kDeletionOutsideOutputs,
  kExists,        ///< promote_new_entries(): it replaces nothing
  kHoldsRefused,  ///< promote_new_entries(): something in it is refused
  kHostFailed,
  // conflicts
  kChangedMeanwhile,        ///< the destination
  kParentChangedMeanwhile,  ///< the directory around it
  kAppearedMeanwhile,       ///< something stands where nothing did, or a link, or another directory
  // refused
  kSpecialFile,  ///< FIFO, socket, device
  kForeignOwner,
  kGitRepository,
  kShielded,
  kLinkLeaves,   ///< its target is outside the workspace and the allowed roots, or cannot be told
  kLinkAtPlace,  ///< a directory where the destination has a link
  kMountAtPlace,
  kProtectedAtPlace,  ///< what it would replace or delete holds a shielded name or a repository
  kUnknownOverlay,    ///< redirect or metacopy: not what it seems to be
  kOverBound,
};

/// Stable, kebab-case: "not-an-output".
std::string_view code_of(Reason reason);

struct Entry {
  std::string path;  ///< hostile bytes; quote before printing
  Reason reason = Reason::kPromoted;
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// The first of them, and how many there were.
struct List {
  std::vector<Entry> entries;
  std::uint64_t total = 0;
};

struct Outcome {
  List promoted;  ///< whole directories as one entry
  List conflicts, kept, refused, stripped;
  std::uint64_t files = 0, directories = 0, links = 0, deletions = 0, bytes = 0;  ///< promoted
  /// Nothing was promoted: `refused` says which bound, at which place.
  bool over_bound = false;
  /// True where the upper holds nothing that anybody would want to keep.
  [[nodiscard]] bool is_all() const { return conflicts.total + kept.total + refused.total == 0; }
};

/// An Error where the host fails before anything was changed; later failures are kept entries.
base::Result<Outcome> promote(Task& task);

/// For caches: only entries that are not at the destination, each whole or not at all; nothing is replaced or deleted.
/// `classify`, `since`, `locks` and `manifests` are not looked at.
base::Result<Outcome> promote_new_entries(Task& task);

/// Finishes what a promotion that died had begun, from the journal in `scratch`. Nothing to do is an empty Outcome.
base::Result<Outcome> replay(base::FdView upper, base::FdView destination, base::FdView scratch);

}  // namespace cordon::enforce::promote
