// Taking a mount point away again, and only it: never through a link, never what somebody put in its place or into it.
//
// What is asked of a journal's entry is asked of the host anew: the directory by its identity, the point by its
// identity (or, where a run died before it knew that, by its age), its owner and its being empty. rmdir(2) itself
// refuses what is not empty; a file is looked at just before it is unlinked, which leaves a moment in which somebody
// could begin to write to it.
//
// A registry is a directory of Cordon's own with a journal for each run, named run-…, locked by its run, and a file
// "lock". Shared by the library and the janitor: no allocator, no exceptions.
#pragma once

#include <cstddef>
#include <span>

#include "enforce/hold/entry.h"

namespace cordon::enforce::hold {

using kernel::Fd;
using kernel::FdView;
using kernel::Sys;

inline constexpr const char* kJournalPrefix = "run-";

/// The entry at `index` of a journal; false at its end and for what is no entry.
bool read_entry(FdView journal, std::size_t index, Entry& entry);

/// The directory of an entry by its path, if it is still that one; else an Fd that is not valid.
Fd open_directory(const Entry& entry);

/// Removes the point if it is still there, ours and empty.
void remove_point(const Entry& entry, FdView directory);

/// The lock under which points are made, shared and removed; held as long as the descriptor is. EWOULDBLOCK where
/// somebody else keeps it for seconds.
Sys<Fd> lock_all(FdView registry);

/// Opens a journal for reading; not valid where it is none of ours.
Fd open_journal(FdView registry, const char* name);
/// Whether the run of this journal still goes on: somebody holds its lock.
bool is_live(FdView journal);

/// Calls `visit(name)` for every journal there is.
class Visitor {
 public:
  virtual void visit(const char* name) = 0;

 protected:
  ~Visitor() = default;
};
void each_journal(FdView registry, Visitor& visitor);

/// Removes what `journal` names, but for what a run that still goes on names too; then the journal itself, unless a
/// directory was not found: the next command looks again. Under lock_all(). `directories`: held from the beginning, for
/// one that was moved meanwhile; may be fewer than the entries.
void clean_up(FdView registry, FdView journal, const char* name, std::span<const Fd> directories);

}  // namespace cordon::enforce::hold
