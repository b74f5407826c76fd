#include "planner/shields.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/text.h"
#include "planner/checkout.h"
#include "planner/named_path.h"
#include "planner/path_text.h"

namespace cordon::planner {

using plan::PathFact;
using plan::PathState;
using policy::PathGrant;
using policy::shield::Deny;
using policy::shield::Rules;
using policy::shield::WriteOptIn;

namespace {

bool is_resolved(const PathFact* fact) {
  return fact != nullptr && (fact->state == PathState::kPresent || fact->state == PathState::kAbsent);
}

/// The same to a directory that folds case: ASCII only, the corpus has no other names.
bool folds_equal(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, [&](char x, char y) { return lower(x) == lower(y); });
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// `path` and its ancestors, but for "/".
std::vector<std::string_view> prefixes(std::string_view path) {
  std::vector<std::string_view> out;
  for (std::string_view at = path; at != "/"; at = parent_of(at)) out.push_back(at);
  return out;
}

}  // namespace

std::string words_of(const Shield& shield) {
  const std::string_view holds = policy::shield::holds_name(shield.holds);
  std::string out = shield.what.empty() ? base::shown(shield.path) : base::shown(shield.what);
  if (!holds.empty()) out += fmt::format(" ({})", holds);
  return out;
}

Shields::Shields(const policy::Policy& policy, const plan::HostFacts& facts, const Rules& rules)
    : facts_(facts), all_(standing_shields(rules, facts)) {
  add_checkouts(policy, facts, all_);
  add_absent(policy, rules);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    by_path_[all_[i].path].push_back(i);
    by_real_[all_[i].real].push_back(i);
  }
  lift(policy);
}

void Shields::add_absent(const policy::Policy& policy, const Rules& rules) {
  std::unordered_set<std::string_view> known, visited;
  std::vector<Shield> out;
  for (const Shield& shield : all_) known.insert(shield.path);
  const auto add = [&](const policy::shield::Rule& rule) {
    if (known.insert(rule.path).second) out.push_back(absent_shield(rule));
  };
  std::vector<std::string> paths = {below_real_home(facts_, policy.entrypoint.path)};
  for (const auto* grants : {&policy.read, &policy.write}) {
    for (const PathGrant& grant : *grants) {
      paths.push_back(below_real_home(facts_, grant.path));
      if (const PathFact* fact = fact_of(facts_, grant.path)) paths.push_back(fact->real);
    }
  }
  for (const std::string& path : paths) {
    for (const std::string_view at : prefixes(path)) {
      if (!visited.insert(at).second) break;
      if (const policy::shield::Rule* rule = rules.exactly(at)) add(*rule);
    }
  }
  for (const PathGrant& grant : policy.write) {
    const PathFact* fact = fact_of(facts_, grant.path);
    if (!is_resolved(fact) || is_too_broad(facts_, fact->real)) continue;
    for (const policy::shield::Rule& rule : rules.below(fact->real)) add(rule);
  }
  std::ranges::move(out, std::back_inserter(all_));
}

const Shield* Shields::exactly(std::string_view path, Deny deny) const {
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return nullptr;
  for (const std::size_t i : found->second) {
    if (all_[i].deny == deny) return &all_[i];
  }
  return nullptr;
}

const Shield* Shields::outermost(std::string_view path, Deny deny, From from, Lifted lifted) const {
  const Shield* out = nullptr;
  for (std::string_view at = from == From::kAbove ? parent_of(path) : path;; at = parent_of(at)) {
    for (const Index* index : {&by_path_, &by_real_}) {
      const auto found = index->find(at);
      if (found == index->end()) continue;
      for (const std::size_t i : found->second) {
        if (all_[i].deny == deny && (lifted == Lifted::kCounts || !is_lifted(all_[i]))) out = &all_[i];
      }
    }
    if (at == "/") return out;
  }
}

const Shield* Shields::hiding(std::string_view path, Access access) const {
  return outermost(below_real_home(facts_, path), Deny::kAll, From::kItself,
                   access == Access::kWritable ? Lifted::kCounts : Lifted::kIgnored);
}
const Shield* Shields::holding(std::string_view path) const {
  return outermost(below_real_home(facts_, path), Deny::kWrite, From::kItself);
}

