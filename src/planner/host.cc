#include "planner/host.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "planner/landlock.h"

namespace cordon::planner {
namespace {

using plan::Feature;
using plan::Layer;

constexpr KernelVersion kOldest = {5, 13};

struct Need {
  Feature feature;
  Layer layer;
  std::string_view promise;  ///< what is lost without it
  bool can_do_without;       ///< the other promises stand without it
  bool both_engines = false;
};

constexpr std::array kNeeds = std::to_array<Need>({
    {Feature::kUserNamespace, Layer::kProcesses, "a sandbox can be made without privileges", false},
    {Feature::kMountNamespace, Layer::kFilesystem, "the target sees a file system of its own", false},
    {Feature::kPidNamespace, Layer::kProcesses, "the target sees and ends with its own processes", false},
    {Feature::kNetNamespace, Layer::kNetwork, "the target has no network", true},
    {Feature::kIpcNamespace, Layer::kProcesses, "the target shares no memory with the host", true},
    {Feature::kUtsNamespace, Layer::kProcesses, "the target cannot rename the host", true},
    {Feature::kCgroupNamespace, Layer::kProcesses, "the target does not see the host's control groups", true},
    {Feature::kProcMount, Layer::kProcesses, "the target sees its own processes only", false},
    {Feature::kTmpfsMount, Layer::kFilesystem, "the target has a root of its own", false},
    {Feature::kDevptsMount, Layer::kFilesystem, "the target has terminals of its own", false},
    {Feature::kMountApi, Layer::kFilesystem, "what was checked is what is mounted", false},
    {Feature::kOpenat2, Layer::kFilesystem, "what was checked is what is mounted", false, true},
    {Feature::kPidfd, Layer::kProcesses, "the run is ended without hitting another process", false, true},
    {Feature::kCloseRange, Layer::kPrivileges, "no descriptor of the caller's is handed on", false, true},
});

void refuse_feature(Draft& draft, const Need& need) {
  const plan::FeatureFact& fact = draft.facts.feature(need.feature);
  std::string message = fmt::format("this host does not let it be held that {}", need.promise);
  if (!fact.operation.empty()) {
    message += fmt::format(": {} failed", fact.operation);
    if (fact.code != 0) message += fmt::format(" ({})", base::errno_name(fact.code));
  }
  if (!fact.cause.empty()) message += fmt::format("; {}", fact.cause);
  draft.refuse(Code::kFeatureMissing, {}, std::move(message), fact.mend);
  draft.items.back().layer = need.layer;
  draft.items.back().feature = need.feature;
}

void check_need(Draft& draft, const Need& need) {
  if (!lacks(draft.facts, need.feature)) return;
  if (!need.can_do_without || !draft.policy.posture.allow_degraded) return refuse_feature(draft, need);
  draft.plan.degradations.push_back({.layer = need.layer,
                                     .state = plan::LayerState::kUnavailable,
                                     .what = fmt::format("it is not held that {}", need.promise),
                                     .mend = draft.facts.feature(need.feature).mend});
}

/// The mounts hold the list by themselves, but for what lies in the directories of libraries, and for files in memory.
void check_exec_list(Draft& draft) {
  if (draft.plan.engine == plan::Engine::kLandlock) return;  // check_engine()
  if (lacks(draft.facts, Feature::kSeccompFilter)) {
    check_need(draft, {Feature::kSeccompFilter, Layer::kExec, "no file in memory is started (exec: a list)", true});
  }
  if (repeats_files(draft.facts)) return;
  lack_hardening(draft, Layer::kExec, Feature::kLandlock,
                 "a program that lies in a directory of libraries can be started although the list under exec does "
                 "not name it, and so can what the target writes into a file that is one of its standard streams",
                 "a kernel of 5.19 or later with Landlock", plan::LayerState::kDegraded);
}

void check_exec_control(Draft& draft) {
  if (exec_listed(draft.policy)) return check_exec_list(draft);
  if (!exec_closed(draft.policy)) return;
  for (const Feature feature : {Feature::kSeccompFilter, Feature::kUserNotification}) {
    if (!lacks(draft.facts, feature)) continue;
    return check_need(draft, {feature, Layer::kExec, "the target starts no other program (exec: none)", true});
  }
}

void check_watching(Draft& draft) {
  if (draft.policy.posture.watch == policy::Watch::kNothing) return;
  for (const Feature feature : {Feature::kSeccompFilter, Feature::kUserNotification}) {
    if (!lacks(draft.facts, feature)) continue;
    return check_need(draft, {feature, Layer::kSystemCalls, "what the target asks for is recorded", true});
  }
}

}  // namespace

std::optional<KernelVersion> kernel_version(std::string_view release) {
  KernelVersion version;
  const char* const end = release.data() + release.size();
  const auto major = std::from_chars(release.data(), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  if (std::from_chars(major.ptr + 1, end, version.minor).ec != std::errc()) return std::nullopt;
  return version;
}

bool lacks(const plan::HostFacts& facts, Feature feature) {
  return facts.feature(feature).state == plan::Availability::kNo;
}

void lack_hardening(Draft& draft, Layer layer, Feature feature, std::string what, std::string mend,
                    plan::LayerState left) {
  if (!draft.policy.posture.strict) {
    draft.plan.degradations.push_back(
        {.layer = layer, .state = left, .what = std::move(what), .mend = std::move(mend)});
    return;
  }
  draft.refuse(Code::kFeatureMissing, {}, fmt::format("{}, and --strict asks for every layer", what), std::move(mend));
  draft.items.back().layer = layer;
  draft.items.back().feature = feature;
}

void check_host(Draft& draft) {
  const plan::HostFacts& facts = draft.facts;
  if (const auto version = kernel_version(facts.kernel_release); version && *version < kOldest) {
    draft.refuse(Code::kKernelTooOld, {}, fmt::format("Linux {} is older than 5.13", base::shown(facts.kernel_release)),
                 "a kernel of 5.13 or later");
  }
  if (facts.machine != "x86_64" && facts.machine != "aarch64") {
    draft.refuse(Code::kMachineUnsupported, {},
                 fmt::format("{} is no machine that the system-call filter is made for", base::shown(facts.machine)),
                 "x86_64 or aarch64");
  }
  const bool own_namespaces = draft.plan.engine == plan::Engine::kNamespace;
  for (const Need& need : kNeeds) {
    if (own_namespaces || need.both_engines) check_need(draft, need);
  }
  check_exec_control(draft);
  check_watching(draft);
  if (own_namespaces && lacks(facts, Feature::kSeccompFilter)) {
    lack_hardening(draft, Layer::kSystemCalls, Feature::kSeccompFilter, "no system call is filtered",
                   facts.feature(Feature::kSeccompFilter).mend);
    if (!scopes_signals(facts)) {
      lack_hardening(draft, Layer::kProcesses, Feature::kLandlock,
                     "a signal to its process group, kill(0, …), reaches Cordon and the caller's pipeline",
                     "a kernel of 6.12 or later with Landlock", plan::LayerState::kDegraded);
    }
  }
}

}  // namespace cordon::planner
