#include "policy/draft/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/abs_path.h"
#include "base/text.h"
#include "plan/standing.h"
#include "planner/draft.h"
#include "planner/path_text.h"
#include "policy/draft/places.h"
#include "policy/draft/secret_names.h"

namespace cordon::policy::draft {
namespace {

using plan::ObservedPath;
using plan::PathFact;
using plan::PathState;
using planner::name_of;
using planner::parent_of;
using planner::within;

constexpr std::size_t kMostOwnFiles = 24;  ///< of the program's directory, until the directory itself is the line
constexpr std::size_t kMostNames = 8;

bool uses(const ObservedPath& one, std::initializer_list<std::string_view> calls) {
  return std::ranges::any_of(one.calls, [&](const std::string& call) {
    return std::ranges::any_of(calls, [&](std::string_view prefix) { return call.starts_with(prefix); });
  });
}

bool only_uses(const ObservedPath& one, std::initializer_list<std::string_view> calls) {
  return !one.calls.empty() && std::ranges::all_of(one.calls, [&](const std::string& call) {
    return std::ranges::any_of(calls, [&](std::string_view prefix) { return call.starts_with(prefix); });
  });
}

void add_names(std::vector<std::string>& to, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (to.size() < kMostNames && std::ranges::find(to, name) == to.end()) to.push_back(name);
}

bool is_looked_at_only(std::uint32_t acts) { return (acts & ~(plan::kActProbe | plan::kActEnter)) == 0; }

/// A name in the kernel's files that leads out of them: what it means, the target's descriptors decide.
bool leads_out_of_proc(std::string_view path) {
  if (path.starts_with("/dev/fd/")) return path.find('/', 8) != std::string_view::npos;
  if (!path.starts_with("/proc/")) return false;
  for (const std::string_view way : {"/cwd/", "/root/"})
    if (path.find(way, 5) != std::string_view::npos) return true;
  const std::size_t fd = path.find("/fd/", 5);
  return fd != std::string_view::npos && path.find('/', fd + 4) != std::string_view::npos;
}

void pass_links(const PathFact& fact, Want& want) {
  for (const plan::LinkHop& hop : fact.hops) want.through.push_back(hop.at);
}

/// The last name is a link, and nothing went where it leads.
bool names_link_itself(const ObservedPath& one, const PathFact& fact) {
  const std::string_view name = name_of(one.path);
  return !plan::follows_link(one) &&
         std::ranges::any_of(fact.hops, [&](const plan::LinkHop& hop) { return name_of(hop.at) == name; });
}

bool is_present(const PathFact& fact) { return fact.state == PathState::kPresent; }

}  // namespace

bool is_representable(std::string_view path) {
  const auto normal = base::AbsPath::parse(path);
  return normal && normal->str() == path && !base::find_unsafe_rune(path);
}

Paths::Paths(const Watched& run) : run_(run), given_(run.plan) {
  for (const ObservedPath& one : run.outcome.observations.paths)
    if (uses(one, {"mkdir"})) made_.insert(one.path);
}

const PathFact* Paths::fact(const std::string& path) const { return planner::fact_of(run_.facts, path); }

bool Paths::born_in_the_run(const PathFact& fact) const {
  return fact.id.has_birth_time && fact.id.birth_ns >= run_.began_ns;
}

/// In the run's own /tmp, and made there by it, or by whatever starts anew in each /tmp: of the host's own file of that
/// name it never knew.
bool Paths::is_made_in_scratch(std::string_view path) const {
  if (!given_.scratch(path) || !home_above(path, run_.facts).empty()) return false;
  for (std::string_view at = path; given_.scratch(at) && at != "/"; at = parent_of(at))
    if (made_.contains(std::string(at)) || is_of_the_java_machine(at)) return true;
  return false;
}

/// What the host has by that name is not there inside: only where the run itself made the way to it, one directory
/// after another, from the private directory on.
bool Paths::held_in_scratch(std::string_view place) const {
  if (!given_.scratch(place)) return false;
  while (!given_.is_private(place)) {
    if (!made_.contains(std::string(place))) return false;
    place = parent_of(place);
  }
  return true;
}

bool Paths::is_below_project(std::string_view path) const {
  return !run_.project.empty() && within(path, run_.project);
}

void Paths::withhold(Access access, const std::string& path, std::string_view code, std::string reason) {
  if (!said_.emplace(path, code).second) return;
  withheld_.push_back({.kind = std::string(access_name(access)),
                       .path = path,
                       .host = {},
                       .port = 0,
                       .code = std::string(code),
                       .reason = std::move(reason)});
}

void Paths::flag(std::string kind, std::string path, std::string code, std::string reason) {
  if (!said_.emplace(path, code).second) return;
  flagged_.push_back({.kind = std::move(kind),
                      .path = std::move(path),
                      .host = {},
                      .port = 0,
                      .code = std::move(code),
                      .reason = std::move(reason)});
}

void Paths::add(std::map<std::string, Want>& to, Want want, const ObservedPath& one) {
  Want& kept = to.try_emplace(want.path, want).first->second;
  kept.evidence.acts |= one.acts;
  kept.evidence.count += one.count;
  add_names(kept.evidence.programs, one.programs);
  add_names(kept.evidence.calls, one.calls);
}

void Paths::take(const ObservedPath& one) {
  const bool writes = (one.acts & plan::kActWrite) != 0;
  if (!is_representable(one.path))
    return withhold(writes ? Access::kWrite : Access::kRead, one.path, "unrepresentable",
                    "no manifest can hold this name");
  if (leads_out_of_proc(one.path)) {
    ++lost_;
    return;
  }
  if (is_of_the_kernel(one.path)) return;
  const PathFact* known = fact(one.path);
  // A link of one's own to what every run has is itself no part of every run.
  const bool own_link = is_below_project(one.path) || !home_above(one.path, run_.facts).empty();
  const bool always = one.path == "/tmp" || one.path == run_.policy.entrypoint.path || given_.always(one.path) ||
                      (known != nullptr && !known->real.empty() && given_.always(known->real) && !own_link);
  if (always && !writes) {
    ++runtime_;
    return;
  }
  if (known == nullptr) {
    if (!always) ++lost_;
    return;
  }
  if (known->on_proc || is_of_the_kernel(known->real)) return;
  if (is_made_in_scratch(one.path)) {
    ++scratch_;
    return;
  }
  // mkdir -p tries every directory on the way; those that stand were never made by it.
  const bool passes = writes && is_present(*known) && planner::is_directory(*known) && !born_in_the_run(*known) &&
                      plan::only_finds_it_standing(one);
  if (passes) return pass_through(one, *known, always);
  if (writes) take_write(one, *known);
  if (names_link_itself(one, *known) && given_.for_reading(parent_of(one.path))) return;
  if ((one.acts & ~static_cast<std::uint32_t>(plan::kActWrite)) != 0 && !always) take_read(one, *known);
}

/// A directory that was found standing: no line for writing. It is a look, and mostly a way to what another line names;
/// outside the project, whether more is meant is for a person to judge.
void Paths::pass_through(const ObservedPath& one, const PathFact& known, bool always) {
  ObservedPath looked = one;
  looked.acts &= ~static_cast<std::uint32_t>(plan::kActWrite);
  if (is_looked_at_only(looked.acts) && (always || given_.leads_on(one.path))) {
    ++runtime_;
    return;
  }
  if (looked.acts == 0 || always) return;
  if (is_looked_at_only(looked.acts)) passed_.insert(one.path);
  take_read(looked, known);
}

void Paths::take_write(const ObservedPath& one, const PathFact& known) {
  if (is_bytecode(one.path)) {
    ++runtime_;
    return;
  }
  const bool makes = uses(one, {"mkdir"});
  const bool removes = uses(one, {"rmdir", "rename", "unlink"});
  // What stands there and is a line of its own is written without its directory.
  const bool is_line = std::ranges::find(run_.policy.write, one.path, &PathGrant::path) != run_.policy.write.end() ||
                       std::ranges::find(run_.standing, one.path, &PathGrant::path) != run_.standing.end();
  if (is_line && is_present(known) && planner::is_regular(known) && !born_in_the_run(known) &&
      only_uses(one, {"open", "creat", "truncate", "ftruncate"}))
    return write_file(one, known);
  const bool itself = makes && !removes;
  const std::string place = itself ? one.path : std::string(parent_of(one.path));
  if (given_.scratch(place) && home_above(place, run_.facts).empty()) {
    const PathFact* directory = fact(place);
    const bool on_the_host = directory != nullptr && is_present(*directory) && planner::depth_of(place) > 1 &&
                             !made_.contains(place);  // /tmp/hsperfdata_me stands here, and it made its own
    if (!on_the_host) {
      ++scratch_;
      return;
    }
  }
  const PathFact* directory = fact(place);
  Floor floor = floor_of(Access::kWrite, place, run_.facts);
  if (floor.empty() && directory != nullptr && !directory->real.empty())
    floor = floor_of(Access::kWrite, directory->real, run_.facts);
  if (floor.empty()) return write_at(place, one);
  const bool may_be_a_file = floor.code == "too-broad" && is_present(known) && planner::is_regular(known) &&
                             only_uses(one, {"open", "creat"}) && !given_.scratch(one.path);
  if (may_be_a_file) return write_file(one, known);
  withhold(Access::kWrite, place, floor.code, std::string(floor.why));
}

void Paths::write_at(const std::string& place, const ObservedPath& one) {
  const PathFact* directory = fact(place);
  Want want{.access = Access::kWrite,
            .path = place,
            .real = directory == nullptr || directory->real.empty() ? place : directory->real,
            .purpose = Purpose::kOther,
            .evidence = {},
            .directory = true,
            .was_given = given_.for_writing(place) || held_in_scratch(place)};
  if (directory != nullptr) pass_links(*directory, want);
  want.purpose = purpose_of(want.real, run_.project, run_.facts);
  if (is_hidden_in_home(place, run_.facts) && !is_below_project(want.real) && given_.scratch(place)) {
    auto& [kept, seen] = home_writes_.try_emplace(place, want, ObservedPath{}).first->second;
    seen.acts |= one.acts;
    seen.count += one.count;
    add_names(seen.programs, one.programs);
    add_names(seen.calls, one.calls);
    return;
  }
  add(writes_, std::move(want), one);
}

void Paths::write_file(const ObservedPath& one, const PathFact& known) {
  Want want{.access = Access::kWrite,
            .path = one.path,
            .real = known.real,
            .purpose = purpose_of(known.real, run_.project, run_.facts),
            .evidence = {},
            .directory = false,
            .was_given = given_.for_writing(one.path)};
  pass_links(known, want);
  add(writes_, std::move(want), one);
}

void Paths::take_read(const ObservedPath& one, const PathFact& known) {
  if (is_bytecode(one.path) || is_library_setting(one.path)) {
    ++runtime_;
    return;
  }
  if (!is_present(known)) {
    if (given_.scratch(one.path)) ++scratch_;
    return;
  }
  if (planner::is_socket(known)) {
    if ((one.acts & plan::kActConnect) != 0)
      withhold(Access::kRead, one.path, "unix-socket",
               "whatever listens on this socket would act for the program; name it yourself if it must be reached");
    return;
  }
  if (!planner::is_directory(known) && !planner::is_regular(known)) return;
  read_at(one, known);
}

void Paths::read_at(const ObservedPath& one, const PathFact& known) {
  const bool directory = planner::is_directory(known);
  Want want{.access = Access::kRead,
            .path = one.path,
            .real = known.real,
            .purpose = purpose_of(known.real, run_.project, run_.facts),
            .evidence = {},
            .directory = directory,
            .was_given = given_.led_to(one.path, known)};
  pass_links(known, want);
  const bool looked_at = is_looked_at_only(one.acts);
  Floor floor = floor_of(Access::kRead, one.path, run_.facts);
  if (floor.empty()) floor = floor_of(Access::kRead, known.real, run_.facts);
  if (!floor.empty()) {
    if (!looked_at || floor.code == "foreign-home")
      withhold(Access::kRead, one.path, floor.code, std::string(floor.why));
    return;
  }
  add(reads_, std::move(want), one);
}

/// Hidden directories of the private home: caches and settings that the run may have of its own, unless the program
/// needs the real home anyway.
void Paths::settle_home() {
  const auto below_home = [&](const auto& pair) {
    const Want& want = pair.second;
    return !is_below_project(want.real) && !home_above(want.path, run_.facts).empty();
  };
  const bool reached = std::ranges::any_of(reads_, below_home) || std::ranges::any_of(writes_, below_home);
  const std::string& home = run_.facts.home;
  const bool spelled_out = !run_.script.empty() && run_.script.contains(home);
  needs_home_ = reached && !spelled_out;
  if (!reached) {
    if (!home_writes_.empty())
      flag("write", home_writes_.begin()->first, "private-home",
           fmt::format("it wrote {} below the home; HOME is not listed, so each run keeps that in a /tmp of its own",
                       home_writes_.size() == 1 ? base::shown(home_writes_.begin()->first)
                                                : fmt::format("in {} places", home_writes_.size())));
    scratch_ += home_writes_.size();
    return;
  }
  for (auto& [place, kept] : home_writes_) {
    // A whole ~/.cache is never what one program needs, unless nothing below it was named.
    const bool leads_on = std::ranges::any_of(
        home_writes_, [&](const auto& other) { return other.first != place && within(other.first, place); });
    const bool shared = planner::depth_of(place) == planner::depth_of(home) + 1;
    if (!(leads_on && shared)) add(writes_, kept.first, kept.second);
  }
}

/// Interpreters list the program's own directory to look for modules. Its files are named one by one, unless they are
/// many.
void Paths::settle_own_directory() {
  const auto own = std::ranges::find_if(reads_, [&](const auto& pair) { return pair.second.real == run_.project; });
  if (own == reads_.end()) return;
  const bool listed = (own->second.evidence.acts & plan::kActEnumerate) != 0;
  const auto files = std::ranges::count_if(
      reads_, [&](const auto& pair) { return !pair.second.directory && parent_of(pair.second.real) == run_.project; });
  const std::string path = own->first;
  if (!listed || static_cast<std::size_t>(files) <= kMostOwnFiles) {
    reads_.erase(own);
    if (listed && !writes_.contains(path))
      flag("read", path, "own-directory-listed",
           "it listed its own directory; only the files that it opened are in the draft, so it will see no others");
  }
}

bool Paths::leads_to_a_want(const Want& directory) const {
  const auto below = [&](const auto& pair) {
    return pair.first != directory.path &&
           (within(pair.first, directory.path) || within(pair.second.real, directory.real));
  };
  const auto given_below = [&](const PathGrant& line) {
    return line.path != directory.path && within(line.path, directory.path);
  };
  return within(run_.policy.entrypoint.path, directory.path) || within(run_.project, directory.real) ||
         std::ranges::any_of(run_.policy.read, given_below) || std::ranges::any_of(run_.policy.write, given_below) ||
         std::ranges::any_of(reads_, below) || std::ranges::any_of(writes_, below);
}

/// A line for a directory gives all that is below it, now and later. Where it was refused to the program the draft says
/// so; and where the program named files below it all the same, they are what it needs.
void Paths::settle_refused_listings() {
  std::vector<std::string> dropped;
  for (const auto& [path, want] : reads_) {
    const bool refused = (want.evidence.acts & plan::kActEnumerate) != 0 && !want.was_given;
    if (!want.directory || !refused || want.real == run_.project) continue;
    const auto below = [&](const auto& pair) {
      return pair.first != want.path && within(pair.second.real, want.real) &&
             !is_looked_at_only(pair.second.evidence.acts);
    };
    const bool narrow = std::ranges::any_of(reads_, below) || std::ranges::any_of(writes_, below);
    if (!narrow) {
      flag("read", path, "whole-directory",
           "it tried to list it and could not, so which files it needs is not known: the line gives all that is below");
      continue;
    }
    dropped.push_back(path);
    constexpr std::string_view kCode = "directory-not-listed";
    constexpr std::string_view kWhy =
        "it tried to list it and could not; only what it named below is in the draft, so it will see no more";
    if (is_of_the_importer(want.evidence.programs))
      flag("read", path, std::string(kCode), std::string(kWhy));
    else
      withhold(Access::kRead, path, kCode, std::string(kWhy));
  }
  for (const std::string& path : dropped) reads_.erase(path);
}

/// What was only passed through, or looked at on the way: the mounts of what lies below make it stand.
void Paths::drop_ancestors() {
  std::vector<std::string> dropped;
  for (auto& [path, want] : reads_) {
    if (!want.directory || !is_looked_at_only(want.evidence.acts)) continue;
    if (leads_to_a_want(want))
      dropped.push_back(path);
    else
      want.only_seen =
          ((want.evidence.acts & plan::kActEnter) == 0 || passed_.contains(path)) && !is_below_project(want.real);
  }
  for (const std::string& path : dropped) reads_.erase(path);
}

void Paths::flag_wants() {
  for (const auto* wants : {&reads_, &writes_}) {
    for (const auto& [path, want] : *wants) {
      if (want.directory && want.real == run_.project)
        flag(std::string(access_name(want.access)), path, "whole-workdir",
             fmt::format("this is the program's whole directory, with whatever else {} there",
                         want.access == Access::kWrite ? "is made" : "stands"));
      if (!want.directory && may_hold_secrets(planner::name_of(want.real)))
        flag(std::string(access_name(want.access)), path, "may-hold-secrets",
             "by its name it may hold passwords or tokens, and the program is shown them");
      if (within(want.real, "/tmp"))
        flag(std::string(access_name(want.access)), path, "target-steerable-tmp",
             "it lies in /tmp, where every user may make files, and may be gone or another's by the next run");
    }
  }
}

void Paths::finish(Proposal& out) {
  settle_own_directory();
  settle_home();
  settle_refused_listings();
  drop_ancestors();
  flag_wants();
  for (auto* wants : {&reads_, &writes_})
    for (auto& [path, want] : *wants) out.wants.push_back(std::move(want));
  out.withheld = std::move(withheld_);
  out.flagged = std::move(flagged_);
  out.runtime = runtime_;
  out.scratch = scratch_;
  out.lost += lost_;
}

}  // namespace cordon::policy::draft