const Shield* Shields::lifted_by(const PathGrant& grant, Access access) const {
  const PathFact* fact = fact_of(facts_, grant.path);
  if (!is_resolved(fact)) return nullptr;
  const std::string path = below_real_home(facts_, grant.path);
  const Shield* shield = exactly(path, access == Access::kWritable ? Deny::kWrite : Deny::kAll);
  if (shield == nullptr || shield->real != fact->real) return nullptr;
  if (access == Access::kWritable && shield->write_opt_in != WriteOptIn::kByExactName) return nullptr;
  // Not out of another store; and a write never out of anything.
  for (const std::string_view at : {std::string_view(path), std::string_view(fact->real)}) {
    if (outermost(at, Deny::kAll, From::kAbove) != nullptr) return nullptr;
    if (access == Access::kWritable && outermost(at, Deny::kWrite, From::kAbove) != nullptr) return nullptr;
  }
  return shield;
}

void Shields::lift(const policy::Policy& policy) {
  std::vector<std::string> lifted;
  const auto add = [&](const std::vector<PathGrant>& grants, Access access) {
    for (const PathGrant& grant : grants) {
      if (const Shield* shield = lifted_by(grant, access)) lifted.push_back(shield->real);
    }
  };
  add(policy.read, Access::kReadOnly);
  add(policy.write, Access::kWritable);
  lifted_.insert(lifted.begin(), lifted.end());
}

/// Only where the two spellings differ, and are one to a directory that folds case; or where a name is no ASCII, which
/// may fold to anything.
std::vector<Shields::Pair> Shields::folded_pairs(std::string_view real) const {
  std::vector<Pair> out;
  for (const Shield& shield : all_) {
    const std::string_view place = shield.real;
    const std::size_t length = std::min(place.size(), real.size());
    const std::string_view longer = place.size() > length ? place : real;
    if (longer.size() > length && longer[length] != '/') continue;
    const std::string_view granted = real.substr(0, length), shielded = place.substr(0, length);
    if (granted != shielded && folds_equal(granted, shielded)) {
      out.push_back({.granted = std::string(granted), .shielded = std::string(shielded)});
    }
  }
  if (is_ascii(real)) return out;
  for (const std::string_view prefix : prefixes(real)) {
    if (is_ascii(prefix)) continue;
    for (const Shield& shield : all_) {
      const bool beside = shield.stands() && depth_of(shield.real) == depth_of(prefix);
      if (beside) out.push_back({.granted = std::string(prefix), .shielded = shield.real});
    }
  }
  return out;
}

namespace {

std::string unshieldable_code(const policy::shield::Unshieldable& one) {
  return one.variable == "XDG_RUNTIME_DIR" ? "unshieldable-runtime-dir" : "unshieldable-relocation";
}

std::string unshieldable_words(const policy::shield::Unshieldable& one) {
  return fmt::format("{}={} cannot be shielded: {}", base::shown(one.variable), base::shown(one.value), one.why);
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
    const std::string label = label_of("read", grant.written);
    if (const Shield* lifted = shields_.lifted_by(grant, Access::kReadOnly)) {
      draft_.note("shield-lifted", lifted_words(label, *lifted, Access::kReadOnly), grant.at.span);
    }
    if (const Shield* shield = hiding(grant, *fact, Access::kReadOnly)) {
      const bool named_socket = shield->runtime && fact->state == PathState::kPresent && is_socket(*fact);
      if (!named_socket) return inside(grant, label, *shield);
    }
    folded(grant, label, *fact);
  }

