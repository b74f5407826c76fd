#include "planner/sockets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "base/text.h"
#include "planner/agent.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;

constexpr std::array kSystem = std::to_array<std::string_view>({"/nix/var/nix/daemon-socket/socket",
                                                                "/run/acpid.socket",
                                                                "/run/avahi-daemon/socket",
                                                                "/run/containerd/containerd.sock",
                                                                "/run/crio/crio.sock",
                                                                "/run/cups/cups.sock",
                                                                "/run/dbus/system_bus_socket",
                                                                "/run/docker.sock",
                                                                "/run/incus/unix.socket",
                                                                "/run/libvirt/libvirt-sock",
                                                                "/run/libvirt/virtqemud-sock",
                                                                "/run/lxd.socket",
                                                                "/run/mysqld/mysqld.sock",
                                                                "/run/nscd/socket",
                                                                "/run/pcscd/pcscd.comm",
                                                                "/run/podman/podman.sock",
                                                                "/run/postgresql/.s.PGSQL.5432",
                                                                "/run/snapd-snap.socket",
                                                                "/run/snapd.socket",
                                                                "/run/systemd/io.systemd.Hostname",
                                                                "/run/systemd/io.systemd.Login",
                                                                "/run/systemd/journal/dev-log",
                                                                "/run/systemd/journal/socket",
                                                                "/run/systemd/journal/stdout",
                                                                "/run/systemd/notify",
                                                                "/run/systemd/private",
                                                                "/run/systemd/resolve/io.systemd.Resolve",
                                                                "/run/udev/control",
                                                                "/var/lib/incus/unix.socket",
                                                                "/var/lib/lxd/unix.socket",
                                                                "/var/snap/lxd/common/lxd/unix.socket"});
constexpr std::array kOfUser = std::to_array<std::string_view>(
    {"bus", "docker.sock", "gnupg/S.gpg-agent", "gnupg/S.gpg-agent.extra", "gnupg/S.gpg-agent.ssh", "keyring/control",
     "keyring/pkcs11", "keyring/ssh", "openssh_agent", "pipewire-0", "podman/podman.sock", "pulse/native",
     "ssh-agent.socket", "systemd/notify", "systemd/private", "wayland-0"});
constexpr std::array kOfHome = std::to_array<std::string_view>(
    {".1password/agent.sock", ".bitwarden-ssh-agent.sock", ".colima/default/docker.sock", ".docker/desktop/docker.sock",
     ".docker/run/docker.sock", ".gnupg/S.gpg-agent", ".gnupg/S.gpg-agent.extra", ".gnupg/S.gpg-agent.ssh",
     ".lima/default/sock/docker.sock", ".rd/docker.sock", ".ssh/agent.sock"});

std::vector<std::string> known_sockets(const policy::Policy& policy, const plan::HostFacts& facts) {
  std::vector<std::string> out(kSystem.begin(), kSystem.end());
  if (const std::string agent = agent_path(policy, facts); !agent.empty()) {
    const PathFact* fact = fact_of(facts, agent);
    out.push_back(fact != nullptr && !fact->real.empty() ? fact->real : agent);
  }
  for (std::string_view name : kOfUser) out.push_back(fmt::format("/run/user/{}/{}", facts.uid, name));
  for (const std::string& home : own_homes(facts)) {
    for (std::string_view name : kOfHome) out.push_back(home + "/" + std::string(name));
  }
  return out;
}

/// Where the grant really lies, as far as that is known.
std::string_view place_of(const plan::HostFacts& facts, const policy::PathGrant& grant) {
  const PathFact* fact = fact_of(facts, grant.path);
  return fact != nullptr && fact->state == PathState::kPresent ? std::string_view(fact->real)
                                                               : std::string_view(grant.path);
}

}  // namespace

std::vector<std::string> socket_questions(const policy::Policy& policy, const plan::HostFacts& facts) {
  std::unordered_set<std::string_view> places;
  for (const auto* grants : {&policy.read, &policy.write}) {
    for (const policy::PathGrant& grant : *grants) places.insert(place_of(facts, grant));
  }
  const auto below_a_place = [&](std::string_view at) {
    while (at != "/" && !places.contains(at)) at = parent_of(at);
    return places.contains(at);
  };
  std::vector<std::string> out;
  if (places.empty()) return out;
  for (std::string& socket : known_sockets(policy, facts)) {
    if (below_a_place(socket)) out.push_back(std::move(socket));
  }
  return out;
}

void hide_sockets(Draft& draft, std::vector<Want>& wants) {
  for (const std::string& socket : socket_questions(draft.policy, draft.facts)) {
    const PathFact* fact = fact_of(draft.facts, socket);
    if (fact == nullptr || fact->state != PathState::kPresent || !is_socket(*fact)) continue;
    const bool named = std::ranges::any_of(
        draft.policy.read, [&](const policy::PathGrant& grant) { return place_of(draft.facts, grant) == fact->real; });
    const bool shielded = std::ranges::any_of(
        wants, [&](const Want& want) { return want.why == Why::kShield && within(fact->real, want.path); });
    if (named || shielded) continue;
    draft.note(
        "socket-hidden",
        fmt::format("the socket {0} is hidden; 'read: {0}' would let the target connect to it", base::shown(socket)),
        {});
    wants.push_back({.path = fact->real,
                     .id = fact->id,
                     .directory = false,
                     .access = Access::kHidden,
                     .why = Why::kSocket,
                     .create = {},
                     .reason = "a socket that no line names",
                     .at = {}});
  }
}

}  // namespace cordon::planner
