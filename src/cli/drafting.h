// What `profile` makes of a watched run beside the proposal itself: the judgements that need to know what the run was
// shown, or what earlier rounds did. `profile --check` judges by the same.
#pragma once

#include <cstdint>
#include <set>
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

/// Directories whose names the next run will not choose again. Two rounds show it: the first made a name that the
/// second made no use of, and made another beside it. A name that a second round used again is none. Else its look
/// decides.
class NewNames {
 public:
  /// In their place the line is for the directory around them, and a person is told to look. Once for each round.
  void widen(policy::draft::Proposal& proposal, const WatchedRun& run);

 private:
  [[nodiscard]] bool is_new(const std::string& path, const std::set<std::string>& named) const;
  std::set<std::string> made_, named_;  ///< in earlier rounds
};

}  // namespace cordon::cli
