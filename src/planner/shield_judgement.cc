// What shields say of each grant and of the program: refused, or lifted and said so.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "planner/named_path.h"
#include "planner/path_text.h"
#include "planner/shields.h"
#include "planner/wx.h"

namespace cordon::planner {

using plan::PathFact;
using plan::PathState;
using policy::PathGrant;
using policy::shield::Rules;
using policy::shield::WriteOptIn;

namespace {

std::string unshieldable_code(const policy::shield::Unshieldable& one) {
  return one.variable == "XDG_RUNTIME_DIR" ? "unshieldable-runtime-dir" : "unshieldable-relocation";
}

std::string unshieldable_words(const policy::shield::Unshieldable& one) {
  return fmt::format("{}={} cannot be shielded: {}", base::shown(one.variable), base::shown(one.value), one.why);
}

/// "a/../b": there is a ".." behind a name.
bool leaves_what_it_entered(std::string_view text) {
  bool entered = false;
  for (const std::string_view part : base::split(text, '/')) {
    if (part == ".." && entered) return true;
    entered = entered || (!part.empty() && part != "." && part != "..");
  }
  return false;
}

/// What lifting it means, in one sentence.
std::string lifted_words(const std::string& label, const Shield& shield, Access access) {
  if (access == Access::kWritable) {
    return fmt::format("{}: what the target leaves in {} may be run later, outside: {}", label,
                       base::shown(shield.real), words_of(shield));
  }
  return fmt::format("{}: it holds {}, which the target may read at {}", label, words_of(shield),
                     base::shown(shield.real));
}

class Judge {
 public:
  Judge(Draft& draft, const Shields& shields) : draft_(draft), shields_(shields) {}

  void read(const PathGrant& grant) {
    const PathFact* fact = known(grant);
    if (fact == nullptr) return;
    if (const Shield* lifted = shields_.lifted_by(grant, Access::kReadOnly)) {
      draft_.note("shield-lifted", lifted_words(label_of("read", grant.written), *lifted, Access::kReadOnly),
                  grant.at.span);
    }
    if (const Shield* shield = hiding(grant, *fact, Access::kReadOnly)) {
      const bool named_socket = shield->runtime && fact->state == PathState::kPresent && is_socket(*fact);
      if (!named_socket) return inside(grant, *shield);
    }
    folded(grant, "read", *fact);
  }

  void write(const PathGrant& grant) {
    const PathFact* fact = known(grant);
    if (fact == nullptr) return;
    if (const Shield* shield = hiding(grant, *fact, Access::kWritable)) {
      return refuse(grant, Code::kWriteInsideShield,
                    fmt::format("{}: it is or lies in {}, which holds {}; no line lets a target write there",
                                write_label(draft_.policy, grant), base::shown(shield->path), words_of(*shield)),
                    "remove the line, and let the program write to a directory of its own");
    }
    if (const Shield* lifted = shields_.lifted_by(grant, Access::kWritable)) {
      draft_.note("shield-lifted", lifted_words(write_label(draft_.policy, grant), *lifted, Access::kWritable),
                  grant.at.span);
    }
    if (const Shield* shield = holding(grant, *fact)) return held(grant, *shield);
    folded(grant, "write", *fact);
    redirected(grant, *fact);
  }

  void program(std::string_view path, std::string_view what, const base::Span& at) {
    const Shield* shield = path.empty() ? nullptr : shields_.hiding(path, Access::kReadOnly);
    if (shield == nullptr) return;
    draft_.refuse(Code::kProgramInsideShield, at,
                  fmt::format("the {} {} is or lies in {}, which holds {} and is hidden", what, base::shown(path),
                              base::shown(shield->path), words_of(*shield)),
                  fmt::format("use a program that lies elsewhere, or add 'read: {}'", base::shown(shield->path)));
  }

 private:
  const PathFact* known(const PathGrant& grant) const {
    const PathFact* fact = fact_of(draft_.facts, grant.path);
    return is_resolved(fact) && !is_own_device_node(grant.path) ? fact : nullptr;
  }
  [[nodiscard]] const Shield* hiding(const PathGrant& grant, const PathFact& fact, Access access) const {
    const Shield* shield = shields_.hiding(grant.path, access);
    return shield != nullptr || fact.real == grant.path ? shield : shields_.hiding(fact.real, access);
  }
  [[nodiscard]] const Shield* holding(const PathGrant& grant, const PathFact& fact) const {
    const Shield* shield = shields_.holding(grant.path);
    return shield != nullptr || fact.real == grant.path ? shield : shields_.holding(fact.real);
  }

  void refuse(const PathGrant& grant, Code code, std::string message, std::string mend) {
    draft_.refuse(code, grant.at.span, std::move(message), std::move(mend));
    draft_.items.back().is_grant = true;
  }

  void inside(const PathGrant& grant, const Shield& shield) {
    refuse(grant, Code::kGrantInsideShield,
           fmt::format("{}: it is or lies in {}, which holds {} and stays hidden", label_of("read", grant.written),
                       base::shown(shield.path), words_of(shield)),
           fmt::format("remove the line; or show all of it to the target with 'read: {}'", base::shown(shield.path)));
  }

  void held(const PathGrant& grant, const Shield& shield) {
    const bool may = shield.write_opt_in == WriteOptIn::kByExactName;
    refuse(grant, Code::kWriteInsideReadOnlyShield,
           fmt::format("{}: it is or lies in {}, which stays read-only: {}", write_label(draft_.policy, grant),
                       base::shown(shield.path), words_of(shield)),
           may ? fmt::format("if the target is to change it, name it itself: 'write: {}'", base::shown(shield.path))
               : "remove the line; no line lets a target write there");
  }

