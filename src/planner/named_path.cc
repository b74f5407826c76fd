#include "planner/named_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "planner/base.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;

void refuse(Draft& draft, const Named& named, Code code, std::string message, std::string mend) {
  draft.refuse(code, named.at, fmt::format("{}: {}", named.label, message), std::move(mend));
  draft.items.back().is_grant = named.is_grant;
}

bool refuse_managed(Draft& draft, const Named& named, const PathFact* fact) {
  std::string_view managed = managed_by_us(named.path);
  const bool known = fact != nullptr && (fact->state == PathState::kPresent || fact->state == PathState::kAbsent);
  if (managed.empty() && known) managed = managed_by_us(fact->real);
  const bool on_proc = fact != nullptr && fact->on_proc && !(known && named.hides);
  if (managed == "/proc" || on_proc) {
    refuse(draft, named, Code::kGrantInProc, "it lies in /proc, where the host shows its processes",
           "remove it: the target has a /proc of its own, with its own processes");
    return true;
  }
  if (managed.empty()) return false;
  const std::string own = managed == "/tmp"
                              ? "name a directory below /tmp, or remove it: the target has a /tmp of its own"
                              : fmt::format("remove it: the target has a minimal {} of its own", managed);
  refuse(draft, named, Code::kGrantManaged, fmt::format("{} is made for every run and is never the host's", managed),
         own);
  return true;
}

/// Neither present nor absent.
void refuse_state(Draft& draft, const Named& named, const PathFact& fact) {
  const std::string path = base::shown(named.path);
  switch (fact.state) {
    case PathState::kLoop:
      return refuse(draft, named, Code::kPathLoops, fmt::format("following the symbolic links of {} has no end", path),
                    "name the file or directory itself");
    case PathState::kNotDirectory:
      return refuse(draft, named, Code::kPathNotDirectory,
                    fmt::format("{} is a file, so nothing can be below it", base::shown(fact.real)),
                    "name that file, or correct the path");
    case PathState::kTooLong:
      return refuse(draft, named, Code::kPathTooLong, "the path, or a name in it, is longer than the system allows",
                    "shorten it");
    case PathState::kDenied:
      return refuse(draft, named, Code::kPathCannotBeChecked,
                    fmt::format("{} cannot be checked: in {} you may not look at {}", path,
                                base::shown(parent_of(fact.real)), base::shown(name_of(fact.real))),
                    "name a path that you can reach yourself");
    case PathState::kFailed:
      return refuse(draft, named, Code::kPathCannotBeChecked,
                    fact.code == 0 ? fmt::format("{} cannot be checked: its file system did not answer", path)
                                   : fmt::format("{} cannot be checked ({})", path, base::errno_name(fact.code)),
                    "name a path that can be looked up, or remove the line");
    case PathState::kPresent:
    case PathState::kAbsent:
      return;
  }
}

bool is_below(const std::unordered_set<std::string_view>& places, std::string_view path) {
  if (places.empty()) return false;
  for (std::string_view at = path;; at = parent_of(at)) {
    if (places.contains(at)) return true;
    if (at == "/") return false;
  }
}

}  // namespace

std::string label_of(std::string_view key, std::string_view written) {
  return std::string(key).append(": ").append(base::shown(written));
}

bool is_planted(const Draft& draft, const Identity& identity, const PathFact& fact) {
  if (fact.planted_by.empty()) return false;
  // What is not there was not planted: a read grant is left out, and a directory to be made is made by us.
  if (fact.state == PathState::kAbsent && fact.hops.empty()) return false;
  if (fact.planters.empty()) return true;
  return std::ranges::any_of(fact.planters, [&](std::uint32_t uid) {
    if (uid == 0 || uid == draft.facts.uid) return false;
    return uid != identity.uid || !may_reach(identity, fact);
  });
}

bool may_reach(const Identity& identity, const PathFact& fact) {
  return std::ranges::all_of(fact.gates, [&](const plan::Gate& gate) {
    PathFact directory;
    directory.uid = gate.uid;
    directory.gid = gate.gid;
    directory.mode = gate.mode;
    return !gate.has_acl && mode_allows(identity, directory, 1);
  });
}

