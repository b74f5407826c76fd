#include "report/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "plan/not_held.h"

namespace cordon::report {
namespace {

using plan::Availability;
using plan::Feature;
using plan::Layer;
using plan::LayerState;

/// What a layer rests on. `needs`: without one of them the layer cannot be held. `betters`: without one it is weaker.
struct Rests {
  Layer layer;
  std::vector<Feature> needs, betters;
};

std::vector<Rests> rests() {
  return {
      {Layer::kFilesystem,
       {Feature::kUserNamespace, Feature::kMountNamespace, Feature::kMountApi, Feature::kOpenat2, Feature::kTmpfsMount,
        Feature::kProcMount, Feature::kDevptsMount},
       {}},
      {Layer::kProcesses,
       {Feature::kUserNamespace, Feature::kPidNamespace, Feature::kPidfd},
       {Feature::kIpcNamespace, Feature::kUtsNamespace, Feature::kCgroupNamespace}},
      {Layer::kNetwork, {Feature::kUserNamespace, Feature::kNetNamespace}, {Feature::kNatRedirect}},
      {Layer::kExec, {Feature::kSeccompFilter, Feature::kUserNotification}, {Feature::kNotificationKillable}},
      {Layer::kPrivileges, {Feature::kUserNamespace, Feature::kCloseRange}, {}},
      {Layer::kSystemCalls, {Feature::kSeccompFilter}, {}},
      {Layer::kLandlock, {Feature::kLandlock}, {}},
  };
}

void add_missing(std::vector<MissingFeature>& missing, const std::vector<Feature>& features,
                 const plan::HostFacts& facts) {
  for (Feature feature : features)
    if (facts.feature(feature).state != Availability::kYes) missing.push_back({feature, facts.feature(feature)});
}

std::string summary_of(const std::vector<MissingFeature>& missing) {
  std::string out;
  for (const MissingFeature& one : missing)
    out += fmt::format("{}{}", out.empty() ? "lacks " : ", ", plan::feature_name(one.feature));
  return out;
}

/// Nothing keeps kill(0, …) inside: neither Landlock's scope (ABI 6) nor the filter of system calls.
bool signals_leave(const plan::HostFacts& facts) {
  constexpr int kScopingAbi = 6;
  const bool scoped =
      facts.feature(Feature::kLandlock).state == Availability::kYes && facts.landlock_abi >= kScopingAbi;
  return !scoped && facts.feature(Feature::kSeccompFilter).state != Availability::kYes;
}

DoctorLine line_of(const Rests& rest, const plan::HostFacts& facts) {
  DoctorLine out;
  out.line.layer = rest.layer;
  out.line.tier = plan::tier_of(rest.layer);
  add_missing(out.missing, rest.needs, facts);
  const bool short_of_need = !out.missing.empty();
  add_missing(out.missing, rest.betters, facts);
  out.line.state = short_of_need         ? LayerState::kUnavailable
                   : out.missing.empty() ? LayerState::kEnforced
                                         : LayerState::kDegraded;
  out.line.detail = summary_of(out.missing);
  if (rest.layer == Layer::kProcesses && out.line.state != LayerState::kUnavailable && signals_leave(facts)) {
    out.line.state = LayerState::kDegraded;
    out.line.detail += std::string(out.line.detail.empty() ? "" : "; ") + "signals to the process group leave";
  }
  for (const MissingFeature& one : out.missing)
    if (out.line.mend.empty()) out.line.mend = one.fact.mend;
  return out;
}

/// Memory, CPU time and processes; limits.timeout and limits.tmp need nothing of the host's.
DoctorLine limits_line(const plan::LimitsFact& fact) {
  DoctorLine out;
  out.line.layer = Layer::kLimits;
  out.line.tier = plan::tier_of(Layer::kLimits);
  std::string missing;
  for (const auto& [name, held] : {std::pair{"memory", fact.memory}, {"cpu", fact.cpu}, {"pids", fact.pids}})
    if (!held) missing += fmt::format("{}{}", missing.empty() ? "cannot limit " : ", ", name);
  const bool none = !fact.memory && !fact.cpu && !fact.pids;
  out.line.state = missing.empty() ? LayerState::kEnforced : none ? LayerState::kUnavailable : LayerState::kDegraded;
  out.line.detail = missing;
  if (missing.empty()) {
    out.line.detail = fact.way == plan::CgroupWay::kScope ? "by a scope of systemd's" : "by a control group of its own";
    return out;
  }
  out.line.mend = fact.mend;
  out.cause = fact.cause;
  return out;
}

Paint paint_of(LayerState state) {
  switch (state) {
    case LayerState::kEnforced:
      return Paint::kGreen;
    case LayerState::kDegraded:
      return Paint::kYellow;
    case LayerState::kUnavailable:
      return Paint::kRed;
    case LayerState::kNotRequested:
      return Paint::kNone;
  }
  return Paint::kNone;
}

std::string table_of(const Doctor& doctor, const Style& style) {
  std::string out = fmt::format("  {:<14}{:<12}{:<14}{}\n", "layer", "tier", "state", "detail");
  for (const DoctorLine& one : doctor.layers) {
    const std::string_view state = plan::layer_state_name(one.line.state);
    const std::string padding(14 - std::min<std::size_t>(state.size(), 13), ' ');
    constexpr std::size_t kDetailColumn = 42;
    std::string row = fmt::format("  {:<14}{:<12}{}{}{}", plan::layer_name(one.line.layer),
                                  one.line.tier == plan::Tier::kCore ? "core" : "hardening",
                                  painted(paint_of(one.line.state), state, style), padding,
                                  base::wrap(one.line.detail, std::max<std::size_t>(style.width, 70), kDetailColumn));
    while (row.ends_with(' ')) row.pop_back();
    out += row + "\n";
  }
  return out;
}

/// Each missing thing once, although several layers may rest on it.
std::string causes_of(const Doctor& doctor, const Style& style) {
  std::vector<Feature> told;
  std::string out;
  for (const DoctorLine& one : doctor.layers) {
    for (const MissingFeature& missing : one.missing) {
      if (std::ranges::find(told, missing.feature) != told.end()) continue;
      told.push_back(missing.feature);
      const plan::FeatureFact& fact = missing.fact;
      const std::string what = fact.state == Availability::kUnknown
                                   ? std::string("was not probed")
                                   : fmt::format("{} answered {}", fact.operation, base::errno_name(fact.code));
      out += "\n" + laid_out({"", fmt::format("{}:", plan::feature_name(missing.feature)), Paint::kBold,
                              fact.cause.empty() ? what : fmt::format("{}: {}", what, fact.cause), 2},
                             style);
      if (!fact.mend.empty()) out += laid_out({"  ", "mend:", Paint::kGreen, fact.mend, 6}, style);
    }
  }
  return out;
}

std::string limits_text(const Doctor& doctor, const Style& style) {
  std::string out;
  for (const DoctorLine& one : doctor.layers) {
    if (one.cause.empty()) continue;
    out +=
        "\n" + laid_out({"", fmt::format("{}:", plan::layer_name(one.line.layer)), Paint::kBold, one.cause, 2}, style);
    if (!one.line.mend.empty()) out += laid_out({"  ", "mend:", Paint::kGreen, one.line.mend, 6}, style);
  }
  return out;
}

std::string launcher_text(const LauncherState& launcher, const Style& style) {
  if (launcher.usable)
    return laid_out({"", "launcher:", Paint::kNone, base::shown(launcher.path) + ", of this build", 2}, style);
  const std::string why = !launcher.found        ? std::string("is not installed")
                          : !launcher.same_build ? base::shown(launcher.path) + " is of another build"
                                                 : base::shown(launcher.path) + " is not used: " + launcher.detail;
  return laid_out({"", "launcher:", Paint::kYellow,
                   why + "; runs start the copy inside cordon, which AppArmor cannot know by its path", 2},
                  style) +
         laid_out({"  ", "mend:", Paint::kGreen, "install cordon and cordon-launch together: make install", 6}, style);
}

std::string_view when(plan::Missing missing) {
  switch (missing) {
    case plan::Missing::kAlways:
      return "";
    case plan::Missing::kSometimes:
      return " (of some runs)";
    case plan::Missing::kRefuses:
      return " (what needs it is refused)";
  }
  return "";
}

/// Both engines. What the second does not hold, under the names that its reports give: in full where it is what runs
/// come to here.
std::string engines_text(const Doctor& doctor, const Style& style) {
  std::string out, names;
  for (const EngineLine& one : doctor.engines) {
    out += laid_out({"", fmt::format("engine {}:", plan::engine_name(one.engine)),
                     one.ready ? Paint::kGreen : Paint::kYellow, one.ready ? "ready" : "not ready: " + one.why, 2},
                    style);
  }
  if (doctor.ready) {
    for (const plan::NotHeld& one : plan::not_held()) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.code);
    return out + laid_out({"  ", "", Paint::kNone,
                           fmt::format("not held by the landlock engine (--json explains): {}", names), 4},
                          style);
  }
  out += laid_out({"", "", Paint::kNone, "the landlock engine does not hold:", 2}, style);
  for (const plan::NotHeld& one : plan::not_held())
    out += laid_out(
        {"  ", fmt::format("{}:", one.code), Paint::kNone, fmt::format("{}{}", one.what, when(one.missing)), 4}, style);
  return out + "\n";
}

bool is_ready(const Doctor& doctor, plan::Engine engine) {
  const auto found = std::ranges::find(doctor.engines, engine, &EngineLine::engine);
  return found != doctor.engines.end() && found->ready;
}

EngineLine namespace_line(const std::vector<DoctorLine>& layers) {
  EngineLine out{.engine = plan::Engine::kNamespace, .ready = true, .why = {}};
  for (const DoctorLine& one : layers) {
    if (one.line.tier != plan::Tier::kCore || one.line.state != LayerState::kUnavailable) continue;
    if (out.ready) out.why = fmt::format("{} {}", plan::layer_name(one.line.layer), one.line.detail);
    out.ready = false;
  }
  return out;
}

EngineLine landlock_line(const plan::HostFacts& facts) {
  EngineLine out{.engine = plan::Engine::kLandlock, .ready = true, .why = {}};
  const auto lack = [&](std::string why) {
    out.why += (out.why.empty() ? "" : ", ") + std::move(why);
    out.ready = false;
  };
  if (facts.feature(Feature::kLandlock).state != Availability::kYes)
    lack("lacks landlock");
  else if (facts.landlock_abi < kLandlockEngineAbi)
    lack(fmt::format("Landlock ABI {} is needed (Linux 6.2)", kLandlockEngineAbi));
  for (const Feature feature : {Feature::kSeccompFilter, Feature::kOpenat2, Feature::kPidfd, Feature::kCloseRange})
    if (facts.feature(feature).state != Availability::kYes) lack(fmt::format("lacks {}", plan::feature_name(feature)));
  return out;
}

std::string verdict_text(const Doctor& doctor, const Style& style) {
  if (!doctor.ready && is_ready(doctor, plan::Engine::kLandlock))
    return laid_out({"", "weaker:", Paint::kYellow,
                     "runs are held by Landlock alone here, where that holds what they need; others are refused", 2},
                    style);
  if (!doctor.ready) {
    std::string what;
    for (const DoctorLine& one : doctor.layers)
      if (one.line.tier == plan::Tier::kCore && one.line.state == LayerState::kUnavailable)
        what += fmt::format("{}{}", what.empty() ? "" : ", ", plan::layer_name(one.line.layer));
    return laid_out({"", "not ready:", Paint::kRed, fmt::format("runs are refused here; missing: {}", what), 2}, style);
  }
  const bool all =
      std::ranges::all_of(doctor.layers, [](const DoctorLine& one) { return one.line.state == LayerState::kEnforced; });
  return laid_out({"", "ready:", Paint::kGreen,
                   all ? "this host holds every layer"
                       : "this host holds every core promise; what is weaker is said above and by every run",
                   2},
                  style);
}

}  // namespace