  /// A name that is another to us and the same to the file system: by identity, and where that cannot be told, closed.
  void folded(const PathGrant& grant, std::string_view key, const PathFact& fact) {
    for (const Shields::Pair& pair : shields_.folded_pairs(fact.real)) {
      const PathFact* granted = fact_of(draft_.facts, pair.granted);
      const PathFact* shielded = fact_of(draft_.facts, pair.shielded);
      const bool apart = granted != nullptr && shielded != nullptr &&
                         (granted->state == PathState::kAbsent || shielded->state == PathState::kAbsent ||
                          (granted->state == PathState::kPresent && shielded->state == PathState::kPresent &&
                           granted->id != shielded->id));
      if (apart) continue;
      return refuse(grant, Code::kShieldFolded,
                    fmt::format("{}: {} is another spelling of {}, which is shielded", label_of(key, grant.written),
                                base::shown(pair.granted), base::shown(pair.shielded)),
                    "spell it as it stands on the disk");
    }
    for (const Shields::Pair& pair : shields_.spelled_otherwise(fact.real)) {
      const PathFact* other = fact_of(draft_.facts, pair.granted);
      const PathFact* shielded = fact_of(draft_.facts, pair.shielded);
      const bool apart =
          other != nullptr && shielded != nullptr && (other->state == PathState::kAbsent || other->id != shielded->id);
      if (apart) continue;
      return refuse(grant, Code::kShieldFolded,
                    fmt::format("{}: its file system takes {} for {}, which is shielded, and a mount over the one does "
                                "not hold the other",
                                label_of(key, grant.written), base::shown(pair.granted), base::shown(pair.shielded)),
                    "grant something narrower, which does not reach it, or keep it on a file system that tells the two "
                    "apart");
    }
  }

  /// A link below the grant on the way to a shield is held itself, and so is every directory on the way that its text
  /// names from its start. One that it enters and leaves again is on no way that is held.
  void redirected(const PathGrant& grant, const PathFact& fact) {
    for (const Shield& shield : shields_.all()) {
      if (shield.fact == nullptr || shields_.is_lifted(shield)) continue;
      for (const plan::LinkHop& hop : shield.fact->hops) {
        if (!within(hop.at, fact.real) || !leaves_what_it_entered(hop.target)) continue;
        if (shields_.hiding(parent_of(hop.at), Access::kReadOnly) != nullptr)
          continue;  // the link itself is behind a mask
        return refuse(grant, Code::kShieldRedirected,
                      fmt::format("{}: {} lies behind the link {}, which the target could replace",
                                  write_label(draft_.policy, grant), base::shown(shield.path), base::shown(hop.at)),
                      fmt::format("replace the link by what it leads to ({}), or grant a directory beside it",
                                  base::shown(shield.real)));
      }
    }
  }

  Draft& draft_;
  const Shields& shields_;
};

}  // namespace

void judge_shields(Draft& draft, const Shields& shields, const Program& program) {
  if (anchors_of(draft.facts).empty()) {
    draft.refuse(Code::kNoHome, {}, "your home directory is not known, so nothing in it can be protected",
                 "set HOME to the absolute path of your home");
    return;
  }
  Judge judge(draft, shields);
  for (const PathGrant& grant : draft.policy.read) judge.read(grant);
  for (const PathGrant& grant : draft.policy.write) judge.write(grant);
  const base::Span& at = draft.policy.entrypoint.at.span;
  if (program.entrypoint != nullptr) judge.program(program.entrypoint->real, "entrypoint", at);
  if (!program.found) return;
  const base::Span& interpreter = draft.policy.interpreter.empty() ? at : draft.policy.interpreter.at.span;
  for (const plan::ProgramHop& hop : program.chain.hops) {
    if (hop.file.real != program.entrypoint->real) judge.program(hop.file.real, "interpreter", interpreter);
  }
  judge.program(loader_of(draft.facts, program), "loader", at);
}

void say_unshieldable(Draft& draft, const Rules& rules) {
  for (const policy::shield::Unshieldable& one : rules.unshieldable) {
    draft.note(unshieldable_code(one), unshieldable_words(one), {});
  }
}

void shield_callouts(const policy::Policy& policy, const plan::HostFacts& facts, std::vector<Callout>& out) {
  const Rules rules = shield_rules(facts);
  const Shields shields(policy, facts, rules);
  const auto add = [&](const std::vector<PathGrant>& grants, std::string_view key, Access access) {
    for (const PathGrant& grant : grants) {
      const Shield* lifted = shields.lifted_by(grant, access);
      if (lifted == nullptr) continue;
      out.push_back(
          {.code = "shield-lifted",
           .text = lifted_words(access == Access::kWritable ? write_label(policy, grant) : label_of(key, grant.written),
                                *lifted, access),
           .at = grant.at.span});
    }
  };
  add(policy.read, "read", Access::kReadOnly);
  add(policy.write, "write", Access::kWritable);
  for (std::string& text : shields.told()) out.push_back({.code = "git-program", .text = std::move(text), .at = {}});
  for (const policy::shield::Unshieldable& one : rules.unshieldable) {
    out.push_back({.code = unshieldable_code(one), .text = unshieldable_words(one), .at = {}});
  }
}

}  // namespace cordon::planner
