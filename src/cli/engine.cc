#include "cli/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "enforce/promote/remove_tree.h"
#include "kernel/file.h"

namespace cordon::cli {
namespace {

using plan::Feature;

/// What the namespace engine rests on and the other does not.
constexpr std::array kOfNamespaces = {Feature::kUserNamespace,   Feature::kMountNamespace, Feature::kPidNamespace,
                                      Feature::kNetNamespace,    Feature::kIpcNamespace,   Feature::kUtsNamespace,
                                      Feature::kProcMount,       Feature::kTmpfsMount,     Feature::kDevptsMount,
                                      Feature::kCgroupNamespace, Feature::kMountApi};

}  // namespace

base::Result<policy::EngineChoice, Stop> engine_asked(const Arguments& arguments) {
  const std::string asked = arguments.value("--engine");
  if (asked.empty() || asked == "auto") return policy::EngineChoice::kAuto;
  if (asked == "namespace") return policy::EngineChoice::kNamespace;
  if (asked == "landlock") return policy::EngineChoice::kLandlock;
  return base::fail(
      stop(report::refused_usage("unknown-engine", fmt::format("--engine {} is none", base::shown(asked)),
                                 "--engine auto, namespace or landlock", usage_line(*arguments.command, 78))));
}

std::optional<Feature> lacks_namespaces(const plan::HostFacts& facts) {
  const auto found = std::ranges::find_if(
      kOfNamespaces, [&](Feature feature) { return facts.feature(feature).state == plan::Availability::kNo; });
  return found == kOfNamespaces.end() ? std::nullopt : std::optional(*found);
}

policy::EngineChoice settled(const policy::Posture& posture, const plan::HostFacts& facts) {
  const bool falls_back = posture.engine == policy::EngineChoice::kAuto && !posture.strict && lacks_namespaces(facts);
  return falls_back ? policy::EngineChoice::kLandlock : posture.engine;
}

bool is_for_other_engine(const policy::Policy& policy, const plan::Refusal& refusal) {
  if (policy.posture.engine != policy::EngineChoice::kAuto || policy.posture.strict) return false;
  return std::ranges::all_of(refusal.items, [](const plan::RefusedItem& item) {
    return item.feature && std::ranges::find(kOfNamespaces, *item.feature) != kOfNamespaces.end();
  });
}

plan::Note chosen_note(const plan::HostFacts& facts) {
  std::string why = "this host has not all namespaces";
  if (const auto feature = lacks_namespaces(facts)) {
    const plan::FeatureFact& fact = facts.feature(*feature);
    why = fmt::format("{} failed ({})", fact.operation.empty() ? plan::feature_name(*feature) : fact.operation,
                      base::errno_name(fact.code));
  }
  return {
      .code = "engine-chosen",
      .text = fmt::format("{}, so Landlock alone holds this run (engine landlock); cordon doctor says what that does "
                          "not hold",
                          why),
      .at = {}};
}

plan::Refusal both(plan::Refusal namespaces, plan::Refusal landlock) {
  std::ranges::move(landlock.items, std::back_inserter(namespaces.items));
  return namespaces;
}

void remove_private_directory(const plan::Plan& plan) {
  for (const plan::Step& step : plan.steps) {
    const auto* own = std::get_if<plan::step::PrivateDirectory>(&step.act);
    if (own == nullptr) continue;
    const auto parent = kernel::openat(kernel::kHere, own->parent.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (parent) static_cast<void>(enforce::promote::remove_tree(*parent, own->name).has_value());
  }
}

}  // namespace cordon::cli
