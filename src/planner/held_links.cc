#include "planner/held_links.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "planner/draft.h"
#include "planner/named_path.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;
using policy::shield::Deny;
using policy::shield::WriteOptIn;

/// Where the writes of this policy land.
std::vector<std::string> written(const policy::Policy& policy, const plan::HostFacts& facts) {
  std::vector<std::string> out;
  for (const policy::PathGrant& grant : policy.write) {
    const PathFact* fact = fact_of(facts, grant.path);
    const bool known = fact != nullptr && (fact->state == PathState::kPresent || fact->state == PathState::kAbsent);
    if (!known || is_own_device_node(grant.path) || is_too_broad(facts, fact->real)) continue;
    out.push_back(fact->real);
  }
  return out;
}

/// A tree of programs of the user's own, which package managers fill.
bool is_program_tree(const Shield& shield) { return shield.write_opt_in == WriteOptIn::kByExactName; }

/// 0: none.
std::size_t levels_of(const Shield& shield) {
  const bool counts = shield.stands() && shield.directory && !shield.runtime && !shield.only_links &&
                      shield.unknown_reach.empty() && !follows_links(shield);
  const bool starts_programs = !shield.hides() || shield.holds == policy::shield::Holds::kPersistence;
  return !counts || !starts_programs ? 0 : is_program_tree(shield) ? 1 : kLinkLevels;
}

class HeldLinks {
 public:
  HeldLinks(const plan::HostFacts& facts, std::vector<std::string> places, std::vector<Shield>& shields)
      : facts_(facts), places_(std::move(places)), shields_(shields) {}

  /// Grows while it is read: a link may lead to a directory that holds links.
  void add() {
    std::unordered_set<std::string> read;
    for (std::size_t i = 0; i < shields_.size(); ++i) {
      const bool deep = follows_links(shields_[i]);
      if (!deep && levels_of(shields_[i]) == 0) continue;
      const auto& known = deep ? facts_.links : facts_.near_links;
      const auto links = known.find(shields_[i].real);
      if (links == known.end() || !read.insert(shields_[i].real).second) continue;
      const Shield store = shields_[i];
      for (const PathFact& link : links->second) add_one(store, link);
    }
  }

 private:
  [[nodiscard]] bool may_be_written(std::string_view real) const {
    return std::ranges::any_of(places_, [&](const std::string& place) { return within(real, place); });
  }
  [[nodiscard]] bool holds_a_place(std::string_view real) const {
    return std::ranges::any_of(places_, [&](const std::string& place) { return within(place, real); });
  }

  /// What leads back to a directory that the store lies in names nothing that a program is started from.
  [[nodiscard]] bool matters(const Shield& store, const PathFact& link) const {
    if (within(link.real, store.real) || within(store.real, link.real) || is_too_broad(facts_, link.real)) return false;
    const bool present = link.state == PathState::kPresent;
    if (present && !is_directory(link) && !is_regular(link)) return false;
    // Beside programs a link to a directory is a shortcut.
    const bool shortcut = is_program_tree(store) && present && is_directory(link);
    return holds_a_place(link.real) ? !shortcut : may_be_written(link.real);
  }

  void add_one(const Shield& store, const PathFact& link) {
    const bool unknown = link.state == PathState::kFailed;
    // Of a store of credentials that is known to be so already.
    if (unknown ? store.hides() && follows_links(store) : !matters(store, link)) return;
    Shield shield = store;
    shield.path = link.asked;
    shield.real = link.real;
    shield.fact = &link;
    shield.deny = Deny::kWrite;
    shield.directory = link.state == PathState::kPresent && is_directory(link);
    shield.write_opt_in = WriteOptIn::kNever;
    shield.text = plan::step::StubText::kNone;
    if (unknown) {
      shield.unknown_reach =
          link.hops.empty() ? "it holds more than is searched for links" : "a link cannot be followed";
    }
    shields_.push_back(std::move(shield));
  }

  const plan::HostFacts& facts_;
  std::vector<std::string> places_;
  std::vector<Shield>& shields_;
};

}  // namespace

void ask_for_held_links(const policy::Policy& policy, const plan::HostFacts& facts, const std::vector<Shield>& shields,
                        ShieldQuestions& questions) {
  if (written(policy, facts).empty()) return;
  for (const Shield& shield : shields) {
    const std::size_t levels = levels_of(shield);
    if (levels == 0) continue;
    std::size_t& asked = questions.near_links[shield.real];
    asked = std::max(asked, levels);
  }
}

void add_held_links(const policy::Policy& policy, const plan::HostFacts& facts, std::vector<Shield>& shields) {
  std::vector<std::string> places = written(policy, facts);
  if (!places.empty()) HeldLinks(facts, std::move(places), shields).add();
}

}  // namespace cordon::planner
