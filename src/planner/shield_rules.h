// The corpus on this host: whose homes, which rules, and where each rule's path really leads.
//
// A rule is a name below a home; what it protects may stand elsewhere (a dotfile farm, a home that is a link). A Shield
// is one rule with the place that it really has. Nothing here judges a grant: shields.h does.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plan/host_facts.h"
#include "plan/plan.h"
#include "planner/planner.h"
#include "policy/policy.h"
#include "policy/shield/rules.h"

namespace cordon::planner {

/// Homes whose shields are in force: the caller's, by $HOME and by the account database, and every account's where the
/// host says so. Resolved where they stand, sorted; empty where there is none at all.
std::vector<std::string> anchors_of(const plan::HostFacts& facts);

/// Homes that are reached over a link.
class LinkedHomes {
 public:
  explicit LinkedHomes(const plan::HostFacts& facts);
  /// The same path below the resolved home, for one that is spelled below such a home.
  [[nodiscard]] std::string real(std::string_view path) const;
  [[nodiscard]] bool empty() const { return homes_.empty(); }

 private:
  struct Home {
    std::string_view spelled, real;
  };
  std::vector<Home> homes_;  ///< in the order in which they count; texts of the facts
};

policy::shield::Rules shield_rules(const plan::HostFacts& facts);
/// The same, of `memory` where it has them for these facts. Valid as long as `memory` is not asked again.
const policy::shield::Rules& shield_rules(const plan::HostFacts& facts, Memory& memory);

struct Shield {
  std::string path;                      ///< as the rule says, below the resolved home
  std::string real;                      ///< where that really is; where it does not exist, where it would be
  const plan::PathFact* fact = nullptr;  ///< nothing where it does not exist
  policy::shield::Deny deny = policy::shield::Deny::kAll;
  bool directory = true;  ///< as it stands on the disk, else as the rule says
  policy::shield::Holds holds = policy::shield::Holds::kNothing;
  policy::shield::WriteOptIn write_opt_in = policy::shield::WriteOptIn::kNever;
  std::string_view what;                                    ///< "OpenSSH keys"; of the corpus, or a literal
  std::string source;                                       ///< the variable that moved it
  bool runtime = false;                                     ///< a directory of running services, and nobody's home
  bool of_system = false;                                   ///< of no home and moved by nothing
  plan::step::StubText text = plan::step::StubText::kNone;  ///< where it does not exist: what it says while it is held
  /// Held only where that leaves nothing on the host, whose programs make it for a moment.
  bool only_without_trace = false;
  bool only_links = false;  ///< what it leads to has shields of its own
  /// Why what it leads to is not known (a store with more links than are followed); "" where it is.
  std::string_view unknown_reach;
  [[nodiscard]] bool hides() const { return deny == policy::shield::Deny::kAll; }
  [[nodiscard]] bool stands() const;
};

/// A store whose links lead to what it holds: keys that live in a repository of dotfiles.
bool follows_links(const Shield& shield);

/// Every rule that stands on this host, and what links inside a store lead to. Hundreds of rules, a handful of these.
std::vector<Shield> standing_shields(const policy::shield::Rules& rules, const plan::HostFacts& facts);

/// One of which nothing is known to stand.
Shield absent_shield(const policy::shield::Rule& rule);

/// The directories below which the rules were or are to be asked for together: homes, "/" for what has none, and the
/// trees of the machine of which this policy could show something.
bool knows_names(const policy::Policy& policy, const policy::shield::Rules& rules, const plan::HostFacts& facts);

/// What must be asked for that.
struct ShieldQuestions {
  std::vector<std::string> paths;
  std::unordered_map<std::string, plan::NameList> names;
  std::vector<std::string> links;
  std::unordered_map<std::string, std::size_t> near_links;
  std::vector<std::string> entries;
  std::vector<std::string> directories;
  std::vector<std::string> texts;
};
void ask_for_rules(const policy::Policy& policy, const policy::shield::Rules& rules, const plan::HostFacts& facts,
                   ShieldQuestions& questions);

/// `real` is "/", a home, or holds one: what leads there hides or holds everything and is no shield.
bool is_too_broad(const plan::HostFacts& facts, std::string_view real);

}  // namespace cordon::planner