  void write(const PathGrant& grant) {
    const PathFact* fact = known(grant);
    if (fact == nullptr) return;
    const std::string label = label_of("write", grant.written);
    if (const Shield* shield = hiding(grant, *fact, Access::kWritable)) {
      return refuse(grant, Code::kWriteInsideShield,
                    fmt::format("{}: it is or lies in {}, which holds {}; no line lets a target write there", label,
                                base::shown(shield->path), words_of(*shield)),
                    "remove the line, and let the program write to a directory of its own");
    }
    if (const Shield* lifted = shields_.lifted_by(grant, Access::kWritable)) {
      draft_.note("shield-lifted", lifted_words(label, *lifted, Access::kWritable), grant.at.span);
    }
    if (const Shield* shield = holding(grant, *fact)) return held(grant, label, *shield);
    folded(grant, label, *fact);
    redirected(grant, label, *fact);
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
    return shield != nullptr ? shield : shields_.hiding(fact.real, access);
  }
  [[nodiscard]] const Shield* holding(const PathGrant& grant, const PathFact& fact) const {
    const Shield* shield = shields_.holding(grant.path);
    return shield != nullptr ? shield : shields_.holding(fact.real);
  }

  void refuse(const PathGrant& grant, Code code, std::string message, std::string mend) {
    draft_.refuse(code, grant.at.span, std::move(message), std::move(mend));
    draft_.items.back().is_grant = true;
  }

  void inside(const PathGrant& grant, const std::string& label, const Shield& shield) {
    refuse(grant, Code::kGrantInsideShield,
           fmt::format("{}: it is or lies in {}, which holds {} and stays hidden", label, base::shown(shield.path),
                       words_of(shield)),
           fmt::format("remove the line; or show all of it to the target with 'read: {}'", base::shown(shield.path)));
  }

  void held(const PathGrant& grant, const std::string& label, const Shield& shield) {
    const bool may = shield.write_opt_in == WriteOptIn::kByExactName;
    refuse(grant, Code::kWriteInsideReadOnlyShield,
           fmt::format("{}: it is or lies in {}, which stays read-only: {}", label, base::shown(shield.path),
                       words_of(shield)),
           may ? fmt::format("if the target is to change it, name it itself: 'write: {}'", base::shown(shield.path))
               : "remove the line; no line lets a target write there");
  }

  /// A name that is another to us and the same to the file system: by identity, and where that cannot be told, closed.
  void folded(const PathGrant& grant, const std::string& label, const PathFact& fact) {
    for (const Shields::Pair& pair : shields_.folded_pairs(fact.real)) {
      const PathFact* granted = fact_of(draft_.facts, pair.granted);
      const PathFact* shielded = fact_of(draft_.facts, pair.shielded);
      const bool apart = granted != nullptr && shielded != nullptr &&
                         (granted->state == PathState::kAbsent || shielded->state == PathState::kAbsent ||
                          (granted->state == PathState::kPresent && shielded->state == PathState::kPresent &&
                           granted->id != shielded->id));
      if (apart) continue;
      return refuse(grant, Code::kShieldFolded,
                    fmt::format("{}: {} is another spelling of {}, which is shielded", label, base::shown(pair.granted),
                                base::shown(pair.shielded)),
                    "spell it as it stands on the disk");
    }
  }

  /// A link below the grant on the way to a shield: the target could put its own in its place.
  void redirected(const PathGrant& grant, const std::string& label, const PathFact& fact) {
    for (const Shield& shield : shields_.all()) {
      if (shield.fact == nullptr || shields_.is_lifted(shield)) continue;
      for (const plan::LinkHop& hop : shield.fact->hops) {
        if (!within(hop.at, fact.real) || !within(shield.path, hop.at)) continue;
        if (shields_.hiding(parent_of(hop.at), Access::kReadOnly) != nullptr)
          continue;  // the link itself is behind a mask
        return refuse(grant, Code::kShieldRedirected,
                      fmt::format("{}: {} lies behind the link {}, which the target could replace", label,
                                  base::shown(shield.path), base::shown(hop.at)),
                      fmt::format("replace the link by what it leads to ({}), or grant a directory beside it",
                                  base::shown(shield.real)));
      }
    }
  }

  Draft& draft_;
  const Shields& shields_;
};

/// The nearest want of any kind that shows `path`.
class Shown {
 public:
  explicit Shown(const std::vector<Want>& wants) {
    for (const Want& want : wants) {
      if (want.access == Access::kHidden) continue;
      const Want*& known = by_path_[want.path];
      if (known == nullptr || want.access == Access::kWritable) known = &want;
    }
  }
  [[nodiscard]] const Want* at(std::string_view path) const {
    for (std::string_view here = path;; here = parent_of(here)) {
      if (const auto found = by_path_.find(here); found != by_path_.end()) return found->second;
      if (here == "/") return nullptr;
    }
  }

