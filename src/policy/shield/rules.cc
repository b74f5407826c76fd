#include "policy/shield/rules.h"

#include <algorithm>
#include <utility>

#include "base/path_order.h"
#include "policy/shield/moved.h"

namespace cordon::policy::shield {
namespace {

std::string_view joined(std::string_view directory, std::string_view below, Texts& texts) {
  return texts.add({directory, directory.ends_with('/') ? "" : "/", below});
}

/// `inner`: homes that lie in another one; what would hide or hold one of them is no rule.
void add_home(const std::string& anchor, const std::vector<std::string>& inner, Rules& rules) {
  for (const HomeRule& rule : home_rules()) {
    const std::string_view path = joined(anchor, rule.path, *rules.texts);
    if (!inner.empty() && !can_be_shielded(path, inner)) continue;
    rules.list.push_back(restated(rule, path, {}));
    rules.list.back().anchor_length = anchor.size();
  }
  for (const HomeRule& wallet : alias_paths()) rules.alias_paths.push_back(joined(anchor, wallet.path, *rules.texts));
}

void add_runtime(Rules& rules) {
  for (const std::string_view path : runtime_directories())
    rules.list.push_back({.path = path,
                          .deny = Deny::kAll,
                          .kind = Kind::kDirectory,
                          .holds = Holds::kServices,
                          .write_opt_in = WriteOptIn::kNever,
                          .alias_anchor = AliasAnchor::kNo,
                          .what = "sockets of the system and the session",
                          .source = {},
                          .anchor_length = 0});
}

/// A home that lies in one of them stays: there its own rules hold.
void add_system(const std::vector<std::string>& anchors, Rules& rules) {
  for (const HomeRule& rule : system_rules()) {
    if (can_be_shielded(rule.path, anchors)) rules.list.push_back(restated(rule, rule.path, {}));
  }
}

/// Those that lie in another one.
std::vector<std::string> inner_homes(const std::vector<std::string>& sorted_anchors) {
  std::vector<std::string> inner;
  std::string_view outer;
  for (const std::string& anchor : sorted_anchors) {
    if (!outer.empty() && base::path_within(anchor, outer)) {
      inner.push_back(anchor);
    } else {
      outer = anchor;
    }
  }
  return inner;
}

/// Of two rules at one path, whether the left one stays: what hides, then what nothing lifts, then the default.
bool stronger(const Rule& left, const Rule& right) {
  if (left.deny != right.deny) return left.deny == Deny::kAll;
  if (left.write_opt_in != right.write_opt_in) return left.write_opt_in == WriteOptIn::kNever;
  return left.source.empty() && !right.source.empty();
}

bool rule_before(const Rule& left, const Rule& right) {
  if (left.path != right.path) return base::path_before(left.path, right.path);
  return stronger(left, right);
}

/// Both parts of `list`, before `middle` and from there, are sorted: then all of it is. Homes apart cost nothing.
void merge_in(std::vector<Rule>& list, std::size_t middle) {
  const auto second = list.begin() + static_cast<std::ptrdiff_t>(middle);
  if (second == list.end()) return;
  std::inplace_merge(std::lower_bound(list.begin(), second, *second, rule_before), second, list.end(), rule_before);
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
    if (hidden < kept && base::path_within(list[i].path, list[hidden].path)) continue;
    if (list[i].deny == Deny::kAll) hidden = kept;
    if (kept != i) list[kept] = list[i];
    ++kept;
  }
  list.resize(kept);
}

template <class Path>
void sort_unique(std::vector<Path>& paths) {
  if (!std::ranges::is_sorted(paths, base::path_before)) std::ranges::sort(paths, base::path_before);
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
}

std::span<const Rule> range_below(std::span<const Rule> sorted, std::string_view directory) {
  const auto begin = std::ranges::lower_bound(sorted, directory, base::path_before, &Rule::path);
  const auto end = std::partition_point(begin, sorted.end(),
                                        [&](const Rule& rule) { return base::path_within(rule.path, directory); });
  return {begin, end};
}

}  // namespace

Rules rules_for(const Situation& asked) {
  Situation situation = asked;
  sort_unique(situation.anchors);
  const std::vector<std::string> inner = inner_homes(situation.anchors);
  Rules rules;
  rules.list.reserve(situation.anchors.size() * home_rules().size() + 64);
  for (const std::string& anchor : situation.anchors) {
    const std::size_t sorted = rules.list.size();
    add_home(anchor, inner, rules);
    merge_in(rules.list, sorted);
  }
  const std::size_t sorted = rules.list.size();
  add_moved(situation, rules);
  add_runtime(rules);
  add_system(situation.anchors, rules);
  std::sort(rules.list.begin() + static_cast<std::ptrdiff_t>(sorted), rules.list.end(), rule_before);
  merge_in(rules.list, sorted);
  drop_swallowed(rules.list);
  sort_unique(rules.alias_paths);
  return rules;
}

const Rule* Rules::exactly(std::string_view path) const {
  const auto found = std::ranges::lower_bound(list, path, base::path_before, &Rule::path);
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

std::vector<Rule> workspace_rules_at(std::string_view root, Texts& texts) {
  std::vector<Rule> rules;
  rules.reserve(workspace_rules().size());
  for (const WorkspaceRule& rule : workspace_rules())
    rules.push_back({.path = joined(root, rule.path, texts),
                     .deny = rule.deny,
                     .kind = rule.kind,
                     .holds = Holds::kNothing,
                     .write_opt_in = rule.write_opt_in,
                     .alias_anchor = AliasAnchor::kNo,
                     .what = rule.what,
                     .source = {},
                     .anchor_length = 0});
  return rules;
}

}  // namespace cordon::policy::shield
