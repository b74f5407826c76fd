// Whether every mount that the plan put on something of the host's is still there.
//
// The kernel detaches a mount from every namespace when the name that it stands on is removed or replaced by somebody
// who does not see the mount: any process of the host that saves a shielded file by rename, removes a pinned directory,
// or checks out another branch. The table that init hands over tells of it (POLLPRI) within a millisecond.
//
// What it does not tell: the host renaming a directory that a shield stands on. The shield moves along, without a word.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "plan/outcome.h"
#include "plan/plan.h"

namespace cordon::enforce::supervise {

class MountWatch {
 public:
  explicit MountWatch(const plan::Plan& plan);

  void take(base::Fd table);
  void close();
  [[nodiscard]] base::FdView fd() const { return table_; }

  /// Whether the table has changed since this was asked, whoever has been told meanwhile: each opening of it tells
  /// once, and fd()'s tells a host that polls a set with it in.
  [[nodiscard]] bool has_changed() const;

  /// Reads the table; the first mount of the plan that is not in it any more, as what is to be said of it.
  [[nodiscard]] base::Result<std::optional<plan::Lapse>> look() const;
  /// The same of a table's text. Pure.
  [[nodiscard]] std::optional<plan::Lapse> first_lost(std::string_view mountinfo) const;

 private:
  struct Planned {
    std::string target;
    base::StepId step;
    bool shield = false;
  };
  std::vector<Planned> planned_;
  base::Fd table_;
  base::Fd opened_again_;  ///< for has_changed() alone; may be closed
};

}  // namespace cordon::enforce::supervise