Places::Places(const Draft& draft) : facts_(draft.facts), kernel_(draft.facts) {
  // Grants without a link first: a grant that a link below one of those leads to is no place of its own.
  for (const bool with_links : {false, true}) {
    for (const policy::PathGrant& grant : draft.policy.write) {
      const PathFact* place = fact_of(draft.facts, grant.path);
      if (place == nullptr || place->hops.empty() == with_links || place->real.empty()) continue;
      if (first_hop_below(*place) == nullptr) writable_.insert(place->real);
    }
  }
  granted_ = writable_;
  for (const policy::PathGrant& grant : draft.policy.read) {
    const PathFact* place = fact_of(draft.facts, grant.path);
    if (place != nullptr && !place->real.empty() && first_hop_below(*place) == nullptr) granted_.insert(place->real);
  }
}

const plan::LinkHop* Places::first_hop_below(const PathFact& fact) const {
  const auto found =
      std::ranges::find_if(fact.hops, [&](const plan::LinkHop& hop) { return is_below(writable_, parent_of(hop.at)); });
  return found == fact.hops.end() ? nullptr : &*found;
}

const plan::LinkHop* Places::left_by_a_run(const PathFact& fact) const {
  const plan::LinkHop* hop = first_hop_below(fact);
  return hop == nullptr || is_below(granted_, fact.real) || in_base(facts_, fact.real) ? nullptr : hop;
}

std::optional<plan::MountPlace> Places::kernel_files(const PathFact& fact) const {
  if (const plan::MountPlace* place = kernel_.above(fact.real)) return *place;
  if (!is_kernel_file_system(fact.filesystem) || within(fact.real, "/sys/devices/system/cpu")) return std::nullopt;
  return plan::MountPlace{.point = fact.real, .type = fact.filesystem};
}

const PathFact* check_named(Draft& draft, const Identity& identity, const Places& places, const Named& named) {
  const PathFact* fact = fact_of(draft.facts, named.path);
  if (refuse_managed(draft, named, fact)) return nullptr;
  if (fact == nullptr) {
    refuse(draft, named, Code::kPathCannotBeChecked,
           fmt::format("{} was not looked up on this host", base::shown(named.path)), "");
    return nullptr;
  }
  if (fact->state != PathState::kPresent && fact->state != PathState::kAbsent) {
    refuse_state(draft, named, *fact);
    return nullptr;
  }
  if (const auto kernel = named.hides ? std::nullopt : places.kernel_files(*fact)) {
    refuse(draft, named, Code::kGrantManaged,
           fmt::format("{} lies in a {} file system, where the host shows itself", base::shown(fact->real),
                       base::shown(kernel->type)),
           "remove it");
    return nullptr;
  }
  if (is_planted(draft, identity, *fact)) {
    refuse(draft, named, Code::kPathPlanted,
           fmt::format("somebody else can choose what {} leads to: {}", base::shown(named.path), fact->planted_by),
           fmt::format("look at {} and, if it is what you mean, name that", base::shown(fact->real)));
    return nullptr;
  }
  if (const plan::LinkHop* hop = places.left_by_a_run(*fact)) {
    refuse(draft, named, Code::kPathPlanted,
           fmt::format("an earlier run could have made the link {}, which leads to {}", base::shown(hop->at),
                       base::shown(fact->real)),
           fmt::format("if {0} is what you mean, name that, or add 'read: {0}'", base::shown(fact->real)));
    return nullptr;
  }
  return fact;
}

std::string_view managed_by_us(std::string_view path) {
  constexpr std::array<std::string_view, 3> kWhole = {"/proc", "/sys", "/dev"};
  if (path == "/tmp") return "/tmp";
  if (within(path, "/sys/devices/system/cpu")) return {};  // part of the base
  const auto found = std::ranges::find_if(kWhole, [&](std::string_view top) { return within(path, top); });
  return found == kWhole.end() ? std::string_view() : *found;
}

bool is_own_device_node(std::string_view path) {
  constexpr std::array kNodes =
      std::to_array<std::string_view>({"/dev/fd", "/dev/full", "/dev/null", "/dev/ptmx", "/dev/random", "/dev/stderr",
                                       "/dev/stdin", "/dev/stdout", "/dev/tty", "/dev/urandom", "/dev/zero"});
  return std::ranges::find(kNodes, path) != kNodes.end();
}

}  // namespace cordon::planner
