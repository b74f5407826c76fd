#include "planner/shield_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/abs_path.h"
#include "planner/draft.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;
using policy::shield::Deny;
using policy::shield::Holds;
using policy::shield::Kind;
using policy::shield::Rule;
using policy::shield::Rules;

/// Accounts of the system have homes like /bin and /usr/sbin: trees of programs, in which nobody keeps keys.
bool is_system_tree(std::string_view home) {
  constexpr std::array kTrees = std::to_array<std::string_view>(
      {"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/tmp", "/usr"});
  return std::ranges::any_of(kTrees, [&](std::string_view tree) { return within(home, tree); });
}

const PathFact* present_directory(const plan::HostFacts& facts, std::string_view path) {
  const PathFact* fact = fact_of(facts, path);
  return fact != nullptr && fact->state == PathState::kPresent && is_directory(*fact) ? fact : nullptr;
}

/// Homes as they are spelled.
std::vector<std::string> spelled_homes(const plan::HostFacts& facts) {
  std::vector<std::string> out = facts.account_homes;
  out.push_back(facts.home);
  for (const plan::Account& account : facts.accounts) out.push_back(account.home);
  std::erase_if(out, [](const std::string& home) { return !home.starts_with('/') || home == "/"; });
  return out;
}

/// Trees of the machine's own whose rules are asked for only where the policy could show one. The base of every run has
/// other things of theirs.
constexpr std::array<std::string_view, 2> kSeldomShown = {"/etc", "/var/lib"};

std::string_view seldom_shown(const Rule& rule) {
  if (!rule.is_of_system()) return {};
  const auto* const tree =
      std::ranges::find_if(kSeldomShown, [&](std::string_view each) { return within(rule.path, each); });
  return tree != kSeldomShown.end() ? *tree : std::string_view();
}

/// Where the rules of this anchor are asked for together; "/" for those that belong to no home.
std::string_view names_key(const Rule& rule) {
  if (rule.anchor_length != 0) return rule.anchor();
  const std::string_view tree = seldom_shown(rule);
  return tree.empty() ? "/" : tree;
}

/// What the policy names, where it really is.
std::vector<std::string_view> named_places(const policy::Policy& policy, const plan::HostFacts& facts) {
  std::vector<std::string_view> out;
  const auto add = [&](std::string_view path) {
    if (path.empty()) return;  // no interpreter was named
    const PathFact* fact = fact_of(facts, path);
    out.push_back(fact != nullptr && !fact->real.empty() ? std::string_view(fact->real) : path);
  };
  for (const auto* grants : {&policy.read, &policy.write, &policy.wx}) {
    for (const policy::PathGrant& grant : *grants) add(grant.path);
  }
  add(policy.entrypoint.path);
  add(policy.interpreter_path);
  for (const policy::TrustSetting& setting : policy.posture.trust) {
    for (const std::string& path : setting.paths) add(path);
  }
  return out;
}

/// Of kSeldomShown those of which a rule is to be held. For root all: a hard link shows it such a file anywhere
/// (planner/aliases.h), which nobody else could read.
std::vector<std::string_view> held_trees(const policy::Policy& policy, const plan::HostFacts& facts,
                                         const Rules& rules) {
  if (facts.uid == 0) return {kSeldomShown.begin(), kSeldomShown.end()};
  std::vector<std::string_view> out;
  const std::vector<std::string_view> places = named_places(policy, facts);
  for (const std::string_view tree : kSeldomShown) {
    const bool held = std::ranges::any_of(places, [&](std::string_view place) {
      if (!within(place, tree)) return within(tree, place);
      return std::ranges::any_of(rules.list, [&](const Rule& rule) {
        return seldom_shown(rule) == tree && (within(rule.path, place) || within(place, rule.path));
      });
    });
    if (held) out.push_back(tree);
  }
  return out;
}

/// "/" where it is in none.
std::string_view innermost_home(const std::vector<std::string>& anchors, std::string_view path) {
  std::string_view home = "/";
  for (const std::string& anchor : anchors) {
    if (within(path, anchor) && path != anchor && anchor.size() > home.size()) home = anchor;
  }
  return home;
}

