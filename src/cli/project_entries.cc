#include "cli/project_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include "base/text.h"
#include "cli/surroundings.h"
#include "kernel/file.h"
#include "policy/config/merge.h"

namespace cordon::cli {
namespace {

namespace shield = policy::shield;
using policy::config::lies_in;

shield::Rules rules_of(const plan::HostFacts& facts, const std::vector<base::AbsPath>& homes) {
  shield::Situation situation{.anchors = {}, .environment = facts.relocations};
  for (const base::AbsPath& home : homes) {
    situation.anchors.push_back(home.str());
    situation.anchors.push_back(real_of(home.str()));
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

std::string real_of(const std::string& path) {
  const auto normal = base::AbsPath::parse(path);
  std::string rest;
  for (auto at = normal; at; at = at->parent()) {
    if (auto there = kernel::openat(kernel::kHere, at->c_str(), O_PATH)) {
      std::array<char, PATH_MAX> text{};
      const std::string link = fmt::format("/proc/self/fd/{}", there->get());
      const auto length = kernel::readlinkat(kernel::kHere, link.c_str(), text);
      if (!length || *length >= text.size()) return path;
      const std::string real(text.data(), *length);
      return rest.empty() ? real : (real == "/" ? "" : real) + rest;
    }
    if (at->is_root()) break;
    rest = "/" + std::string(at->name()) + rest;
  }
  return path;
}

ProjectEntries::ProjectEntries(const plan::HostFacts& facts, std::string directory)
    : homes_(homes_of(facts)), directory_(std::move(directory)), rules_(rules_of(facts, homes_)) {
  if (!directory_.empty()) checkout_ = shield::workspace_rules_at(directory_, *rules_.texts);
}

std::string ProjectEntries::held_in_checkout(const std::string& path) const {
  for (const shield::Rule& rule : checkout_)
    if (lies_in(path, rule.path)) return held_by(&rule, EntryIs::kWritten);
  const auto parts = base::split(path, '/');
  if (std::ranges::find(parts, ".git") == parts.end()) return {};
  return fmt::format("{} lies in git's own directory, and a project's file lifts no shield", base::shown(path));
}

std::string ProjectEntries::why_not(const std::string& path, EntryIs use) const {
  const std::string real = real_of(path);
  if (lies_in(path, directory_) && !lies_in(real, directory_))
    return fmt::format("a link in the project leads to {}", base::shown(real));
  for (const std::string& one : {path, real}) {
    if (std::string why = held_by(rules_.covering(one), use); !why.empty()) return why;
    if (use == EntryIs::kSeen) continue;
    if (std::string why = held_in_checkout(one); !why.empty()) return why;
  }
  return {};
}

std::string ProjectEntries::callout(const std::string& path) const {
  const std::string real = real_of(path);
  for (const base::AbsPath& home : homes_)
    if (lies_in(home.str(), path) || lies_in(home.str(), real))
      return "that is a home, or holds one: all of it but what is shielded";
  if (!rules_.below(path).empty() || !rules_.below(real).empty())
    return "shielded places lie in it, and stay hidden or read-only";
  return {};
}

}  // namespace cordon::cli
