#include "cli/drafting.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
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

bool is_of_ruby(const std::vector<std::string>& programs) {
  return !programs.empty() && std::ranges::all_of(programs, [](const std::string& program) {
    return program.substr(program.rfind('/') + 1).starts_with("ruby");
  });
}

/// Where Python looks for a person's own modules, and Ruby for gems.
bool is_module_place(const draft::Want& want) {
  if (is_of_ruby(want.evidence.programs))
    return planner::within(want.path, "/var/lib/gems") || want.path.contains("/.gem/") ||
           want.path.contains("/.local/share/gem/");
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

/// How often letters of one case, of the other and digits take turns.
std::size_t turns_of(std::string_view text) {
  const auto kind = [](char c) { return c >= '0' && c <= '9' ? 0 : c >= 'A' && c <= 'Z' ? 1 : 2; };
  std::size_t out = 0;
  for (std::size_t i = 1; i < text.size(); ++i)
    if (kind(text[i]) != kind(text[i - 1])) ++out;
  return out;
}

/// By its look a name that the next run will not choose again: a time, a number of a process, letters by chance. A word
/// with a capital, or with a version behind it, is none: build-Release, lib-python3, k8s-v1beta1.
bool is_of_its_own_time(std::string_view name) {
  constexpr std::size_t kDigits = 5, kByChance = 6, kTurns = 3;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (static_cast<std::size_t>(std::ranges::count_if(name, is_digit)) >= kDigits) return true;
  const std::size_t mark = name.find_last_of(".-_");
  const std::string_view tail = mark == std::string_view::npos ? name : name.substr(mark + 1);
  const bool upper = std::ranges::any_of(tail, [](char c) { return c >= 'A' && c <= 'Z'; });
  const bool lower = std::ranges::any_of(tail, [](char c) { return c >= 'a' && c <= 'z'; });
  const bool digit = std::ranges::any_of(tail, is_digit);
  if (tail.size() < kByChance) return false;
  if (name.starts_with("tmp")) return (upper ? 1 : 0) + (lower ? 1 : 0) + (digit ? 1 : 0) > 1;
  return mark != std::string_view::npos && upper && lower && digit && turns_of(tail) >= kTurns;
}

/// Two names that one program may have made up in two runs: as long, and alike at the beginning.
bool are_alike(std::string_view one, std::string_view other) {
  return one.size() == other.size() && one.front() == other.front();
}

void one_of_each(draft::Proposal& proposal) {
  std::ranges::stable_sort(proposal.wants, {},
                           [](const draft::Want& want) { return std::tie(want.access, want.path); });
  const auto same = [](const draft::Want& a, const draft::Want& b) { return a.access == b.access && a.path == b.path; };
  proposal.wants.erase(std::ranges::unique(proposal.wants, same).begin(), proposal.wants.end());
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

void name_links_of_listed(draft::Proposal& proposal, WatchedRun& run) {
  const auto is_blind = [](const draft::Want& want) {
    return want.access == draft::Access::kRead && want.directory && !want.was_given &&
           (want.evidence.acts & plan::kActEnumerate) != 0;
  };
  plan::Questions questions;
  for (const draft::Want& want : proposal.wants)
    if (is_blind(want)) questions.near_links.emplace(want.real, 1);
  if (questions.near_links.empty() || !run.host.session.answer(questions, run.host.facts)) return;
  std::vector<draft::Want> more;
  for (const draft::Want& want : proposal.wants) {
    const auto links = run.host.facts.near_links.find(want.real);
    if (!is_blind(want) || links == run.host.facts.near_links.end()) continue;
    for (const plan::PathFact& link : links->second) {
      const bool is_file = link.state == plan::PathState::kPresent && planner::is_regular(link);
      if (!is_file || planner::within(link.real, want.real) || !draft::home_above(link.real, run.host.facts).empty() ||
          draft::purpose_of(link.real, want.real, run.host.facts) != draft::Purpose::kRuntime)
        continue;
      draft::Want one = want;
      one.path = link.asked;
      one.real = link.real;
      for (const plan::LinkHop& hop : link.hops) one.through.push_back(hop.at);
      one.directory = false;
      more.push_back(std::move(one));
    }
  }
  std::ranges::move(more, std::back_inserter(proposal.wants));
  one_of_each(proposal);
}

bool NewNames::is_new(const std::string& path, const std::set<std::string>& named) const {
  if (named_.contains(path)) return false;
  const std::string_view around = planner::parent_of(path);
  const bool another_each_time = std::ranges::any_of(
      made_, [&](const std::string& other) { return planner::parent_of(other) == around && !named.contains(other); });
  const bool another_than_approved = std::ranges::any_of(approved_, [&](const std::string& other) {
    return planner::parent_of(other) == around && !named.contains(other) &&
           are_alike(planner::name_of(other), planner::name_of(path));
  });
  return another_each_time || another_than_approved || is_of_its_own_time(planner::name_of(path));
}

void NewNames::know(std::span<const policy::PathGrant> lines) {
  for (const policy::PathGrant& line : lines)
    if (line.path.size() > 1) approved_.insert(line.path);
}

namespace {

/// More than a person reads one by one, and each of them a mount of its own.
constexpr std::size_t kMostBeside = 64;

}  // namespace

void gather_new(draft::Proposal& proposal, const WatchedRun& run) {
  std::map<std::string, std::size_t> beside;
  const auto is_new = [&](const draft::Want& want) {
    return want.access == draft::Access::kWrite && want.directory && is_made_in_the_run(want.path, run);
  };
  for (const draft::Want& want : proposal.wants)
    if (is_new(want)) ++beside[std::string(planner::parent_of(want.path))];
  std::erase_if(beside, [&](const auto& one) {
    return one.second <= kMostBeside || !draft::floor_of(draft::Access::kWrite, one.first, run.host.facts).empty();
  });
  if (beside.empty()) return;
  for (const auto& [around, count] : beside)
    proposal.flagged.push_back(
        {.kind = "write",
         .path = around,
         .host = {},
         .port = 0,
         .code = "many-new-directories",
         .reason = fmt::format("it made {} directories in it, and one line stands for all", count)});
  for (draft::Want& want : proposal.wants) {
    if (!is_new(want) || !beside.contains(std::string(planner::parent_of(want.path)))) continue;
    want.path = planner::parent_of(want.path);
    want.real = planner::parent_of(want.real);
  }
  one_of_each(proposal);
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
  one_of_each(proposal);
}

}  // namespace cordon::cli
