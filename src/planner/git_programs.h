// Programs that git's configuration names and that lie where the target may write: a filter, a file system monitor, a
// pager of the checkout's own. Git on the host starts them unasked, at the next `git status`.
//
// A file that stands becomes a read-only shield, and one that does not stand and would be started gets no one's making.
// Lifted by its exact name: it is a file of the project, and its makers change it. What runs only when a person asks
// for it by name (an alias) is no more than a Makefile: told, and not held. So are a directory that an interpreter is
// given, and a file whose directory is missing too, for all of that would have to be held. Called by
// planner/git_shields.cc for each line of each configuration.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/git_config.h"
#include "planner/git_reader.h"

namespace cordon::planner {

/// Git starts `path` when `setting` of the configuration `by` says so; nothing holds it. No path: a command whose words
/// do not tell what it starts.
struct ToldProgram {
  std::string path, setting, by;
};

class GitPrograms {
 public:
  explicit GitPrograms(GitReader& reader) : reader_(reader) {}

  /// `line` names a program, in `by`; a relative one is below `root`.
  void add(const base::GitConfig::Line& line, const plan::PathFact& by, const std::string& root,
           std::vector<Shield>& shields);
  std::vector<ToldProgram> take_told() { return std::move(told_); }

 private:
  void add_file(const std::string& path, const base::GitConfig::Line& line, const plan::PathFact& by, bool starts,
                std::vector<Shield>& shields);

  GitReader& reader_;
  std::set<std::string> seen_;
  std::vector<ToldProgram> told_;
};

}  // namespace cordon::planner
