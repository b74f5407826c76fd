#include "cli/replan.h"

#include <cerrno>

namespace cordon::cli {
namespace {

using plan::Feature;
namespace step = plan::step;

struct Behind {
  std::vector<Feature> operator()(const step::EnterNamespaces&) const {
    return {Feature::kUserNamespace, Feature::kMountNamespace, Feature::kPidNamespace,   Feature::kNetNamespace,
            Feature::kIpcNamespace,  Feature::kUtsNamespace,   Feature::kCgroupNamespace};
  }
  std::vector<Feature> operator()(const step::BuildRoot&) const { return {Feature::kTmpfsMount, Feature::kMountApi}; }
  std::vector<Feature> operator()(const step::Bind&) const { return {Feature::kMountApi, Feature::kOpenat2}; }
  std::vector<Feature> operator()(const step::MountProc&) const { return {Feature::kProcMount, Feature::kMountApi}; }
  std::vector<Feature> operator()(const step::MountDev&) const {
    return {Feature::kTmpfsMount, Feature::kDevptsMount, Feature::kMountApi};
  }
  std::vector<Feature> operator()(const step::Device&) const { return {Feature::kMountApi, Feature::kOpenat2}; }
  std::vector<Feature> operator()(const step::MountTmpfs&) const { return {Feature::kTmpfsMount, Feature::kMountApi}; }
  std::vector<Feature> operator()(const step::Mask&) const { return {Feature::kMountApi}; }
  std::vector<Feature> operator()(const step::Pin&) const { return {Feature::kMountApi}; }
  std::vector<Feature> operator()(const step::StubOverlay&) const {
    return {Feature::kOverlayMount, Feature::kMountApi};
  }
  std::vector<Feature> operator()(const step::PrivateOverlay&) const {
    return {Feature::kOverlayMount, Feature::kMountApi};
  }
  std::vector<Feature> operator()(const step::HoldPoint&) const { return {Feature::kMountApi}; }
  std::vector<Feature> operator()(const step::EnterRoot&) const { return {Feature::kMountApi}; }
  std::vector<Feature> operator()(const step::Loopback&) const { return {Feature::kNetNamespace, Feature::kIpv6}; }
  std::vector<Feature> operator()(const step::LocalNetwork&) const { return {Feature::kNetNamespace, Feature::kIpv6}; }
  std::vector<Feature> operator()(const step::Redirect&) const { return {Feature::kNatRedirect}; }
  std::vector<Feature> operator()(const step::Listen&) const { return {Feature::kNatRedirect, Feature::kIpv6}; }
  std::vector<Feature> operator()(const step::SocketPool&) const { return {Feature::kNetNamespace, Feature::kIpv6}; }
  std::vector<Feature> operator()(const step::DropPrivileges&) const { return {Feature::kCloseRange}; }
  std::vector<Feature> operator()(const step::Landlock&) const { return {Feature::kLandlock}; }
  std::vector<Feature> operator()(const step::Filter& filter) const {
    if (!filter.notify) return {Feature::kSeccompFilter};
    return {Feature::kSeccompFilter, Feature::kUserNotification, Feature::kNotificationKillable,
            Feature::kNotificationSyncWakeup};
  }
  template <class Other>
  std::vector<Feature> operator()(const Other&) const {
    return {};
  }
};

bool is_of_the_network(const plan::Step& planned) {
  return std::holds_alternative<step::LocalNetwork>(planned.act) ||
         std::holds_alternative<step::Redirect>(planned.act) || std::holds_alternative<step::Listen>(planned.act) ||
         std::holds_alternative<step::SocketPool>(planned.act);
}

/// What a kernel or a host's configuration answers, as against what a missing or swapped object answers.
bool is_of_the_host(int code) {
  return code == EPERM || code == ENOSYS || code == EINVAL || code == EACCES || code == ENOSPC || code == EOPNOTSUPP ||
         code == ENODEV || code == EUSERS || code == E2BIG;
}

}  // namespace

std::vector<Feature> features_behind(const plan::Plan& plan, const base::Error& error) {
  if (error.step.value == 0 || error.step.value > plan.steps.size()) return {};
  // Netfilter without a part of it says ENOENT, and without all of it EPROTONOSUPPORT.
  if (!is_of_the_host(error.code) && !is_of_the_network(plan.at(error.step))) return {};
  return std::visit(Behind{}, plan.at(error.step).act);
}

std::vector<std::string> refused_overlays(const plan::Plan& plan, const base::Error& error) {
  if (error.step.value == 0 || error.step.value > plan.steps.size()) return {};
  const bool of_the_host = is_of_the_host(error.code) || error.code == EXDEV || error.code == EBUSY;
  if (!of_the_host) return {};
  if (const auto* view = std::get_if<step::PrivateOverlay>(&plan.at(error.step).act)) return {view->source};
  if (!std::holds_alternative<step::StubOverlay>(plan.at(error.step).act)) return {};
  std::vector<std::string> out;
  for (const plan::Step& one : plan.steps) {
    if (const auto* overlay = std::get_if<step::StubOverlay>(&one.act)) out.push_back(overlay->source);
  }
  return out;
}

}  // namespace cordon::cli
