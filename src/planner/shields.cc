#include "planner/shields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <map>
#include <utility>

#include "base/text.h"
#include "planner/checkout.h"
#include "planner/held_links.h"
#include "planner/landlock.h"
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

/// The same to a directory that folds case: ASCII only, the corpus has no other names.
bool folds_equal(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, [&](char x, char y) { return lower(x) == lower(y); });
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

bool is_resolved(const PathFact* fact) {
  return fact != nullptr && (fact->state == PathState::kPresent || fact->state == PathState::kAbsent);
}

std::string words_of(const Shield& shield) {
  const std::string_view holds = policy::shield::holds_name(shield.holds);
  std::string out = shield.what.empty() ? base::shown(shield.path) : base::shown(shield.what);
  if (!holds.empty()) out += fmt::format(" ({})", holds);
  return out;
}

Shields::Shields(const policy::Policy& policy, const plan::HostFacts& facts, const Rules& rules)
    : facts_(facts), linked_homes_(facts), all_(standing_shields(rules, facts)) {
  told_ = add_checkouts(policy, facts, all_);
  add_held_links(policy, facts, all_);
  add_absent(policy, rules);
  for (const Shield& shield : all_) by_path_[shield.path].push_back(&shield);
  by_place_ = by_path_;
  for (const Shield& shield : all_) by_place_[shield.real].push_back(&shield);
  lift(policy);
}

/// In the order in which the policy names what leads to them.
void Shields::add_absent(const policy::Policy& policy, const Rules& rules) {
  std::unordered_set<std::string_view> known, visited;
  std::unordered_map<std::string_view, bool> with_rules;  // by directory: whether a rule is for it or below it
  std::vector<Shield> out;
  for (const Shield& shield : all_) known.insert(shield.path);
  const auto add = [&](const policy::shield::Rule& rule) {
    if (known.insert(rule.path).second) out.push_back(absent_shield(rule));
  };
  std::deque<std::string> moved;  // stays where it is, for those who point into it
  const auto holds_rules = [&](std::string_view directory) {
    const auto [found, is_new] = with_rules.try_emplace(directory, false);
    if (is_new) found->second = !rules.below(directory).empty();
    return found->second;
  };
  const auto visit = [&](std::string_view path) {
    // A thousand grants in one directory that no rule is for.
    while (path != "/" && !holds_rules(parent_of(path))) path = parent_of(path);
    for (std::string_view at = path; at != "/" && visited.insert(at).second; at = parent_of(at)) {
      if (const policy::shield::Rule* rule = rules.exactly(at)) add(*rule);
    }
  };
  const auto visit_spelled = [&](const std::string& path) {
    visit(linked_homes_.empty() ? std::string_view(path) : moved.emplace_back(linked_homes_.real(path)));
  };
  visit_spelled(policy.entrypoint.path);
  for (const auto* grants : {&policy.read, &policy.write}) {
    for (const PathGrant& grant : *grants) {
      visit_spelled(grant.path);
      const PathFact* fact = fact_of(facts_, grant.path);
      if (fact != nullptr && fact->real != grant.path) visit(fact->real);
    }
  }
  for (const PathGrant& grant : policy.write) {
    const PathFact* fact = fact_of(facts_, grant.path);
    if (!is_resolved(fact) || is_too_broad(facts_, fact->real)) continue;
    for (const policy::shield::Rule& rule : rules.below(fact->real)) add(rule);
  }
  std::ranges::move(out, std::back_inserter(all_));
}

std::vector<std::string> Shields::told() const {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> out;
  for (const ToldProgram& each : told_) {
    if (out.size() == kMost) {
      out.push_back(fmt::format("git on this host runs {} more such programs", told_.size() - kMost));
      break;
    }
    if (each.path.empty()) {
      out.push_back(
          fmt::format("git on this host runs a command for '{}' ({} says so) whose words do not tell what it "
                      "starts: that may be a file that the target can write",
                      base::shown(each.setting), base::shown(each.by)));
      continue;
    }
    out.push_back(fmt::format("git on this host runs {} for '{}' ({} says so): the target may write it",
                              base::shown(each.path), base::shown(each.setting), base::shown(each.by)));
  }
  return out;
}

const Shield* Shields::exactly(std::string_view path, Deny deny) const {
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return nullptr;
  for (const Shield* shield : found->second) {
    if (shield->deny == deny) return shield;
  }
  return nullptr;
}

const Shield* Shields::outermost(std::string_view path, Deny deny, From from, Lifted lifted) const {
  const Shield* out = nullptr;
  for (std::string_view at = from == From::kAbove ? parent_of(path) : path;; at = parent_of(at)) {
    if (const auto found = by_place_.find(at); found != by_place_.end()) {
      for (const Shield* shield : found->second) {
        if (shield->deny == deny && (lifted == Lifted::kCounts || !is_lifted(*shield))) out = shield;
      }
    }
    if (at == "/") return out;
  }
}

