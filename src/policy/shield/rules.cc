#include "policy/shield/rules.h"

#include <algorithm>
#include <utility>

#include "policy/shield/moved.h"
#include "policy/shield/path_order.h"

namespace cordon::policy::shield {
namespace {

std::string joined(std::string_view directory, std::string_view below) {
  std::string path;
  path.reserve(directory.size() + 1 + below.size());
  path += directory;
  if (!directory.ends_with('/')) path += '/';
  path += below;
  return path;
}

void add_home(const std::string& anchor, Rules& rules) {
  for (const HomeRule& rule : home_rules())
    rules.list.push_back({.path = joined(anchor, rule.path),
                          .deny = rule.deny,
                          .kind = rule.kind,
                          .holds = rule.holds,
                          .write_opt_in = rule.write_opt_in,
                          .alias_anchor = rule.alias_anchor,
                          .what = rule.what,
                          .source = {},
                          .anchor = anchor});
  for (const HomeRule& wallet : alias_paths()) rules.alias_paths.push_back(joined(anchor, wallet.path));
}

void add_runtime(Rules& rules) {
  for (const std::string_view path : runtime_directories())
    rules.list.push_back({.path = std::string(path),
                          .deny = Deny::kAll,
                          .kind = Kind::kDirectory,
                          .holds = Holds::kServices,
                          .write_opt_in = WriteOptIn::kNever,
                          .alias_anchor = AliasAnchor::kNo,
                          .what = "sockets of the system and the session",
                          .source = {},
                          .anchor = {}});
}

/// One home inside another: then a rule of the outer one may stand at the inner one.
bool some_nest(const std::vector<std::string>& sorted_anchors) {
  for (std::size_t i = 1; i < sorted_anchors.size(); ++i)
    if (path_within(sorted_anchors[i], sorted_anchors[i - 1])) return true;
  return false;
}

/// Of two rules at one path, whether the left one stays: what hides, then what nothing lifts, then the default.
bool stronger(const Rule& left, const Rule& right) {
  if (left.deny != right.deny) return left.deny == Deny::kAll;
  if (left.write_opt_in != right.write_opt_in) return left.write_opt_in == WriteOptIn::kNever;
  return left.source.empty() && !right.source.empty();
}

bool rule_before(const Rule& left, const Rule& right) {
  if (left.path != right.path) return path_before(left.path, right.path);
  return stronger(left, right);
}

/// Drops, of a sorted list, what stands at the path of a stronger rule or below a hidden one.
void drop_swallowed(std::vector<Rule>& list) {
  std::size_t kept = 0;
  std::size_t hidden = list.size();  // the index of the last hidden rule that was kept
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (kept > 0 && list[kept - 1].path == list[i].path) {
      if (list[i].alias_anchor == AliasAnchor::kYes) list[kept - 1].alias_anchor = AliasAnchor::kYes;
      continue;
    }
    if (hidden < kept && path_within(list[i].path, list[hidden].path)) continue;
    if (list[i].deny == Deny::kAll) hidden = kept;
    if (kept != i) list[kept] = std::move(list[i]);
    ++kept;
  }
  list.resize(kept);
}

void sort_unique(std::vector<std::string>& paths) {
  std::ranges::sort(paths, path_before);
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
}

std::span<const Rule> range_below(std::span<const Rule> sorted, std::string_view directory) {
  const auto begin = std::ranges::lower_bound(sorted, directory, path_before, &Rule::path);
  const auto end =
      std::partition_point(begin, sorted.end(), [&](const Rule& rule) { return path_within(rule.path, directory); });
  return {begin, end};
}

}  // namespace

Rules rules_for(const Situation& asked) {
  Situation situation = asked;
  sort_unique(situation.anchors);
  Rules rules;
  rules.list.reserve(situation.anchors.size() * home_rules().size() + 64);
  for (const std::string& anchor : situation.anchors) add_home(anchor, rules);
  const bool nested = some_nest(situation.anchors);
  if (nested)
    std::erase_if(rules.list, [&](const Rule& rule) { return !can_be_shielded(rule.path, situation.anchors); });

  // Each home's block is sorted, and so are blocks of homes apart; only the rest has to be sorted in.
  const auto rest = static_cast<std::ptrdiff_t>(nested ? 0 : rules.list.size());
  add_moved(situation, rules);
  add_runtime(rules);
  std::sort(rules.list.begin() + rest, rules.list.end(), rule_before);
  std::inplace_merge(rules.list.begin(), rules.list.begin() + rest, rules.list.end(), rule_before);
  drop_swallowed(rules.list);
  sort_unique(rules.alias_paths);
  return rules;
}

const Rule* Rules::exactly(std::string_view path) const {
  const auto found = std::ranges::lower_bound(list, path, path_before, &Rule::path);
  return found != list.end() && found->path == path ? &*found : nullptr;
}

const Rule* Rules::covering(std::string_view path) const {
  const Rule* read_only = nullptr;
  std::span<const Rule> inside = list;
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string_view above = path.substr(0, end);
    inside = range_below(inside, above);
    if (inside.empty()) return read_only;
    const Rule* rule = inside.front().path == above ? &inside.front() : nullptr;
    if (rule != nullptr && rule->deny == Deny::kAll) return rule;
    if (read_only == nullptr) read_only = rule;
    if (end == std::string_view::npos) return read_only;
  }
}

std::span<const Rule> Rules::below(std::string_view directory) const { return range_below(list, directory); }

std::vector<Rule> workspace_rules_at(std::string_view root) {
  std::vector<Rule> rules;
  rules.reserve(workspace_rules().size());
  for (const WorkspaceRule& rule : workspace_rules())
    rules.push_back({.path = joined(root, rule.path),
                     .deny = rule.deny,
                     .kind = rule.kind,
                     .holds = Holds::kNothing,
                     .write_opt_in = rule.write_opt_in,
                     .alias_anchor = AliasAnchor::kNo,
                     .what = rule.what,
                     .source = {},
                     .anchor = {}});
  return rules;
}

}  // namespace cordon::policy::shield
