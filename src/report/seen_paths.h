// What a watched run asked for and did not get: each path that is not there inside, or cannot be written there, with
// the smallest line of a manifest that would change that.
//
// A pure function of the plan, of what was observed and of what the host says stands at those paths. What is shielded
// is said to be shielded and never suggested. Nothing is decided by it: the target may have named whatever it liked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plan/observation.h"
#include "plan/plan.h"
#include "report/report.h"

namespace cordon::report {

/// Of what stands at a path on the host.
struct HostPath {
  std::string real;  ///< where its links lead
  bool directory = false;
  bool writable = true;  ///< for the caller
};
/// What is not in it is not there.
using HostPaths = std::map<std::string, HostPath>;

inline constexpr std::size_t kMostPathsAsked = 512;

/// The paths, and the directories of those that are not there, about which the host must be asked. Bounded.
std::vector<std::string> paths_to_ask(const plan::Plan& plan, const plan::Observations& observed);

/// Several paths in one directory may become one line for the directory, which gives more than was asked for. Whether
/// it may is for the caller to judge, who knows homes and shields.
struct Wholes {
  bool none = false;
  std::set<std::string, std::less<>> refused;
  std::vector<std::string> suggested;  ///< set by path_denials()
};

/// Most useful first. Without `wholes` none is refused.
std::vector<Denial> path_denials(const plan::Plan& plan, const plan::Observations& observed, const HostPaths& host,
                                 Wholes* wholes = nullptr);

/// What an exit code or an error of the target's may come from: said of a run that failed and was watched.
std::vector<plan::Note> symptoms(const Report& report);

}  // namespace cordon::report
