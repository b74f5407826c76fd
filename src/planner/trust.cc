#include "planner/trust.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "planner/base.h"
#include "planner/network.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using policy::TrustSetting;

const plan::PathFact* standing(const plan::HostFacts& facts, const std::string& path) {
  const plan::PathFact* fact = fact_of(facts, path);
  const bool stands = fact != nullptr && fact->state == plan::PathState::kPresent && fact->planted_by.empty();
  return stands && (is_directory(*fact) || is_regular(*fact)) ? fact : nullptr;
}

/// The policy's own word on that name counts.
bool is_spoken_for(const policy::Policy& policy, const TrustSetting& setting) {
  return std::ranges::any_of(policy.env, [&](const policy::EnvGrant& grant) { return grant.name == setting.name; });
}

/// Not below a home as a whole, nor a home: a directory of certificates is a directory of its own.
bool is_narrow(const plan::HostFacts& facts, const plan::PathFact& fact) {
  if (!is_directory(fact)) return true;
  const std::vector<std::string> homes = own_homes(facts);
  return depth_of(fact.real) >= 2 &&
         std::ranges::none_of(homes, [&](const std::string& home) { return within(home, fact.real); });
}

const plan::PathFact* usable(const plan::HostFacts& facts, const std::string& path) {
  const plan::PathFact* fact = standing(facts, path);
  return fact != nullptr && is_narrow(facts, *fact) ? fact : nullptr;
}

bool is_shown(const Draft& draft, const Arranged& arranged, const std::string& path) {
  const plan::PathFact* fact = usable(draft.facts, path);
  const Mount* mount = fact != nullptr ? arranged.showing(fact->real) : nullptr;
  return mount != nullptr && mount->act == MountAct::kBind;
}

}  // namespace

std::vector<std::string> trust_questions(const policy::Policy& policy) {
  std::vector<std::string> out;
  if (!reaches_out(policy)) return out;
  for (const TrustSetting& setting : policy.posture.trust) {
    if (!is_spoken_for(policy, setting)) out.insert(out.end(), setting.paths.begin(), setting.paths.end());
  }
  return out;
}

namespace {

bool is_denied(const policy::Policy& policy, const plan::HostFacts& facts, std::string_view real) {
  return std::ranges::any_of(policy.deny, [&](const policy::PathGrant& deny) {
    const plan::PathFact* fact = fact_of(facts, deny.path);
    return within(real, fact == nullptr || fact->real.empty() ? deny.path : fact->real);
  });
}

}  // namespace

void want_trust(const Draft& draft, const Shields& shields, std::vector<Want>& wants, std::vector<Link>& links) {
  if (!reaches_out(draft.policy)) return;
  for (const TrustSetting& setting : draft.policy.posture.trust) {
    if (is_spoken_for(draft.policy, setting)) continue;
    for (const std::string& path : setting.paths) {
      const plan::PathFact* fact = usable(draft.facts, path);
      if (fact == nullptr || in_base(draft.facts, fact->real)) continue;
      if (is_denied(draft.policy, draft.facts, fact->real)) continue;
      // Nobody named the store, as a `read:` line would: the variable alone opens none.
      if (shields.hiding(path, Access::kReadOnly) != nullptr) continue;
      if (shields.hiding(fact->real, Access::kReadOnly) != nullptr) continue;
      wants.push_back({.path = fact->real,
                       .id = fact->id,
                       .directory = is_directory(*fact),
                       .access = Access::kReadOnly,
                       .why = Why::kRead,
                       .create = {},
                       .reason = setting.name,
                       .at = {}});
      for (const plan::LinkHop& hop : fact->hops)
        links.push_back({.at = hop.at, .text = hop.target, .reason = setting.name, .span = {}});
    }
  }
}

void pass_trust(Draft& draft, const Arranged& arranged, Environment& environment) {
  if (!reaches_out(draft.policy)) return;
  for (const TrustSetting& setting : draft.policy.posture.trust) {
    if (is_spoken_for(draft.policy, setting)) continue;
    const auto hidden =
        std::ranges::find_if(setting.paths, [&](const std::string& path) { return !is_shown(draft, arranged, path); });
    if (hidden == setting.paths.end()) {
      environment.entries.push_back(setting.name + "=" + setting.value);
    } else {
      draft.note(
          "trust-not-passed",
          fmt::format("{} is not passed: {} is not there, or not to be shown", setting.name, base::shown(*hidden)), {});
    }
  }
  std::ranges::sort(environment.entries);
}

}  // namespace cordon::planner
