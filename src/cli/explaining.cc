#include "cli/explaining.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "planner/draft.h"
#include "planner/path_text.h"
#include "report/seen_paths.h"

namespace cordon::cli {
namespace {

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

/// Why the line that comes to mind is none to suggest: a plan with it is refused, or shows what is shielded.
std::string objection(Host& host, policy::Policy policy, const plan::Plan& planned, const report::Denial& denial) {
  const std::size_t open = denial.grant.find('['), close = denial.grant.rfind(']');
  const std::string untried = "whether a line for it is granted was not tried";
  if (open == std::string::npos || close == std::string::npos) return untried;
  std::string path = denial.grant.substr(open + 1, close - open - 1);
  if (path.starts_with('"')) return untried;  // a name that YAML quotes is another in the line than here
  const policy::PathGrant grant{.written = path, .path = path};
  for (std::string_view at = path; at.size() > 1; at = planner::parent_of(at)) {
    const bool is_home = planner::is_home_container(planner::parent_of(at)) || at == "/root";
    const auto own = planner::own_homes(host.facts);
    if (is_home && std::ranges::find(own, at) == own.end()) return "it lies in another user's home";
  }
  (denial.act == "write" ? policy.write : policy.read).push_back(grant);
  const auto decided = verdict(policy, host, Probing::kAssume);
  if (!decided) return untried;
  if (const auto* with = std::get_if<plan::Plan>(&*decided))
    return lifted(*with) > lifted(planned) ? "it is shielded: only a line with its own name shows it" : std::string();
  const auto& items = std::get<plan::Refusal>(*decided).items;
  return items.empty() ? "a line for it is refused" : items.front().message;
}

}  // namespace

void explain_paths(Host& host, const policy::Policy& policy, const plan::Plan& plan, report::Report& report) {
  if (report.observed.watching != plan::Watching::kPaths) return;
  auto denials = report::path_denials(plan, report.observed, ask_host(host, plan, report.observed));
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
