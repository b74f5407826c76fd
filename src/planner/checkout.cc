#include "planner/checkout.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "planner/draft.h"
#include "planner/git_reader.h"
#include "planner/git_shields.h"
#include "planner/path_text.h"
#include "policy/shield/corpus.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;
using policy::shield::Kind;

constexpr int kMostAbove = 64;  // directories above a grant that may be a repository

/// Finds the checkouts, one question after the other; what is not known yet ends up in the reader's `ask`.
class Checkouts {
 public:
  Checkouts(const policy::Policy& policy, const plan::HostFacts& facts) : reader_(policy, facts), git_(reader_) {}

  void find() {
    for (const std::string& place : reader_.places()) visit(place);
    for (const std::string& place : reader_.places()) bare(place);  // first: what it holds of a name is what counts
    for (const auto& [root, with_git] : roots_) workspace(root, with_git);
    for (const std::string& place : reader_.places()) {
      if (!roots_.contains(place) && may_stand_in(place)) add_named(place, rules_at(place), Names::kStanding);
    }
  }

  ShieldQuestions take_questions() { return std::move(reader_.ask); }
  std::vector<ToldProgram> take_told() { return git_.take_told(); }
  std::vector<Shield> take_shields() {
    for (std::vector<Shield> more : {git_.take(), std::move(reader_.unknown)}) {
      std::ranges::move(more, std::back_inserter(shields_));
    }
    return std::move(shields_);
  }

 private:
  void visit(const std::string& place) {
    // In one round, however deep it is.
    for (std::string at = place; at != "/" && !root_around(at); at = std::string(parent_of(at))) {
      reader_.fact(at + "/.git");
      if (reader_.is_anchor(at)) break;
    }
    std::optional<std::string> root;
    bool in_a_home_repository = false;
    for (std::string at = place; at != "/"; at = std::string(parent_of(at))) {
      if (const auto repository = root_around(at)) {
        roots_.try_emplace(*repository, true);
        return;
      }
      const PathFact* git = reader_.fact(at + "/.git");
      if (git == nullptr) return;
      if (reader_.is_anchor(at)) {
        in_a_home_repository = stands(*git);
        if (in_a_home_repository) roots_.try_emplace(at, true);
        break;
      }
      if (stands(*git)) {
        root = at;
        break;
      }
    }
    const bool own = root.has_value();
    roots_.try_emplace(root.value_or(place), own || !in_a_home_repository);
  }

  /// The checkout whose git directory `at` is or lies in.
  static std::optional<std::string> root_around(std::string_view at) {
    if (const std::size_t inner = at.find("/.git/"); inner != std::string_view::npos && inner != 0) {
      return std::string(at.substr(0, inner));
    }
    return at.ends_with("/.git") && at.size() > 5 ? std::optional(std::string(at.substr(0, at.size() - 5)))
                                                  : std::nullopt;
  }

  /// A repository without a checkout that this is or lies in: git knows one by what it holds. Where its name says what
  /// it is, HEAD alone is enough.
  void bare(const std::string& place) {
    int level = 0;
    for (std::string at = place; at != "/" && ++level <= kMostAbove; at = std::string(parent_of(at))) {
      if (root_around(at)) continue;
      const PathFact* head = reader_.fact(at + "/HEAD");
      if (head != nullptr && stands(*head) && (at.ends_with(".git") || holds_repository(at))) git_.repository(at, at);
      if (reader_.is_anchor(at)) return;
    }
  }

  bool holds_repository(const std::string& directory) {
    const auto has = [&](const char* name) {
      const PathFact* known = reader_.fact(directory + name);
      return known != nullptr && stands(*known);
    };
    const bool objects = has("/objects"), refs = has("/refs"), elsewhere = has("/commondir");
    return (objects && refs) || elsewhere;
  }

  /// The rules of the corpus.
  static std::vector<Shield> rules_at(const std::string& root) {
    std::vector<Shield> rules;
    policy::shield::Texts texts;
    for (const policy::shield::Rule& rule : policy::shield::workspace_rules_at(root, texts)) {
      rules.push_back({.path = std::string(rule.path),
                       .real = std::string(rule.path),
                       .deny = rule.deny,
                       .directory = rule.kind == Kind::kDirectory,
                       .holds = rule.holds,
                       .write_opt_in = rule.write_opt_in,
                       .what = rule.what});
    }
    return rules;
  }

  /// Those, and git's.
  void workspace(const std::string& root, bool with_git) {
    add_named(root, rules_at(root), Names::kAll);
    if (!with_git) return;
    git_.checkout(root);
    git_.no_repository_at(root);
  }

  /// False: it is known that none does.
  [[nodiscard]] bool may_stand_in(const std::string& directory) const {
    const auto known = reader_.facts().names.find(directory);
    return known == reader_.facts().names.end() || std::ranges::any_of(known->second, stands);
  }

  enum class Names : unsigned char { kAll, kStanding };

  /// Of names below `directory` those that the target could reach; asked for together. In a grant inside a checkout
  /// those that stand: it may be an output, which build tools empty, and what holds a missing name would keep them
  /// from it.
  void add_named(const std::string& directory, std::vector<Shield> rules, Names which) {
    // A home has its own rules, and is no place that a grant writes to.
    if (reader_.is_anchor(directory)) return;
    std::erase_if(rules, [&](const Shield& shield) {
      return !reader_.is_written(shield.path) &&
             std::ranges::none_of(reader_.places(), [&](const auto& place) { return within(place, shield.path); });
    });
    if (rules.empty()) return;
    const auto known = reader_.facts().names.find(directory);
    if (known == reader_.facts().names.end()) {
      auto& names = reader_.ask.names[directory];
      for (const Shield& shield : rules) names.add(std::string_view(shield.path).substr(directory.size() + 1));
      return;
    }
    for (Shield& shield : rules) {
      const auto found = std::ranges::find(known->second, shield.path, &PathFact::asked);
      if (found != known->second.end()) {
        shield.fact = &*found;
        if (!found->real.empty()) shield.real = found->real;
        if (shield.stands()) shield.directory = is_directory(*found);
      }
      if (!shield.stands() && which == Names::kStanding) continue;
      // What holds an absent name is seen inside: of a directory nobody makes a commit or a package.
      if (!shield.stands()) shield.directory = true;
      shields_.push_back(std::move(shield));
    }
  }

  GitReader reader_;
  GitShields git_;
  std::map<std::string, bool> roots_;  ///< with git's own names
  std::vector<Shield> shields_;
};

}  // namespace

void ask_for_checkouts(const policy::Policy& policy, const plan::HostFacts& facts, ShieldQuestions& questions) {
  Checkouts checkouts(policy, facts);
  checkouts.find();
  ShieldQuestions open = checkouts.take_questions();
  const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(questions.paths, open.paths);
  append(questions.directories, open.directories);
  append(questions.texts, open.texts);
  for (auto& [directory, names] : open.names) questions.names.insert_or_assign(directory, std::move(names));
}

std::vector<ToldProgram> add_checkouts(const policy::Policy& policy, const plan::HostFacts& facts,
                                       std::vector<Shield>& shields) {
  Checkouts checkouts(policy, facts);
  checkouts.find();
  for (Shield& shield : checkouts.take_shields()) shields.push_back(std::move(shield));
  return checkouts.take_told();
}

}  // namespace cordon::planner
