// Aliases: other names under which the target would reach a credential that is hidden under its own: hard links, and
// places where the file system that holds it is mounted once more. The planner asks (planner/aliases.h), the host looks
// (host/alias_scan.h), and whoever runs Cordon may accept a tree with --accept-alias.
//
// Plain data. An answer that could not be given whole says so in `end`, and the planner refuses: a name that nobody
// looked for is never taken for one that is not there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cordon::plan {

/// kQuick gives up after a budget and says kPartial: for `validate`, which runs nothing.
enum class AliasEffort : std::uint8_t { kWhole, kQuick };

struct ExposedTree {
  std::string path;          ///< real: no link left in it; a directory or a file
  std::uint64_t device = 0;  ///< st_dev
  friend bool operator==(const ExposedTree&, const ExposedTree&) = default;
};

struct AliasQuestion {
  std::vector<std::string> credentials;  ///< stores, with all that is below, and single files; absolute, sorted
  /// Shielded paths of which only mounts are looked for: trees too large to be read, and trees (package stores) whose
  /// files have other names as a matter of course.
  std::vector<std::string> only_mounts;
  /// Real paths of files that are started or mapped as code, and directories of such: another name of one below a write
  /// grant would let its bytes be changed. Links in them are not followed.
  std::vector<std::string> code = {};
  std::vector<std::string> hidden;   ///< what stands at or below these is not seen, so it is no other name; sorted
  std::vector<std::string> homes;    ///< a link inside a store is followed where it leads below one of these
  std::vector<ExposedTree> exposed;  ///< what the target is shown; none lies in another; sorted
  AliasEffort effort = AliasEffort::kWhole;
  friend bool operator==(const AliasQuestion&, const AliasQuestion&) = default;
};

enum class AliasKind : std::uint8_t {
  kHardLink,
  kBindMount,
  kNetworkMount,  ///< the same network file system mounted once more: what it shows is not asked, it may hang
};

struct Alias {
  std::string path;        ///< where the target would find it
  std::string credential;  ///< its own name
  AliasKind kind = AliasKind::kHardLink;
  friend bool operator==(const Alias&, const Alias&) = default;
  friend auto operator<=>(const Alias&, const Alias&) = default;
};

enum class AliasScanEnd : std::uint8_t {
  kComplete,
  kPartial,       ///< kQuick only: the budget was used up
  kTooMany,       ///< more entries than the bound
  kTooDeep,       ///< directories nested deeper than the bound
  kTooLong,       ///< more time than the bound
  kMountTable,    ///< /proc/self/mountinfo could not be read whole
  kCannotBeRead,  ///< `where` answered with `code`
};

struct AliasAnswer {
  AliasQuestion asked;
  AliasScanEnd end = AliasScanEnd::kComplete;
  std::string where;                ///< unless kComplete: the place that stopped it
  int code = 0;                     ///< errno, for kCannotBeRead
  std::vector<Alias> found;         ///< sorted, each once
  std::vector<std::string> unread;  ///< stores that the caller may not read: their files were not looked at
  friend bool operator==(const AliasAnswer&, const AliasAnswer&) = default;
};

}  // namespace cordon::plan
