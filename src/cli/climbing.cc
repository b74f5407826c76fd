#include "cli/climbing.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/host_facts.h"
#include "planner/path_text.h"
#include "report/inside.h"

namespace cordon::cli {
namespace {

constexpr int kMostRounds = 16;
constexpr std::size_t kMostWitnesses = 8;
constexpr std::size_t kMostAsked = std::size_t{1} << 15;

/// Where the first '..' begins, at its slash; npos for none.
std::size_t climb_in(std::string_view path) {
  for (std::size_t at = path.find("/.."); at != std::string_view::npos; at = path.find("/..", at + 1))
    if (at + 3 == path.size() || path[at + 3] == '/') return at;
  return std::string_view::npos;
}

/// The path with `before`, which has no links, in the place of what stands before its first '..', and as many steps up
/// as follow.
std::string climbed(const std::string& before, std::string_view path, std::size_t at) {
  std::string real = before.size() == 1 ? std::string() : before;
  path.remove_prefix(at);
  while (path == "/.." || path.starts_with("/../")) {
    path.remove_prefix(3);
    real.resize(real.empty() ? 0 : real.rfind('/'));
  }
  real.append(path);
  if (real.empty()) real.push_back('/');
  return real;
}

void add_names(std::vector<std::string>& to, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (to.size() < kMostWitnesses && std::ranges::find(to, name) == to.end()) to.push_back(name);
}

bool is_of_the_kernel(std::string_view path) {
  return planner::within(path, "/proc") || planner::within(path, "/sys") || planner::within(path, "/dev");
}

/// Two names of one path become one.
void merge(plan::Observations& observed) {
  std::map<std::string, std::size_t, std::less<>> index;
  std::vector<plan::ObservedPath> out;
  for (plan::ObservedPath& one : observed.paths) {
    const auto [known, is_new] = index.try_emplace(one.path, out.size());
    if (is_new) {
      out.push_back(std::move(one));
      continue;
    }
    plan::ObservedPath& kept = out[known->second];
    kept.acts |= one.acts;
    kept.count += one.count;
    add_names(kept.programs, one.programs);
    add_names(kept.calls, one.calls);
  }
  observed.paths = std::move(out);
}

void lose(plan::Observations& observed, std::uint64_t count) {
  observed.lost += count;
  observed.complete = false;
  const auto known = std::ranges::find(observed.losses, "not-resolved", &plan::Loss::why);
  if (known != observed.losses.end())
    known->count += count;
  else
    observed.losses.push_back({.why = "not-resolved", .count = count});
}

}  // namespace

void settle_climbs(Host& host, const plan::Plan& plan, plan::Observations& observed) {
  const auto open = [](const plan::ObservedPath& one) { return climb_in(one.path) != std::string_view::npos; };
  if (std::ranges::none_of(observed.paths, open)) return;
  const report::Inside inside(plan);
  // What the host has by a name in a private directory the run never saw; of a directory of its own making, the text
  // says which is above it, and links of its own making were followed already.
  const auto by_text = [&](std::string_view path) {
    return is_of_the_kernel(path) || inside.at(path) == report::Sight::kScratch || path.contains('\0');
  };
  plan::HostFacts facts = host.facts;
  for (int round = 0; round < kMostRounds; ++round) {
    std::set<std::string> asked;
    for (const plan::ObservedPath& one : observed.paths) {
      const std::size_t at = climb_in(one.path);
      if (at == std::string_view::npos || at == 0 || asked.size() >= kMostAsked) continue;
      const std::string before = one.path.substr(0, at);
      if (!by_text(before) && !facts.paths.contains(before)) asked.insert(before);
    }
    plan::Questions questions;
    questions.paths.assign(asked.begin(), asked.end());
    if (!questions.paths.empty() && !host.session.answer(questions, facts)) break;
    bool changed = false;
    for (plan::ObservedPath& one : observed.paths) {
      const std::size_t at = climb_in(one.path);
      if (at == std::string_view::npos) continue;
      std::string before = one.path.substr(0, at);
      const auto fact = facts.paths.find(before);
      if (fact != facts.paths.end()) {
        const bool known = fact->second.state == plan::PathState::kPresent && !fact->second.real.empty();
        const bool nowhere =
            fact->second.state == plan::PathState::kAbsent || fact->second.state == plan::PathState::kNotDirectory;
        if (!known && !nowhere) continue;
        if (known) before = fact->second.real;
      } else if (!before.empty() && !by_text(before)) {
        continue;
      }
      one.path = climbed(before, one.path, at);
      changed = true;
    }
    if (!changed) break;
  }
  std::uint64_t lost = 0;
  for (const plan::ObservedPath& one : observed.paths) lost += open(one) ? one.count : 0;
  std::erase_if(observed.paths, open);
  if (lost > 0) lose(observed, lost);
  merge(observed);
}

}  // namespace cordon::cli
