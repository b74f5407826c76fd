#include "cli/explaining.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <variant>

#include "cli/choosing.h"
#include "cli/climbing.h"
#include "planner/draft.h"
#include "planner/path_text.h"
#include "policy/draft/draft.h"
#include "policy/draft/places.h"
#include "report/inside.h"
#include "report/seen_paths.h"

namespace cordon::cli {
namespace {

namespace draft = policy::draft;

constexpr std::size_t kMostTried = 16;  // more than one screen shows

report::HostPaths ask_host(Host& host, const plan::Plan& plan, const plan::Observations& observed) {
  plan::Questions questions;
  questions.paths = report::paths_to_ask(plan, observed);
  plan::HostFacts facts = host.facts;
  report::HostPaths out;
  if (questions.paths.empty() || !host.session.answer(questions, facts)) return out;
  for (const std::string& path : questions.paths) {
    const auto fact = facts.paths.find(path);
    if (fact == facts.paths.end() || fact->second.state != plan::PathState::kPresent) continue;
    out[path] = {.real = fact->second.real,
                 .directory = (fact->second.id.type & S_IFMT) == S_IFDIR,
                 .writable = fact->second.writable && !fact->second.read_only};
  }
  return out;
}

std::ptrdiff_t lifted(const plan::Plan& plan) {
  return std::ranges::count(plan.notes, "shield-lifted", &plan::Note::code);
}

bool is_directory(Host& host, const std::string& path) {
  plan::Questions questions;
  questions.paths = {path};
  if (!host.session.answer(questions, host.facts)) return false;
  const auto fact = host.facts.paths.find(path);
  return fact != host.facts.paths.end() && planner::is_directory(fact->second);
}

/// Why the line that comes to mind is none to suggest: a plan with it is refused, or shows what is shielded.
std::string objection(Host& host, policy::Policy policy, const plan::Plan& planned, const report::Denial& denial) {
  const std::string untried = "whether a line for it is granted was not tried";
  const std::string& path = denial.path;
  if (path.empty()) return untried;
  const policy::PathGrant grant{.written = path, .path = path};
  for (std::string_view at = path; at.size() > 1; at = planner::parent_of(at)) {
    const bool is_home = planner::is_home_container(planner::parent_of(at)) || at == "/root";
    const auto own = planner::own_homes(host.facts);
    if (is_home && std::ranges::find(own, at) == own.end()) return "it lies in another user's home";
  }
  if (denial.act != "exec") {
    const auto access = denial.act == "write" ? draft::Access::kWrite : draft::Access::kRead;
    if (const draft::Floor floor = draft::floor_of(access, path, host.facts); !floor.empty())
      return std::string(floor.why);
    const std::string home = draft::home_above(path, host.facts);
    if (draft::is_hidden_in_home(path, host.facts) && planner::depth_of(path) == planner::depth_of(home) + 1 &&
        is_directory(host, path))
      return "many programs keep what is theirs there";
    const bool holds_own = planner::within(policy.entrypoint.path, path) ||
                           (!policy.manifest.path.empty() && planner::within(policy.manifest.path, path));
    if (access == draft::Access::kWrite && holds_own && !policy.command)
      return "the program or its manifest lies there: write what it makes into a directory of its own";
  }
  auto& to = denial.act == "exec" ? policy.exec.programs : denial.act == "write" ? policy.write : policy.read;
  to.push_back(grant);
  const auto decided = verdict(policy, host, Probing::kAssume);
  if (!decided) return untried;
  if (const auto* with = std::get_if<plan::Plan>(&*decided))
    return lifted(*with) > lifted(planned) ? "it is shielded: only a line with its own name shows it" : std::string();
  const auto& items = std::get<plan::Refusal>(*decided).items;
  return items.empty() ? "a line for it is refused" : items.front().message;
}

/// A line for a directory in the place of several in it is suggested only where it is no wider in kind: no home and no
/// directory that many share, not the program's or the manifest's own, nothing shielded below.
bool may_be_whole(Host& host, policy::Policy policy, const plan::Plan& planned, const std::string& directory) {
  if (!draft::floor_of(draft::Access::kRead, directory, host.facts).empty()) return false;
  std::vector<std::string> own = {policy.entrypoint.path, policy.manifest.path};
  if (policy.command) own.push_back(policy.command->workspace);
  for (const std::string& path : own)
    if (planner::within(planner::parent_of(path), directory) || planner::within(path, directory)) return false;
  policy.read.push_back({.written = directory, .path = directory, .at = {}});
  const auto decided = verdict(policy, host, Probing::kAssume);
  if (!decided) return false;
  const auto* with = std::get_if<plan::Plan>(&*decided);
  return with != nullptr && lifted(*with) <= lifted(planned) && !report::Inside(*with).shields_below(directory);
}

}  // namespace

std::vector<report::Denial> denied_paths(Host& host, const policy::Policy& policy, const plan::Plan& plan,
                                         const plan::Observations& observed) {
  const report::HostPaths there = ask_host(host, plan, observed);
  report::Wholes wholes;
  std::set<std::string, std::less<>> good;
  for (std::size_t tried = 0;;) {
    auto denials = report::path_denials(plan, observed, there, &wholes);
    const std::size_t before = wholes.refused.size();
    for (const std::string& directory : wholes.suggested) {
      if (good.contains(directory)) continue;
      if (tried++ < kMostTried && may_be_whole(host, policy, plan, directory))
        good.insert(directory);
      else
        wholes.refused.insert(directory);
    }
    if (wholes.refused.size() == before) return denials;
    wholes.none = tried > 4 * kMostTried;
  }
}

namespace {

/// Where the run had no way out the smallest line has the address itself: the name that it stands for, if any, was
/// looked up in vain.
void explain_addresses(const plan::Plan& plan, const plan::Outcome& outcome, report::Report& report) {
  constexpr std::uint16_t kDns = 53;
  for (const plan::ReachedAddress& one : draft::not_carried(outcome)) {
    const bool datagram =
        std::ranges::any_of(one.calls, [](const std::string& call) { return call != "connect" && call != "bind"; });
    report::Denial denial{.act = "connect", .count = one.count};
    denial.subject = host_and_port(one.address, std::to_string(one.port));
    if (datagram || plan.egress)
      denial.why = "no connection came of it, as with UDP, which no rule carries";
    else
      denial.grant = report::network_grant(one.address, one.port);
    report.denials_total += one.count;
    report.denials.push_back(std::move(denial));
  }
  for (const plan::ReachedAddress& one : draft::unheard(plan, outcome)) {
    report.denials_total += one.count;
    report.denials.push_back({.act = "connect",
                              .subject = host_and_port(one.address, std::to_string(one.port)),
                              .count = one.count,
                              .grant = fmt::format("host_services: [{}]", one.port),
                              .why = "nobody in the run listens there; the host's own loopback is another"});
  }
  const bool looked_up = !plan.egress && std::ranges::any_of(outcome.reached, [](const plan::ReachedAddress& one) {
    return one.port == kDns;
  });
  const bool failed = report.ending != report::Ending::kExited || report.exit_code != 0;
  if (looked_up && failed)
    report.notes.push_back({.code = "names-without-network",
                            .text = "it looked up names, and this run has no network: one rule under network: lets it, "
                                    "and which names they are is told then; cordon profile drafts the rules",
                            .at = {}});
}

/// Not what every run has, and that may be most of it. What the C library looks at in every process, a lookup of a name
/// above all, is none of the program's.
plan::Observations deniable(const plan::Plan& plan, const plan::Observations& observed) {
  const report::Inside inside(plan);
  plan::Observations out;
  for (const plan::ObservedPath& one : observed.paths) {
    const bool starts = (one.acts & plan::kActExecute) != 0;
    if (!starts && inside.at(inside.resolved(one.path)) == report::Sight::kOwn) continue;
    if (!draft::is_library_setting(one.path)) out.paths.push_back(one);
  }
  return out;
}

}  // namespace

void explain_watched(Host& host, const policy::Policy& policy, const plan::Plan& plan, const plan::Outcome& outcome,
                     report::Report& report) {
  if (report.observed.watching != plan::Watching::kPaths) return;
  explain_addresses(plan, outcome, report);
  plan::Observations observed = outcome.observations;
  settle_climbs(host, plan, observed);
  auto denials = denied_paths(host, policy, plan, deniable(plan, observed));
  std::size_t tried = 0;
  for (report::Denial& denial : denials) {
    if (denial.grant.empty()) continue;
    // What was not tried is not suggested.
    const bool tries = tried++ < kMostTried;
    std::string no = tries ? objection(host, policy, plan, denial) : "more paths than are tried";
    if (no.empty()) continue;
    denial.grant.clear();
    denial.why = std::move(no);
  }
  for (report::Denial& denial : denials) {
    report.denials_total += denial.count;
    report.denials.push_back(std::move(denial));
  }
  for (plan::Note& note : report::symptoms(report)) report.notes.push_back(std::move(note));
  host.session.pins().release();
}

}  // namespace cordon::cli