 private:
  std::unordered_map<std::string_view, const Want*> by_path_;
};

Want want_of(const Shield& shield) {
  return {.path = shield.real,
          .id = shield.stands() ? shield.fact->id : plan::FileId{},
          .directory = shield.directory,
          .access = shield.hides() ? Access::kHidden : Access::kReadOnly,
          .why = shield.hides() ? Why::kShield : Why::kHeld,
          .create = {},
          .reason = fmt::format("shield: {}", words_of(shield)),
          .at = {}};
}

class Holding {
 public:
  Holding(Draft& draft, std::vector<Want>& wants) : draft_(draft), wants_(wants), shown_(wants) {}

  void add(const Shield& shield) {
    const Want* outer = shown_.at(shield.real);
    // A grant of the shield's own name was judged.
    if (outer == nullptr || (outer->path == shield.real && outer->access == Access::kWritable)) return;
    const bool writable = outer->access == Access::kWritable;
    if (shield.unknown_reach) return cannot(shield, *outer, "it holds more links than are followed");
    if (shield.stands()) {
      if (shield.hides() || writable) added_.push_back(want_of(shield));
      return;
    }
    if (!writable && shield.fact == nullptr) return;
    const PathFact* fact = shield.fact != nullptr ? shield.fact : fact_of(draft_.facts, shield.path);
    if (fact == nullptr) return writable ? cannot(shield, *outer, "it was not looked up on this host") : void();
    switch (fact->state) {
      case PathState::kAbsent:
        if (writable) absent(shield, *fact, *outer);
        return;
      case PathState::kNotDirectory:
        if (writable) blocked(shield, *fact);
        return;
      case PathState::kDenied:
        // What the caller may not search the target does not reach either.
        return;
      case PathState::kPresent:
      case PathState::kLoop:
      case PathState::kTooLong:
      case PathState::kFailed:
        if (writable || fact->state == PathState::kFailed) cannot(shield, *outer, "it cannot be checked");
        return;
    }
  }

  void finish() {
    for (auto& [path, want] : absent_) added_.push_back(std::move(want));
    for (Want& want : added_) wants_.push_back(std::move(want));
  }

 private:
  void cannot(const Shield& shield, const Want& outer, std::string_view why) {
    draft_.refuse(Code::kShieldCannotBeHeld, outer.at,
                  fmt::format("{}: {} ({}) cannot be protected: {}", outer.reason, base::shown(shield.path),
                              words_of(shield), why),
                  "grant something narrower, which does not reach it");
    draft_.items.back().is_grant = true;
  }

  /// A file stands where the shield's directory would be: held, so that no directory takes its place.
  void blocked(const Shield& shield, const PathFact& fact) {
    Want want = want_of(shield);
    want.path = fact.real;
    want.directory = false;
    want.access = Access::kReadOnly;
    want.why = Why::kHeld;
    added_.push_back(std::move(want));
  }

  void absent(const Shield& shield, const PathFact& fact, const Want& outer) {
    std::string first = fact.first_absent;
    // What the grant itself makes is there when the rest is mounted.
    if (within(outer.path, first)) first = fmt::format("{}/{}", outer.path, first_component(shield.real, outer.path));
    for (const Want& want : wants_) {
      if (want.create.empty() || want.path == outer.path || !within(want.path, first)) continue;
      draft_.refuse(Code::kShieldCannotBeHeld, want.at,
                    fmt::format("{}: it does not exist yet, and {} ({}) beside it must be held first", want.reason,
                                base::shown(shield.path), words_of(shield)),
                    fmt::format("make it first: mkdir -p {}", base::shown(want.path)));
      draft_.items.back().is_grant = true;
      return;
    }
    Want want = want_of(shield);
    want.absent = true;
    want.hidden_when_made = shield.hides();
    want.directory = shield.directory || first != shield.real;
    want.id = outer.create.empty() ? fact.id : outer.id;
    want.create = outer.create;
    want.path = first;
    const auto [known, is_new] = absent_.try_emplace(first, want);
    if (!is_new) known->second.hidden_when_made = known->second.hidden_when_made && shield.hides();
  }

