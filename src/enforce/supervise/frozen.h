// Frozen: every process of a run stopped, for as long as this lives; so that what a person reads on a terminal which
// the target shares is ours alone, and what is typed there is read by nobody else.
//
// Stopped is what descends from init, found again until nothing new is and no thread runs: a fork in between is found
// in the next round, and a round in which anybody on the machine forked proves nothing. Init is ours and goes on. What
// was stopped before (an inner shell's suspended job) is left alone and stays so. Continued are children before
// parents, so that no shell inside sees its job stopped. Processes are signalled by pidfd only, each checked after it
// was opened: a number that was given to a stranger meanwhile stops nobody.
//
// A stopped process is not bound to stay so: a timer of its own may send it SIGCONT. holds() tells whether one went on;
// what it may have written, or read, is then not undone, but nothing is done for it either.
//
// Used by Asker alone.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "enforce/supervise/process_file.h"

namespace cordon::enforce::supervise {

class Frozen {
 public:
  /// Nothing where that did not hold within two seconds: whatever was stopped goes on then.
  static std::optional<Frozen> below(pid_t init);
  Frozen(Frozen&&) noexcept = default;
  Frozen& operator=(Frozen&&) = delete;
  ~Frozen();

  /// False where anything of the run has run since.
  [[nodiscard]] bool holds() const;

  /// All that descends from init, and their process groups.
  [[nodiscard]] const std::vector<pid_t>& processes() const { return processes_; }
  [[nodiscard]] const std::set<pid_t>& groups() const { return groups_; }

 private:
  enum class Round : unsigned char { kSettled, kMoving };
  Frozen() = default;
  Round stop_once(pid_t init);
  [[nodiscard]] bool was_told(pid_t pid) const;
  void stop(pid_t pid, pid_t parent);

  std::vector<pid_t> processes_;
  std::set<pid_t> groups_;
  std::vector<std::pair<pid_t, std::vector<ThreadState>>> resting_;  ///< what was seen of each that lives
  std::vector<std::pair<pid_t, base::Fd>> stopped_;                  ///< by us, parents first
};

}  // namespace cordon::enforce::supervise
