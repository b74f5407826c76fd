// File systems that are windows into the kernel: proc, sysfs, control groups and their kind. A target that reads them
// sees the host's processes, and one that writes them, root above all, rules the host. They may be mounted anywhere,
// and a directory is bound with everything that is mounted below it; so each one below a grant or the base is hidden,
// and a grant that is or lies in one is refused (planner/named_path.h).
//
// Of several mounts on one place the one on top counts; what another mount covers is reached by nobody.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plan/host_facts.h"
#include "planner/draft.h"
#include "planner/mounts.h"
#include "policy/policy.h"

namespace cordon::planner {

bool is_kernel_file_system(std::string_view type);

/// The outermost places where one is mounted, outside /proc, /sys and /dev, which every run has of its own.
class KernelPlaces {
 public:
  explicit KernelPlaces(const plan::HostFacts& facts);

  /// The one that `path` is or lies in; nothing if none.
  [[nodiscard]] const plan::MountPlace* above(std::string_view path) const;
  [[nodiscard]] const std::vector<const plan::MountPlace*>& all() const { return all_; }

 private:
  std::vector<const plan::MountPlace*> all_;
  std::unordered_map<std::string_view, const plan::MountPlace*> by_point_;
};

/// The places below anything that was looked up: a mask must know whether it covers a directory or a file.
std::vector<std::string> kernel_file_questions(const plan::HostFacts& facts);

/// After every want for something visible is known.
void hide_kernel_files(Draft& draft, std::vector<Want>& wants);

}  // namespace cordon::planner
