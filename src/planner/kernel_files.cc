#include "planner/kernel_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_set>

#include "base/text.h"
#include "planner/named_path.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using plan::MountPlace;
using plan::PathFact;
using plan::PathState;

constexpr std::array kTypes = std::to_array<std::string_view>(
    {"autofs",     "binder",     "binfmt_misc", "bpf",        "cgroup",     "cgroup2", "configfs", "cpuset",
     "debugfs",    "devpts",     "devtmpfs",    "efivarfs",   "functionfs", "fusectl", "gadgetfs", "hugetlbfs",
     "mqueue",     "nfsd",       "nsfs",        "oprofilefs", "pidfs",      "proc",    "pstore",   "resctrl",
     "rpc_pipefs", "securityfs", "selinuxfs",   "smackfs",    "sysfs",      "tracefs", "xenfs"});

/// Looking into one would mount what it stands for.
bool is_mounted_on_demand(const MountPlace& place) { return place.type == "autofs"; }

std::string_view innermost(const std::unordered_set<std::string_view>& places, std::string_view path) {
  for (std::string_view at = path;; at = parent_of(at)) {
    if (places.contains(at)) return at;
    if (at == "/") return {};
  }
}

class Hiding {
 public:
  Hiding(Draft& draft, std::vector<Want>& wants) : draft_(draft), wants_(wants) {
    for (const Want& want : wants) {
      if (want.access != Access::kHidden && want.directory) shown_.insert_or_assign(want.path, &want);
    }
  }

  void hide(const MountPlace& place) {
    const Want* shower = nearest(place.point);
    if (shower == nullptr) return;
    const std::string reason = shower->reason;
    const base::Span at = shower->at;
    plan::FileId id{.device = 0, .inode = 0, .type = S_IFDIR, .has_birth_time = false, .birth_ns = 0};
    if (!is_mounted_on_demand(place)) {
      const PathFact* fact = fact_of(draft_.facts, place.point);
      // Whom the host does not let that far, the sandbox does not either.
      if (fact != nullptr && (fact->state == PathState::kAbsent || fact->state == PathState::kDenied)) return;
      if (fact == nullptr || fact->state != PathState::kPresent || fact->real != place.point) {
        draft_.refuse(Code::kPathCannotBeChecked, at,
                      fmt::format("{}: {}, a {} file system below it, cannot be checked", reason,
                                  base::shown(place.point), base::shown(place.type)),
                      "unmount it, or grant something narrower");
        return;
      }
      id = fact->id;
    }
    draft_.note("kernel-files-hidden",
                fmt::format("{}: {} is a {} file system of the host and is hidden", reason, base::shown(place.point),
                            base::shown(place.type)),
                at);
    masks_.push_back({.path = place.point,
                      .id = id,
                      .directory = S_ISDIR(id.type),
                      .access = Access::kHidden,
                      .why = Why::kKernel,
                      .create = {},
                      .reason = "a file system of the kernel",
                      .at = at});
  }

  void take() { std::ranges::move(masks_, std::back_inserter(wants_)); }

 private:
  [[nodiscard]] const Want* nearest(std::string_view path) const {
    for (std::string_view at = path;; at = parent_of(at)) {
      if (const auto found = shown_.find(at); found != shown_.end()) return found->second;
      if (at == "/") return nullptr;
    }
  }

  Draft& draft_;
  std::vector<Want>& wants_;
  std::vector<Want> masks_;
  std::unordered_map<std::string_view, const Want*> shown_;
};

}  // namespace

bool is_kernel_file_system(std::string_view type) { return std::ranges::find(kTypes, type) != kTypes.end(); }

KernelPlaces::KernelPlaces(const plan::HostFacts& facts) {
  if (!facts.mounts) return;
  for (const MountPlace& place : *facts.mounts) {
    if (is_kernel_file_system(place.type) && place.point != "/" && managed_by_us(place.point).empty() &&
        !within(place.point, "/sys")) {
      by_point_.insert_or_assign(place.point, &place);
    }
  }
  for (const auto& [point, place] : by_point_) {
    if (above(parent_of(point)) == nullptr) all_.push_back(place);
  }
  std::ranges::sort(all_, {}, &MountPlace::point);
}

const MountPlace* KernelPlaces::above(std::string_view path) const {
  if (by_point_.empty()) return nullptr;
  for (std::string_view at = path;; at = parent_of(at)) {
    if (const auto found = by_point_.find(at); found != by_point_.end()) return found->second;
    if (at == "/") return nullptr;
  }
}

std::vector<std::string> kernel_file_questions(const plan::HostFacts& facts) {
  const KernelPlaces places(facts);
  if (places.all().empty()) return {};
  std::unordered_set<std::string_view> looked_up;
  for (const auto& [asked, fact] : facts.paths) {
    if (fact.state == PathState::kPresent && is_directory(fact)) looked_up.insert(fact.real);
  }
  std::vector<std::string> out;
  for (const MountPlace* place : places.all()) {
    if (!is_mounted_on_demand(*place) && !innermost(looked_up, place->point).empty()) out.push_back(place->point);
  }
  return out;
}

void hide_kernel_files(Draft& draft, std::vector<Want>& wants) {
  if (!draft.facts.mounts) {
    draft.refuse(Code::kPathCannotBeChecked, {},
                 "what is mounted on this host cannot be told: /proc/self/mountinfo cannot be read whole",
                 "mount /proc");
    return;
  }
  const KernelPlaces places(draft.facts);
  Hiding hiding(draft, wants);
  for (const MountPlace* place : places.all()) hiding.hide(*place);
  hiding.take();
}

}  // namespace cordon::planner
