// Shields: what stays hidden or read-only whatever a policy grants (SPEC §5), and what a grant may lift.
//
// A grant that merely covers a shield does not lift it: a hidden one is masked, a read-only one pinned. `read:` with a
// store's own name lifts that store, read-only; `write:` with the own name of one of the few that ordinary work needs
// lifts that. Every other grant that is or lies in a shield refuses. Judged by the spelling and by where it really
// lies, so that no link and no bind leads around it. `deny:` always wins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "planner/draft.h"
#include "planner/git_programs.h"
#include "planner/mounts.h"
#include "planner/planner.h"
#include "planner/program.h"
#include "planner/shield_rules.h"

namespace cordon::planner {

/// The shields of one plan, found by their place.
class Shields {
 public:
  Shields(const policy::Policy& policy, const plan::HostFacts& facts, const policy::shield::Rules& rules);
  Shields(const Shields&) = delete;
  Shields& operator=(const Shields&) = delete;

  [[nodiscard]] const std::vector<Shield>& all() const { return all_; }
  /// What git starts by name and nothing holds, in words.
  [[nodiscard]] std::vector<std::string> told() const;
  [[nodiscard]] bool is_lifted(const Shield& shield) const { return lifted_.contains(shield.real); }
  /// What this grant lifts, if it names it exactly and nothing outside it is shielded.
  [[nodiscard]] const Shield* lifted_by(const policy::PathGrant& grant, Access access) const;
  /// The outermost hidden shield that `path` is or lies in, by its spelling or its place. For a read the lifted ones do
  /// not count; for a write they do: what is lifted is lifted for reading.
  [[nodiscard]] const Shield* hiding(std::string_view path, Access access) const;
  /// The outermost one that may be read, in the same way.
  [[nodiscard]] const Shield* holding(std::string_view path) const;
  /// Names that a directory which folds case could take for a shield's: pairs to be compared by identity.
  struct Pair {
    std::string granted, shielded;
  };
  [[nodiscard]] std::vector<Pair> folded_pairs(std::string_view real) const;
  /// Below `real`: other spellings of shields that a file system may take for them, and a mount over them may not.
  [[nodiscard]] std::vector<Pair> spelled_otherwise(std::string_view real) const;

 private:
  using Index = std::unordered_map<std::string_view, std::vector<const Shield*>>;
  enum class From : std::uint8_t { kItself, kAbove };
  enum class Lifted : std::uint8_t { kIgnored, kCounts };
  [[nodiscard]] const Shield* outermost(std::string_view path, policy::shield::Deny deny, From from,
                                        Lifted lifted = Lifted::kIgnored) const;
  [[nodiscard]] const Shield* exactly(std::string_view path, policy::shield::Deny deny) const;
  void lift(const policy::Policy& policy);
  /// Rules of which nothing stands: those that a path which the policy names is or lies in, or that a write could make.
  void add_absent(const policy::Policy& policy, const policy::shield::Rules& rules);

  const plan::HostFacts& facts_;
  LinkedHomes linked_homes_;
  std::vector<Shield> all_;
  std::vector<ToldProgram> told_;
  Index by_path_, by_place_;  ///< by `path`; by `path`, and behind those by `real`
  std::unordered_set<std::string> lifted_;
};

ShieldQuestions shield_questions(const policy::Policy& policy, const plan::HostFacts& facts,
                                 const policy::shield::Rules& rules);

/// Refuses grants and programs that shields forbid, and says what is lifted.
void judge_shields(Draft& draft, const Shields& shields, const Program& program);

/// What the environment moved where nothing can hold it.
void say_unshieldable(Draft& draft, const policy::shield::Rules& rules);

/// Adds a want for each shield that something wanted reaches.
void want_shields(Draft& draft, const Shields& shields, std::vector<Want>& wants);

/// Of one grant, for `approve`: what it lifts. And what the environment moved where nothing can hold it.
void shield_callouts(const policy::Policy& policy, const plan::HostFacts& facts, std::vector<Callout>& out);

/// Known: it stands, or does not exist.
bool is_resolved(const plan::PathFact* fact);

/// "OpenSSH keys (credentials)"
std::string words_of(const Shield& shield);

}  // namespace cordon::planner