std::string_view relative(std::string_view path, std::string_view directory) {
  return path.substr(directory == "/" ? 1 : directory.size() + 1);
}

plan::NameList list_of(const std::vector<std::string_view>& names) {
  std::size_t bytes = 0;
  for (const std::string_view name : names) bytes += name.size() + 1;
  plan::NameList out;
  out.reserve(bytes);
  for (const std::string_view name : names) out.add(name);
  return out;
}

Shield shield_of(const Rule& rule, const PathFact* fact) {
  Shield out{.path = std::string(rule.path),
             .real = fact != nullptr && !fact->real.empty() ? fact->real : std::string(rule.path),
             .fact = fact,
             .deny = rule.deny,
             .directory = rule.kind == Kind::kDirectory,
             .holds = rule.holds,
             .write_opt_in = rule.write_opt_in,
             .what = rule.what,
             .source = std::string(rule.source),
             .runtime = rule.anchor_length == 0 && rule.holds == Holds::kServices,
             .of_system = rule.is_of_system()};
  if (out.stands()) out.directory = is_directory(*fact);
  return out;
}

/// Where the links of these stores lead, if that is in a home: there it is the same secret under another name.
void add_linked(const plan::HostFacts& facts, std::vector<Shield>& shields) {
  const std::vector<std::string> anchors = anchors_of(facts);
  const std::size_t stores = shields.size();
  for (std::size_t i = 0; i < stores; ++i) {
    if (!follows_links(shields[i])) continue;
    const auto links = facts.links.find(shields[i].real);
    if (links == facts.links.end()) continue;
    for (const PathFact& link : links->second) {
      const bool failed = link.state == PathState::kFailed;
      if (!failed && link.state != PathState::kPresent) continue;
      if (!failed && (within(link.real, shields[i].real) || is_too_broad(facts, link.real))) continue;
      const bool at_home =
          std::ranges::any_of(anchors, [&](const std::string& anchor) { return within(link.real, anchor); });
      if (!failed && !at_home) continue;
      Shield shield = shields[i];
      shield.path = link.asked;
      shield.real = link.real;
      shield.fact = &link;
      shield.directory = !failed && is_directory(link);
      if (failed) shield.unknown_reach = "it holds more links than are followed";
      shields.push_back(std::move(shield));
    }
  }
}

}  // namespace

bool follows_links(const Shield& shield) {
  return shield.hides() && shield.holds == Holds::kCredentials && shield.stands() && shield.directory;
}

bool Shield::stands() const { return fact != nullptr && fact->state == PathState::kPresent; }

std::vector<std::string> anchors_of(const plan::HostFacts& facts) {
  std::vector<std::string> anchors;
  const auto add_own = [&](const std::string& home) {
    const auto path = base::AbsPath::parse(home);
    if (!path || path->is_root()) return;
    const PathFact* fact = fact_of(facts, path->str());
    const bool stands = fact != nullptr && fact->state == PathState::kPresent && fact->real != "/";
    anchors.push_back(stands ? fact->real : path->str());
  };
  add_own(facts.home);
  for (const plan::Account& account : facts.accounts) add_own(account.home);
  for (const std::string& home : facts.account_homes) {
    const PathFact* fact = present_directory(facts, home);
    if (fact != nullptr && fact->real != "/" && !is_system_tree(fact->real)) anchors.push_back(fact->real);
  }
  std::ranges::sort(anchors);
  anchors.erase(std::ranges::unique(anchors).begin(), anchors.end());
  return anchors;
}

LinkedHomes::LinkedHomes(const plan::HostFacts& facts) {
  const auto add = [&](const std::string& home) {
    if (!home.starts_with('/') || home == "/") return;
    const PathFact* fact = present_directory(facts, home);
    if (fact != nullptr && fact->real != home && fact->real != "/") homes_.push_back({home, fact->real});
  };
  for (const std::string& home : facts.account_homes) add(home);
  add(facts.home);
  for (const plan::Account& account : facts.accounts) add(account.home);
}

std::string LinkedHomes::real(std::string_view path) const {
  for (const Home& home : homes_) {
    if (within(path, home.spelled)) return std::string(home.real).append(path.substr(home.spelled.size()));
  }
  return std::string(path);
}

