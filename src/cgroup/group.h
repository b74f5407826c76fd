// Group: the control group of one run, from before its first process until it is removed.
//
// It is made with its limits before anything is in it; a process is moved in before it starts others, so that all that
// it starts are in it from their birth. Nobody inside can leave it: no cgroup file system is seen there. The directory
// is locked while the Group lives: what is left of one that was not (a killed Cordon's) is told by that, and swept.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cgroup/numbers.h"
#include "cgroup/place.h"
#include "plan/outcome.h"

namespace cordon::cgroup {

class Group {
 public:
  /// As step::Cgroup says. `id` names it: cordon-ID, or the scope cordon-ID.scope; one that is in use fails (EEXIST).
  static base::Result<Group> make(plan::CgroupWay way, const Wanted& wanted, const std::string& id);
  /// In a place that the caller found.
  static base::Result<Group> make_in(Place place, const Wanted& wanted, const std::string& id);

  Group(Group&&) noexcept = default;
  Group& operator=(Group&&) = delete;
  /// Removes it; what is in it must be gone.
  ~Group();

  /// Moves a process in: one that is ours to wait for, so that its number is still its own.
  base::Result<void> admit(pid_t pid);
  /// Every limit reads as it was set, and these processes are in the group.
  [[nodiscard]] base::Result<void> attest(std::span<const pid_t> pids) const;
  /// The same of the limits alone; for the end, when nobody is left.
  [[nodiscard]] base::Result<void> attest_limits() const;
  /// What the kernel counted. What cannot be read counts as nothing.
  [[nodiscard]] plan::LimitsUse use() const;

 private:
  Group(Place place, Wanted wanted) : place_(std::move(place)), wanted_(wanted) {}
  base::Result<void> delegate_controllers() const;
  base::Result<void> make_directory();
  base::Result<void> set();
  [[nodiscard]] std::uint64_t count_in(const char* file, std::string_view key) const;

  Place place_;
  Wanted wanted_;
  std::string name_, path_;
  std::vector<Setting> settings_;
  base::Fd directory_;
};

/// 16 hexadecimal digits that no other run has.
base::Result<std::string> new_id();

/// Removes groups of ours in `directory` that nobody holds and nothing is in. Says how many.
std::size_t sweep(base::FdView directory, std::uint32_t uid);

}  // namespace cordon::cgroup
