#include "plan/plan.h"

#include <array>

#include "base/check.h"
#include "plan/outcome.h"

namespace cordon::plan {

std::string_view feature_name(Feature feature) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Feature::kCount)> kNames = {
      "user-namespace",
      "mount-namespace",
      "pid-namespace",
      "net-namespace",
      "ipc-namespace",
      "uts-namespace",
      "cgroup-namespace",
      "proc-mount",
      "tmpfs-mount",
      "devpts-mount",
      "overlay-mount",
      "mount-api",
      "openat2",
      "pidfd",
      "close-range",
      "landlock",
      "seccomp-filter",
      "user-notification",
      "notification-killable",
      "notification-sync-wakeup",
      "memfd-exec",
      "ipv6",
      "nat-redirect"};
  CORDON_CHECK(feature < Feature::kCount);
  return kNames[static_cast<std::size_t>(feature)];
}

std::string_view layer_name(Layer layer) {
  switch (layer) {
    case Layer::kFilesystem:
      return "filesystem";
    case Layer::kProcesses:
      return "processes";
    case Layer::kNetwork:
      return "network";
    case Layer::kExec:
      return "exec";
    case Layer::kSystemCalls:
      return "system-calls";
    case Layer::kLandlock:
      return "landlock";
    case Layer::kLimits:
      return "limits";
    case Layer::kPrivileges:
      return "privileges";
  }
  CORDON_CHECK(false);
}

std::string_view layer_state_name(LayerState state) {
  switch (state) {
    case LayerState::kNotRequested:
      return "not requested";
    case LayerState::kEnforced:
      return "enforced";
    case LayerState::kDegraded:
      return "degraded";
    case LayerState::kUnavailable:
      return "unavailable";
  }
  CORDON_CHECK(false);
}

Tier tier_of(Layer layer) {
  switch (layer) {
    case Layer::kFilesystem:
    case Layer::kProcesses:
    case Layer::kNetwork:
    case Layer::kExec:
    case Layer::kPrivileges:
      return Tier::kCore;
    case Layer::kSystemCalls:
    case Layer::kLandlock:
    case Layer::kLimits:
      return Tier::kHardening;
  }
  CORDON_CHECK(false);
}

std::string_view step_name(const step::Any& act) {
  constexpr std::array<std::string_view, std::variant_size_v<step::Any>> kNames = {
      "enter-namespaces", "build-root",      "make-directory",   "make-symlink", "make-file",    "bind",
      "mount-proc",       "mount-dev",       "device",           "mount-tmpfs",  "mask",         "pin",
      "stub-overlay",     "private-overlay", "hold-point",       "enter-root",   "loopback",     "local-network",
      "redirect",         "listen",          "socket-pool",      "publish",      "agent-socket", "cgroup",
      "resource-limit",   "run-as",          "drop-privileges",  "landlock",     "filter",       "execute",
      "start-warden",     "grant",           "private-directory"};
  return kNames[act.index()];
}

std::string_view engine_name(Engine engine) { return engine == Engine::kNamespace ? "namespace" : "landlock"; }

std::string_view listen_name(step::ListenFor what) {
  constexpr std::array<std::string_view, 6> kNames = {"redirected", "port",    "proxy",
                                                      "dns-udp",    "dns-tcp", "host-service"};
  return kNames[static_cast<std::size_t>(what)];
}

std::string_view way_name(CgroupWay way) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "direct", "scope"};
  return kNames[static_cast<std::size_t>(way)];
}

std::string_view reach_name(Reach reach) {
  constexpr std::array<std::string_view, 8> kNames = {"admitted",      "gate-admitted", "denied",    "gate-denied",
                                                      "guard-blocked", "unreachable",   "malformed", "over-bound"};
  return kNames[static_cast<std::size_t>(reach)];
}

std::string_view shield_name(step::Shield shield) { return shield == step::Shield::kHidden ? "hidden" : "read-only"; }

}  // namespace cordon::plan