Doctor make_doctor(const plan::HostFacts& facts, const LauncherState& launcher) {
  Doctor out;
  out.kernel = facts.kernel_release;
  out.machine = facts.machine;
  out.landlock_abi = facts.landlock_abi;
  out.launcher = launcher;
  out.ready = true;
  for (const Rests& rest : rests()) {
    out.layers.push_back(line_of(rest, facts));
    const LayerLine& line = out.layers.back().line;
    if (line.tier == plan::Tier::kCore && line.state == LayerState::kUnavailable) out.ready = false;
  }
  out.engines = {namespace_line(out.layers), landlock_line(facts)};
  if (facts.limits) out.layers.push_back(limits_line(*facts.limits));
  return out;
}

std::string text(const Doctor& doctor, const Style& style) {
  std::string out = fmt::format("Linux {} on {}", base::shown(doctor.kernel), base::shown(doctor.machine));
  out += doctor.landlock_abi > 0 ? fmt::format(", Landlock ABI {}\n\n", doctor.landlock_abi) : std::string("\n\n");
  out += table_of(doctor, style);
  out += causes_of(doctor, style);
  out += limits_text(doctor, style);
  out += "\n" + launcher_text(doctor.launcher, style);
  out += engines_text(doctor, style);
  out += verdict_text(doctor, style);
  return out;
}

}  // namespace cordon::report