struct KnownRules {
  policy::shield::Situation situation;
  Rules rules;
};

namespace {
policy::shield::Situation situation_of(const plan::HostFacts& facts) {
  return {.anchors = anchors_of(facts), .environment = facts.relocations};
}
}  // namespace

Rules shield_rules(const plan::HostFacts& facts) { return policy::shield::rules_for(situation_of(facts)); }

const Rules& shield_rules(const plan::HostFacts& facts, Memory& memory) {
  policy::shield::Situation situation = situation_of(facts);
  if (memory.rules == nullptr || memory.rules->situation != situation) {
    Rules rules = policy::shield::rules_for(situation);
    memory.rules = std::make_shared<const KnownRules>(KnownRules{std::move(situation), std::move(rules)});
  }
  return memory.rules->rules;
}

bool is_too_broad(const plan::HostFacts& facts, std::string_view real) {
  if (real == "/" || real == "/dev/null") return true;
  return std::ranges::any_of(anchors_of(facts), [&](const std::string& anchor) { return within(anchor, real); });
}

void ask_for_rules(const policy::Policy& policy, const Rules& rules, const plan::HostFacts& facts,
                   ShieldQuestions& questions) {
  // First where the homes really are: rules are asked for there.
  bool known = true;
  for (const std::string& home : spelled_homes(facts)) {
    if (is_system_tree(home) || fact_of(facts, home) != nullptr) continue;
    questions.paths.push_back(home);
    known = false;
  }
  if (!known) return;
  if (knows_names(policy, rules, facts)) return;
  const std::vector<std::string> anchors = anchors_of(facts);
  const std::vector<std::string_view> held = held_trees(policy, facts, rules);
  std::unordered_map<std::string_view, std::vector<std::string_view>> all;
  const std::size_t each = (rules.list.size() + rules.alias_paths.size()) / std::max<std::size_t>(anchors.size(), 1);
  for (const std::string& anchor : anchors) all[anchor].reserve(each);
  std::string_view key;
  std::vector<std::string_view>* names = nullptr;
  const auto add = [&](std::string_view path, std::string_view directory) {
    if (names == nullptr || directory != key) {
      key = directory;
      names = &all[key];
    }
    names->push_back(relative(path, key));
  };
  // Keys that no rule hides have other names too (planner/aliases.h): each at its place among the rules, so that the
  // names of a home come sorted.
  auto next = rules.list.begin();
  for (const std::string_view wallet : rules.alias_paths) {
    const auto place = std::ranges::lower_bound(next, rules.list.end(), wallet, path_before, &Rule::path);
    for (; next != place; ++next) add(next->path, names_key(*next));
    add(wallet, innermost_home(anchors, wallet));
  }
  for (; next != rules.list.end(); ++next) add(next->path, names_key(*next));
  for (const auto& [directory, below] : all) {
    const bool asked = std::ranges::find(kSeldomShown, directory) == kSeldomShown.end() ||
                       std::ranges::find(held, directory) != held.end();
    if (asked) questions.names.emplace(directory, list_of(below));
  }
}

bool knows_names(const policy::Policy& policy, const Rules& rules, const plan::HostFacts& facts) {
  const auto known = [&](std::string_view directory) { return facts.names.contains(std::string(directory)); };
  return known("/") && std::ranges::all_of(anchors_of(facts), known) &&
         std::ranges::all_of(held_trees(policy, facts, rules), known);
}

Shield absent_shield(const Rule& rule) { return shield_of(rule, nullptr); }

std::vector<Shield> standing_shields(const Rules& rules, const plan::HostFacts& facts) {
  std::vector<Shield> out;
  for (const auto& [directory, names] : facts.names) {
    for (const PathFact& fact : names) {
      const Rule* rule = rules.exactly(fact.asked);
      if (rule == nullptr) continue;
      Shield shield = shield_of(*rule, &fact);
      // A link that leads to a home must not hide the home.
      if (shield.real != shield.path && is_too_broad(facts, shield.real)) continue;
      out.push_back(std::move(shield));
    }
  }
  add_linked(facts, out);
  return out;
}

}  // namespace cordon::planner
