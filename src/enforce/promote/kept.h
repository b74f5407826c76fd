// Kept changes: what a run wrote and promotion left in its upper, until somebody decides or it is a week old.
//
// A registry is a private directory (0700) on the mount where the uppers are; each entry is a directory named by its
// ID with `upper`, `scratch` and `about`. Nothing is removed unasked but by age and, where the registry is full, from
// the oldest on; the newest always stays. What is below an upper is hostile: it is listed and applied by the rules of
// promote.h, never followed. Called by cli/ (`cordon changes`, the end of a run). It must not print.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "enforce/promote/promote.h"

namespace cordon::enforce::promote {

/// What is known of an entry; `kept_at`, `entries` and `bytes` are filled in by Kept::keep().
/// `id`: letters, digits, '.' and '-', not '.' at the beginning; the run's own is a good one.
struct About {
  std::string id;
  std::int64_t kept_at = 0;             ///< seconds since 1970
  std::string workspace;                ///< absolute path
  std::uint64_t device = 0, inode = 0;  ///< of the workspace
  timespec since{};                     ///< Task::since of its run
  uid_t uid = 0;                        ///< whose its files are
  gid_t gid = 0;
  std::vector<std::string> command;
  std::uint64_t entries = 0, bytes = 0;
};

struct Change {
  enum class What : std::uint8_t { kNew, kChanged, kDeleted, kReplaced, kUnusual };
  std::string path;  ///< hostile bytes
  What what = What::kNew;
  Kind kind = Kind::kFile;
  std::uint64_t size = 0;
};
struct Changes {
  std::vector<Change> changes;  ///< at most 10,000, by path
  std::uint64_t total = 0;
  bool whole = true;  ///< false where something in it is too deep, or too much, to be listed
};

struct KeptBounds {
  std::int64_t seconds = std::int64_t{7} * 24 * 3600;
  std::uint64_t bytes = std::uint64_t{2} << 30U;
  std::size_t entries = 50;
};

class Kept {
 public:
  /// `registry`: opened by the caller, who has checked that it is private.
  explicit Kept(base::Fd registry, KeptBounds bounds = {}) : registry_(std::move(registry)), bounds_(bounds) {}

  /// Moves the directory `name` in `from`, an upper, into the registry. Then the oldest go: `dropped` names them.
  struct Added {
    About about;
    std::vector<About> dropped;
  };
  base::Result<Added> keep(base::FdView from, const std::string& name, About about, std::int64_t now);

  /// Removes what is too old.
  base::Result<std::vector<About>> expire(std::int64_t now);

  /// Newest first.
  base::Result<std::vector<About>> list() const;

  /// The one whose ID begins like this ("" is the newest); nothing where there is none, or more than one.
  base::Result<std::optional<About>> find(const std::string& id) const;

  /// `workspace`: opened by the caller; not valid where it is gone, and then everything is new.
  base::Result<Changes> show(const About& about, base::FdView workspace) const;

  /// The upper, for reading single files of it.
  base::Result<base::Fd> open_upper(const About& about) const;

  /// Promotes all of it that promote() would let arrive as an output; `rules` gives shields, roots and umask.
  /// The entry goes where nothing is left of it.
  base::Result<Outcome> apply(const About& about, base::Fd workspace, Task rules);

  base::Result<void> discard(const About& about);

 private:
  base::Fd registry_;
  KeptBounds bounds_;
};

}  // namespace cordon::enforce::promote
