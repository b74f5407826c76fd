#include "cli/project_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/surroundings.h"
#include "policy/config/merge.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;
namespace shield = policy::shield;
using policy::config::lies_in;

shield::Rules rules_of(const plan::HostFacts& facts, const std::vector<base::AbsPath>& homes) {
  shield::Situation situation{.anchors = {}, .environment = facts.relocations};
  for (const base::AbsPath& home : homes) {
    situation.anchors.push_back(home.str());
    situation.anchors.push_back(approval::way_to(home.str()).real);
  }
  std::ranges::sort(situation.anchors);
  situation.anchors.erase(std::ranges::unique(situation.anchors).begin(), situation.anchors.end());
  std::erase(situation.anchors, "/");
  return shield::rules_for(situation);
}

std::string held_by(const shield::Rule* rule, EntryIs use) {
  if (rule == nullptr) return {};
  const bool hides = rule->deny == shield::Deny::kAll;
  if (!hides && use == EntryIs::kSeen) return {};
  return fmt::format("{} is shielded ({}), and a project's file lifts no shield", base::shown(rule->path), rule->what);
}

}  // namespace

ProjectEntries::ProjectEntries(const plan::HostFacts& facts, std::string directory, std::vector<std::string> written)
    : homes_(homes_of(facts)),
      directory_(std::move(directory)),
      written_(std::move(written)),
      rules_(rules_of(facts, homes_)) {
  if (!directory_.empty()) checkout_ = shield::workspace_rules_at(directory_, *rules_.texts);
}

std::string ProjectEntries::held_in_checkout(const std::string& path) const {
  for (const shield::Rule& rule : checkout_)
    if (lies_in(path, rule.path)) return held_by(&rule, EntryIs::kWritten);
  const auto parts = base::split(path, '/');
  if (std::ranges::find(parts, ".git") == parts.end()) return {};
  return fmt::format("{} lies in git's own directory, and a project's file lifts no shield", base::shown(path));
}

/// Whoever can change the link says what is trusted: the project, a run that may write there, another user.
std::string ProjectEntries::led_elsewhere(const approval::Way& way) const {
  for (const approval::LinkOnWay& link : way.links) {
    const bool writable =
        std::ranges::any_of(written_, [&](const std::string& place) { return lies_in(link.at, place); });
    if (link.owner == 0 && !writable && !lies_in(link.at, directory_)) continue;
    return fmt::format("{} is a link, to {}; name the place itself", base::shown(link.at), base::shown(link.target));
  }
  return {};
}

std::string ProjectEntries::why_not(const std::string& path, EntryIs use) const {
  const approval::Way way = approval::way_to(path);
  if (std::string why = led_elsewhere(way); !why.empty()) return why;
  for (const std::string& one : {path, way.real}) {
    if (std::string why = held_by(rules_.covering(one), use); !why.empty()) return why;
    if (use == EntryIs::kSeen) continue;
    if (std::string why = held_in_checkout(one); !why.empty()) return why;
  }
  return {};
}

std::string ProjectEntries::callout(const std::string& path) const {
  const std::string real = approval::way_to(path).real;
  for (const base::AbsPath& home : homes_)
    if (lies_in(home.str(), path) || lies_in(home.str(), real))
      return "that is a home, or holds one: all of it but what is shielded";
  if (!rules_.below(path).empty() || !rules_.below(real).empty())
    return "shielded places lie in it, and stay hidden or read-only";
  return {};
}

}  // namespace cordon::cli