  static std::string_view first_component(std::string_view path, std::string_view directory) {
    const std::string_view rest = path.substr(directory.size() + 1);
    return rest.substr(0, rest.find('/'));
  }

  Draft& draft_;
  std::vector<Want>& wants_;
  Shown shown_;
  std::vector<Want> added_;
  std::map<std::string, Want> absent_;
};

void say_unshieldable(Draft& draft, const Rules& rules) {
  for (const policy::shield::Unshieldable& one : rules.unshieldable) {
    draft.note(unshieldable_code(one), unshieldable_words(one), {});
  }
}

void say_what_is_in_force(Draft& draft, const std::vector<Want>& wants) {
  std::size_t hidden = 0, read_only = 0, absent = 0;
  for (const Want& want : wants) {
    if (want.why != Why::kShield && want.why != Why::kHeld) continue;
    (want.absent ? absent : want.why == Why::kShield ? hidden : read_only) += 1;
  }
  if (hidden + read_only + absent == 0) return;
  draft.note("shields",
             fmt::format("shields below what is granted: {} hidden, {} read-only, {} held although they do not exist",
                         hidden, read_only, absent),
             {});
}

}  // namespace

ShieldQuestions shield_questions(const policy::Policy& policy, const plan::HostFacts& facts, const Rules& rules) {
  ShieldQuestions out;
  ask_for_rules(rules, facts, out);
  ask_for_checkouts(policy, facts, out);
  if (!knows_names(facts)) return out;
  const Shields shields(policy, facts, rules);
  for (const Shield& shield : shields.all()) {
    if (follows_links(shield)) out.links.push_back(shield.real);
  }
  const auto reals = [&](const std::vector<PathGrant>& grants) {
    std::vector<std::string> places;
    for (const PathGrant& grant : grants) {
      const PathFact* fact = fact_of(facts, grant.path);
      if (is_resolved(fact)) places.push_back(fact->real);
    }
    return places;
  };
  const std::vector<std::string> writes = reals(policy.write);
  for (const auto& places : {writes, reals(policy.read)}) {
    for (const std::string& place : places) {
      for (Shields::Pair& pair : shields.folded_pairs(place)) {
        out.paths.push_back(std::move(pair.granted));
        out.paths.push_back(std::move(pair.shielded));
      }
    }
  }
  for (const Shield& shield : shields.all()) {
    if (shield.fact != nullptr) continue;
    const bool reached = std::ranges::any_of(
        writes, [&](const std::string& place) { return place != shield.real && within(shield.real, place); });
    if (reached) out.paths.push_back(shield.path);
  }
  return out;
}

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

void want_shields(Draft& draft, const Rules& rules, const Shields& shields, std::vector<Want>& wants) {
  say_unshieldable(draft, rules);
  Holding holding(draft, wants);
  for (const Shield& shield : shields.all()) {
    if (!shields.is_lifted(shield)) holding.add(shield);
  }
  holding.finish();
  say_what_is_in_force(draft, wants);
}

void shield_callouts(const policy::Policy& policy, const plan::HostFacts& facts, std::vector<Callout>& out) {
  const Rules rules = shield_rules(facts);
  const Shields shields(policy, facts, rules);
  const auto add = [&](const std::vector<PathGrant>& grants, std::string_view key, Access access) {
    for (const PathGrant& grant : grants) {
      const Shield* lifted = shields.lifted_by(grant, access);
      if (lifted == nullptr) continue;
      out.push_back({.code = "shield-lifted",
                     .text = lifted_words(label_of(key, grant.written), *lifted, access),
                     .at = grant.at.span});
    }
  };
  add(policy.read, "read", Access::kReadOnly);
  add(policy.write, "write", Access::kWritable);
  for (const policy::shield::Unshieldable& one : rules.unshieldable) {
    out.push_back({.code = unshieldable_code(one), .text = unshieldable_words(one), .at = {}});
  }
}

}  // namespace cordon::planner
