// The directories of Cordon's own that a command's run needs, below its state directory:
//
//   private/ID/…        of one run: its /tmp, the layers of its views, the promotion's scratch; gone with it
//   private/ID.lock     held for the time of the run: what nobody holds belongs to a run that died
//   projects/HASH/…     of one workspace: caches and tool stores that no other project and no tool of the host reads
//   projects/HASH/view.lock   held by the one run that has a view of it
//   kept/…              what runs changed and was not promoted (enforce/promote/kept.h)
//
// All 0700, opened by descriptor, through no link. What is in them was written by targets: it is removed by a walk that
// follows nothing, and never executed by us.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "enforce/promote/kept.h"
#include "policy/approval/facts.h"
#include "policy/policy.h"

namespace cordon::cli {

/// Whose the run's files are, where root runs a command for a workspace's owner.
struct Owner {
  std::uint32_t uid = 0, gid = 0;
};

/// One view's layers, and what its promotion needs.
struct ViewPlace {
  std::string path;  ///< holds "upper", "work" and "scratch"
  base::Fd directory;
  base::Fd lock = {};  ///< of one that outlives the run
};

class CommandPlaces {
 public:
  /// Makes private/ID and holds its lock. `state_directory` is made where it is missing.
  static base::Result<CommandPlaces> make(const std::string& state_directory, policy::approval::Caller caller,
                                          const std::string& run_id, Owner owner);
  CommandPlaces(CommandPlaces&&) noexcept = default;
  CommandPlaces& operator=(CommandPlaces&&) noexcept = default;
  /// Removes what is left of the run.
  ~CommandPlaces();

  base::Result<std::string> directory(const std::string& name);
  /// Of the directory `lower`, whose mode the layer's root has as well: it is the one that is seen.
  base::Result<ViewPlace> view(const std::string& lower);
  /// What a sweep must know of a view whose run was killed.
  base::Result<void> note(const ViewPlace& place, const enforce::promote::About& about) const;
  /// As view(), and the same for every run in this workspace; of a run that goes on at the same time one of its own.
  base::Result<ViewPlace> cache_view(const std::string& workspace, const std::string& name, const std::string& lower);
  /// The same for every run in this workspace.
  base::Result<std::string> cache(const std::string& workspace, const std::string& name);

  /// Makes the directories `below`, or a file at their end, in one of the above: what will be mounted there needs a
  /// place.
  enum class Point : std::uint8_t { kDirectory, kFile };
  static base::Result<void> make_point(const std::string& place, std::string_view below, Point last);

  /// A file that any may read, in a directory of Cordon's own, in the place of whatever stands there. Gone where
  /// `content` is empty.
  static base::Result<void> make_file(const std::string& place, const std::string& name, const std::string& content);

  /// Makes the directories from the caller's home down to `path`, which lies in it, through no link; the last is
  /// opened.
  static base::Result<base::Fd> make_in_home(const std::string& home, const std::string& path, Owner owner);

  /// One view of a workspace at a time: two of them would promote over each other. Waits for another run's, which
  /// `waiting` says once; but not for one that may wait for us (a pipeline's other end): false there.
  base::Result<bool> hold_view_of(const std::string& workspace, const std::function<void(pid_t)>& waiting);

  /// By the clock of the state directory's file system, as ctimes are: when this run began there.
  [[nodiscard]] timespec began() const { return began_; }
  [[nodiscard]] const base::Fd& root() const { return private_; }
  [[nodiscard]] const std::string& state() const { return state_; }  ///< Cordon's state directory
  [[nodiscard]] const std::string& id() const { return id_; }

 private:
  CommandPlaces() = default;
  base::Result<void> make_layers(const ViewPlace& place, const std::string& lower) const;
  std::string state_, id_;
  policy::approval::Caller caller_;
  Owner owner_;
  base::Fd private_, lock_, run_, view_lock_;
  timespec began_{};
  std::size_t views_ = 0;
};

/// Settings of a tool that lie in a place of Cordon's own are made there, anew for each run, and leave `command.files`.
base::Result<void> make_settings(policy::Command& command);

/// What runs that died left is removed; what they wrote in a view of a workspace is kept, and a promotion that they had
/// begun is finished first. Those whose lock is held stay.
void sweep_command_places(const std::string& state_directory, base::FdView state, policy::approval::Caller caller);

}  // namespace cordon::cli