const Shield* Shields::hiding(std::string_view path, Access access) const {
  const Lifted lifted = access == Access::kWritable ? Lifted::kCounts : Lifted::kIgnored;
  if (linked_homes_.empty()) return outermost(path, Deny::kAll, From::kItself, lifted);
  return outermost(linked_homes_.real(path), Deny::kAll, From::kItself, lifted);
}
const Shield* Shields::holding(std::string_view path) const {
  if (linked_homes_.empty()) return outermost(path, Deny::kWrite, From::kItself);
  return outermost(linked_homes_.real(path), Deny::kWrite, From::kItself);
}

const Shield* Shields::lifted_by(const PathGrant& grant, Access access) const {
  // A person lifts, by a line of a file or by a flag; not what a profile or a project's layout asks for.
  if (!grant.at.source.empty() && !grant.at.source.starts_with("--")) return nullptr;
  const PathFact* fact = fact_of(facts_, grant.path);
  if (!is_resolved(fact)) return nullptr;
  const std::string path = linked_homes_.real(grant.path);
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

namespace {

/// Where another spelling of a name finds the same object, it finds the mount over it as well: the kernel keeps one
/// entry for all of them. Others (9p, virtiofs and FUSE over directories of Windows and macOS) keep one for each.
bool keeps_spellings_together(std::string_view filesystem) {
  constexpr std::array kKnown =
      std::to_array<std::string_view>({"bcachefs", "btrfs", "cifs", "ext2", "ext3", "ext4", "exfat", "f2fs", "hfsplus",
                                       "ntfs3", "overlay", "smb3", "squashfs", "tmpfs", "vfat", "xfs", "zfs"});
  return std::ranges::find(kKnown, filesystem) != kKnown.end();
}

/// The last name with small letters for capital ones and the other way round.
std::string other_spelling(std::string_view path) {
  std::string out(path);
  for (std::size_t i = out.rfind('/') + 1; i < out.size(); ++i) {
    const bool letter = (out[i] >= 'a' && out[i] <= 'z') || (out[i] >= 'A' && out[i] <= 'Z');
    if (letter) out[i] = static_cast<char>(out[i] ^ 0x20);
  }
  return out;
}

}  // namespace

/// One for each file system below `real` on which a mount over one spelling might not hold another.
std::vector<Shields::Pair> Shields::spelled_otherwise(std::string_view real) const {
  std::vector<Pair> out;
  std::unordered_set<std::uint64_t> devices;
  for (const Shield& shield : all_) {
    if (!shield.stands() || shield.real == real || !within(shield.real, real)) continue;
    if (keeps_spellings_together(shield.fact->filesystem) || devices.contains(shield.fact->id.device)) continue;
    std::string other = other_spelling(shield.real);
    if (other == shield.real) continue;
    devices.insert(shield.fact->id.device);
    out.push_back({.granted = std::move(other), .shielded = shield.real});
  }
  return out;
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
  for (std::string_view prefix = real; prefix != "/"; prefix = parent_of(prefix)) {
    if (is_ascii(prefix)) continue;
    for (const Shield& shield : all_) {
      const bool beside = shield.stands() && depth_of(shield.real) == depth_of(prefix);
      if (beside) out.push_back({.granted = std::string(prefix), .shielded = shield.real});
    }
  }
  return out;
}

ShieldQuestions shield_questions(const policy::Policy& policy, const plan::HostFacts& facts, const Rules& rules) {
  ShieldQuestions out;
  ask_for_rules(policy, rules, facts, out);
  ask_for_checkouts(policy, facts, out);
  if (!knows_names(policy, rules, facts)) return out;
  const Shields shields(policy, facts, rules);
  for (const Shield& shield : shields.all()) {
    if (follows_links(shield)) out.links.push_back(shield.real);
  }
  ask_for_held_links(policy, facts, shields.all(), out);
  const auto reals = [&](const std::vector<PathGrant>& grants) {
    std::vector<std::string> places;
    for (const PathGrant& grant : grants) {
      const PathFact* fact = fact_of(facts, grant.path);
      if (is_resolved(fact)) places.push_back(fact->real);
    }
    return places;
  };
  const std::vector<std::string> writes = reals(policy.write);
  if (repeats_files(facts)) {
    for (const Shield& shield : shields.all()) {
      const bool counts = shield.hides() && shield.holds == policy::shield::Holds::kCredentials && shield.stands();
      if (!counts || shields.is_lifted(shield)) continue;
      for (const std::string& place : reals(policy.read)) {
        if (place == shield.real || !within(shield.real, place)) continue;
        if (place != "/") out.entries.push_back(place);
        std::ranges::move(between(place, shield.real), std::back_inserter(out.entries));
      }
    }
  }
  for (const auto& places : {writes, reals(policy.read)}) {
    for (const std::string& place : places) {
      for (const auto& pairs : {shields.folded_pairs(place), shields.spelled_otherwise(place)}) {
        for (const Shields::Pair& pair : pairs) {
          out.paths.push_back(pair.granted);
          out.paths.push_back(pair.shielded);
        }
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

}  // namespace cordon::planner
