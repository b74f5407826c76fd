#include "cli/drafting.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "planner/draft.h"
#include "planner/path_text.h"
#include "policy/draft/places.h"
#include "report/inside.h"

namespace cordon::cli {
namespace {

namespace draft = policy::draft;

draft::Remark looked_at(const std::string& path, std::string_view what) {
  return {.kind = "read",
          .path = path,
          .host = {},
          .port = 0,
          .code = "only-looked-at",
          .reason = fmt::format("it looked for {}, which is here and was not there for it", what)};
}

bool is_not_there(const report::Inside& inside, std::string_view path) {
  const report::Sight sight = inside.at(inside.resolved(path));
  return sight == report::Sight::kAbsent || sight == report::Sight::kScratch;
}

/// Where Python looks for a person's own modules.
bool is_module_place(const draft::Want& want) {
  return draft::is_of_the_importer(want.evidence.programs) && want.path.ends_with("-packages");
}

bool is_made_in_the_run(const std::string& path, const WatchedRun& run) {
  const plan::PathFact* fact = planner::fact_of(run.host.facts, path);
  return fact != nullptr && fact->id.has_birth_time && fact->state == plan::PathState::kPresent &&
         fact->id.birth_ns >= run.began_ns;
}

bool makes_directory(const plan::ObservedPath& one) {
  return std::ranges::any_of(one.calls, [](const std::string& call) { return call.starts_with("mkdir"); });
}

/// By its look a name that the next run will not choose again: a time, a number of a process, letters by chance.
bool is_of_its_own_time(std::string_view name) {
  constexpr std::size_t kDigits = 5, kByChance = 6;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto digits = std::ranges::count_if(name, is_digit);
  if (static_cast<std::size_t>(digits) >= kDigits) return true;
  const std::size_t mark = name.find_last_of(".-_");
  const std::string_view tail = mark == std::string_view::npos ? name : name.substr(mark + 1);
  const bool upper = std::ranges::any_of(tail, [](char c) { return c >= 'A' && c <= 'Z'; });
  const bool lower = std::ranges::any_of(tail, [](char c) { return c >= 'a' && c <= 'z'; });
  const bool digit = std::ranges::any_of(tail, is_digit);
  return tail.size() >= kByChance && (upper ? 1 : 0) + (lower ? 1 : 0) + (digit ? 1 : 0) > 1 &&
         (mark != std::string_view::npos || name.starts_with("tmp"));
}

}  // namespace

void withhold_looks(draft::Proposal& proposal, const WatchedRun& run) {
  const report::Inside inside(run.plan);
  for (const draft::Want& want : proposal.wants) {
    if (!want.only_seen || is_module_place(want) || !is_not_there(inside, want.path)) continue;
    proposal.withheld.push_back(looked_at(want.path, "this directory"));
  }
  std::erase_if(proposal.wants, &draft::Want::only_seen);
  const std::vector<std::string> homes = planner::own_homes(run.host.facts);
  for (const plan::ObservedPath& one : run.outcome.observations.paths) {
    const bool home = (one.acts & ~std::uint32_t{plan::kActProbe | plan::kActEnter}) == 0 &&
                      std::ranges::find(homes, one.path) != homes.end();
    if (home && inside.at(inside.resolved(one.path)) == report::Sight::kAbsent)
      proposal.withheld.push_back(looked_at(one.path, "your home directory"));
  }
}

std::uint64_t killed_while_starting(const plan::Observations& observed) {
  std::uint64_t out = 0;
  for (const plan::Loss& one : observed.losses)
    if (one.why == "end-not-seen") out += one.count;
  return out;
}

void drop_made_in_the_run(draft::Proposal& proposal, const WatchedRun& run) {
  const std::vector<draft::Want> all = proposal.wants;
  std::erase_if(proposal.wants, [&](const draft::Want& want) {
    if (want.access != draft::Access::kWrite || !is_made_in_the_run(want.path, run)) return false;
    return std::ranges::any_of(all, [&](const draft::Want& other) {
      return other.access == draft::Access::kWrite && other.path != want.path &&
             want.path.starts_with(other.path + "/") && want.real.starts_with(other.real + "/");
    });
  });
}

bool NewNames::is_new(const std::string& path, const std::set<std::string>& named) const {
  if (named_.contains(path)) return false;
  const std::string_view around = planner::parent_of(path);
  const bool another_each_time = std::ranges::any_of(
      made_, [&](const std::string& other) { return planner::parent_of(other) == around && !named.contains(other); });
  return another_each_time || is_of_its_own_time(planner::name_of(path));
}

void NewNames::widen(draft::Proposal& proposal, const WatchedRun& run) {
  std::set<std::string> named;
  for (const plan::ObservedPath& one : run.outcome.observations.paths) named.insert(one.path);
  for (draft::Want& want : proposal.wants) {
    if (want.access != draft::Access::kWrite || !want.directory || !is_made_in_the_run(want.path, run)) continue;
    if (!is_new(want.path, named)) continue;
    const std::string name(planner::name_of(want.path)), around(planner::parent_of(want.path));
    const draft::Remark remark{
        .kind = "write",
        .path = around,
        .host = {},
        .port = 0,
        .code = "name-of-its-own-time",
        .reason = fmt::format("it made {} in it, and will make another name next time", base::shown(name))};
    if (!draft::floor_of(draft::Access::kWrite, around, run.host.facts).empty()) {
      if (std::ranges::find(proposal.withheld, remark) == proposal.withheld.end()) proposal.withheld.push_back(remark);
      continue;
    }
    if (std::ranges::find(proposal.flagged, remark) == proposal.flagged.end()) proposal.flagged.push_back(remark);
    want.path = around;
    want.real = planner::parent_of(want.real);
  }
  for (const plan::ObservedPath& one : run.outcome.observations.paths)
    if (makes_directory(one) && is_made_in_the_run(one.path, run)) made_.insert(one.path);
  named_.merge(named);
  std::ranges::stable_sort(proposal.wants, {},
                           [](const draft::Want& want) { return std::tie(want.access, want.path); });
  const auto same = [](const draft::Want& a, const draft::Want& b) { return a.access == b.access && a.path == b.path; };
  proposal.wants.erase(std::ranges::unique(proposal.wants, same).begin(), proposal.wants.end());
}

}  // namespace cordon::cli
