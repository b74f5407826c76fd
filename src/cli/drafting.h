// What `profile` makes of a watched run beside the proposal itself: the judgements that need to know what the run was
// shown, or what earlier rounds did. `profile --check` judges by the same.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "cli/watched_run.h"
#include "policy/draft/draft.h"

namespace cordon::cli {

/// Directories that the run only looked for, that stand on this host and were not there for it: a line would give all
/// that is below, which one look is no reason for, so they are withheld. Those that a run sees anyway are dropped.
void withhold_looks(policy::draft::Proposal& proposal, const WatchedRun& run);

/// Who is killed while a program is being started, or at the run's end, leaves open whether it ran: which one it was is
/// told all the same. How many there are is a matter of chance.
std::uint64_t killed_while_starting(const plan::Observations& observed);

/// A directory that the run itself made, below another that it writes, is no line: the next run makes its own.
void drop_made_in_the_run(policy::draft::Proposal& proposal, const WatchedRun& run);

/// More new directories beside each other than a person would read: one line for the directory around them, and a
/// person is told to look.
void gather_new(policy::draft::Proposal& proposal, const WatchedRun& run);

/// Of directories that the run tried to list and was not shown, so that each is a line as a whole: files of the
/// system's that links in them lead to (/etc/php/8.2/cli/conf.d). It could not name them, and the line for the
/// directory does not give them. Links that lead anywhere else are for a later visit, which sees them named.
void name_links_of_listed(policy::draft::Proposal& proposal, WatchedRun& run);

/// Directories whose names the next run will not choose again. Two rounds show it: the first made a name that the
/// second made no use of, and made another beside it. So does an approved line for a name of the same kind that this
/// run made no use of. A name that a second round used again is none. Else its look decides.
class NewNames {
 public:
  /// Lines under write: that were approved before this visit.
  void know(std::span<const policy::PathGrant> lines);
  /// In their place the line is for the directory around them, and a person is told to look. Once for each round.
  void widen(policy::draft::Proposal& proposal, const WatchedRun& run);

 private:
  [[nodiscard]] bool is_new(const std::string& path, const std::set<std::string>& named) const;
  std::set<std::string> made_, named_;  ///< in earlier rounds
  std::set<std::string> approved_;
};

}  // namespace cordon::cli
