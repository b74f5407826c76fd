// Holds: the mount points that a run needs on the host where nothing is (step::HoldPoint), from their making to their
// removal, whoever of us dies how.
//
// What is written before what: the journal (synced) before the point, the janitor before both. So a point never exists
// without somebody who takes it away: at a run's end its Holds do, after a kill -9 of Cordon the janitor, and after the
// death of all of us clean(), which every command of that user calls. A point that another run made is shared, and goes
// with the last of them. What is not the point any more, or not empty, is somebody's and stays.
//
// A registry is a private directory ($XDG_STATE_HOME/cordon/holds, handed in by cli/), with one journal for each run.
// Called by enforce/supervise (Holds) and cli/ (clean). It must not print, read the environment, or follow a link.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "plan/plan.h"

namespace cordon::enforce::hold {

class Holds {
 public:
  /// True where this plan holds points.
  static bool needed_by(const plan::Plan& plan);

  /// Makes every point of the plan, or says which step could not (EEXIST: something is there by now), with nothing
  /// left.
  static base::Result<Holds> make(const plan::Plan& plan, const std::string& registry);

  Holds(Holds&&) noexcept;
  Holds& operator=(Holds&&) noexcept;
  /// Removes the points, and waits for the janitor's end. No process of the run may be left.
  ~Holds();

  /// From here on the janitor waits for this process's end before it touches a point.
  base::Result<void> init_is_born(base::FdView init_pidfd);

 private:
  struct State;
  explicit Holds(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Removes what dead runs left behind, and answers the points of those that go on. Costs one system call where no run
/// ever held a point. Says nothing of what it could not do: the next command tries again.
std::vector<plan::HeldPoint> clean(const std::string& registry);

}  // namespace cordon::enforce::hold
