#include "planner/devices.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "planner/base.h"
#include "planner/named_path.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;

constexpr std::string_view kPlace = "/dev/";

struct Kept {
  std::string_view name;  ///< below /dev; what ends with '*' is a beginning
  std::string_view what;
};

// Devices by which a program leaves its sandbox, or takes the host from its owner, whatever their mode. Names as
// Documentation/admin-guide/devices.txt and the drivers have them.
constexpr std::array kKept = std::to_array<Kept>({
    {"mem", "the host's memory"},
    {"kmem", "the host's memory"},
    {"port", "the host's I/O ports"},
    {"kmsg", "the kernel's log"},
    {"console", "the host's console"},
    {"tty*", "a terminal of the host"},
    {"vcs*", "what stands on the host's screens"},
    {"pts*", "a terminal of the host"},
    {"ptmx", "a terminal of the host"},
    {"shm*", "memory that the host's programs share"},
    {"mqueue*", "queues of the host's programs"},
    {"input*", "what is typed on the host"},
    {"uinput", "typing in the host's place"},
    {"uhid", "typing in the host's place"},
    {"hidraw*", "what is typed on the host"},
    {"userio", "typing in the host's place"},
    {"fuse", "mounts, which the target cannot make"},
    {"cuse", "making devices"},
    {"loop*", "making disks of files"},
    {"mapper*", "the host's disks"},
    {"btrfs-control", "the host's disks"},
    {"zfs", "the host's disks"},
    {"sg*", "the host's disks, below their file systems"},
    {"bsg*", "the host's disks, below their file systems"},
    {"nvme*", "the host's disks"},
    {"raw*", "the host's disks"},
    {"vfio*", "hardware, past the kernel"},
    {"vhost*", "the kernel's own network"},
    {"net*", "interfaces, which the target cannot make"},
    {"cpu*", "the host's processors"},
    {"cpu_dma_latency", "the host's power management"},
    {"msr*", "the host's processors"},
    {"mcelog", "the host's processors"},
    {"tpm*", "the host's keys"},
    {"watchdog*", "a reset of the host"},
    {"rfkill", "the host's radios"},
    {"snapshot", "the host's memory"},
    {"autofs", "the host's mounts"},
    {"binder*", "other programs of the host"},
    {"vmci", "other machines"},
    {"vsock", "other machines"},
});

constexpr unsigned kMemoryMajor = 1;
constexpr unsigned kRandomMinor = 8, kUrandomMinor = 9, kNullMinor = 3, kZeroMinor = 5, kFullMinor = 7;

/// Serial lines are nobody's terminal.
bool is_serial(std::string_view name) {
  constexpr std::array kSerial = std::to_array<std::string_view>({"ttyUSB", "ttyACM", "ttyAMA"});
  return std::ranges::any_of(kSerial, [&](std::string_view start) { return name.starts_with(start); });
}

std::optional<std::string_view> what_it_opens(std::string_view name, std::uint64_t number) {
  if (major(number) == kMemoryMajor) {
    constexpr std::array kHarmless = {kNullMinor, kZeroMinor, kFullMinor, kRandomMinor, kUrandomMinor};
    if (std::ranges::find(kHarmless, minor(number)) == kHarmless.end()) return "the host's memory";
  }
  if (is_serial(name)) return std::nullopt;
  for (const Kept& kept : kKept) {
    const bool begins = kept.name.ends_with('*');
    const std::string_view known = begins ? kept.name.substr(0, kept.name.size() - 1) : kept.name;
    if (begins ? name.starts_with(known) : name == known) return kept.what;
  }
  return std::nullopt;
}

void refuse(Draft& draft, const policy::Text& device, Code code, std::string_view message, std::string mend) {
  draft.refuse(code, device.at.span, fmt::format("{} {}", label_of("devices", device.value), message), std::move(mend));
  draft.items.back().is_grant = true;
}

/// Nothing where every run has it already.
const PathFact* wanted(const Draft& draft, const policy::Text& device) {
  return is_own_device_node(device.value) ? nullptr : fact_of(draft.facts, device.value);
}

void check(Draft& draft, const policy::Text& device) {
  if (is_own_device_node(device.value)) {
    return draft.note("already-there", label_of("devices", device.value) + ": every run has it already",
                      device.at.span);
  }
  const PathFact* fact = fact_of(draft.facts, device.value);
  if (fact == nullptr || (fact->state != PathState::kPresent && fact->state != PathState::kAbsent)) {
    return refuse(draft, device, Code::kDeviceMissing, "cannot be looked at", "name a device that you may use");
  }
  if (fact->state == PathState::kAbsent)
    return refuse(draft, device, Code::kDeviceMissing, "does not exist on this host", "remove it, or load its driver");
  if (!fact->hops.empty() || !fact->real.starts_with(kPlace)) {
    return refuse(draft, device, Code::kDeviceKept, fmt::format("is a link to {}", base::shown(fact->real)),
                  "name the device itself");
  }
  if ((fact->id.type & S_IFMT) == S_IFDIR) {
    return refuse(draft, device, Code::kDeviceKept, "is a directory",
                  fmt::format("name the devices in it that the target uses, one by one: ls {}", device.value));
  }
  if ((fact->id.type & S_IFMT) != S_IFCHR) {
    return refuse(draft, device, Code::kDeviceKept, "is no character device: what it holds is the host's own",
                  "remove it");
  }
  const auto opens = what_it_opens(std::string_view(fact->real).substr(kPlace.size()), fact->rdev);
  if (opens) {
    return refuse(draft, device, Code::kDeviceKept, fmt::format("opens {}, and no sandbox holds that", *opens),
                  "remove it");
  }
  if (!fact->writable) {
    draft.note("device-may-fail",
               fmt::format("{}: you may not write to it yourself (owner {}, group {}, mode {:04o})",
                           label_of("devices", device.value), fact->uid, fact->gid, fact->mode),
               device.at.span);
  }
}

}  // namespace

std::vector<std::string> device_questions(const policy::Policy& policy) {
  std::vector<std::string> out;
  for (const policy::Text& device : policy.devices)
    if (!is_own_device_node(device.value)) out.push_back(device.value);
  return out;
}

void check_devices(Draft& draft) {
  for (const policy::Text& device : draft.policy.devices) check(draft, device);
}

void mount_devices(Draft& draft, const Identity& identity) {
  for (const policy::Text& device : draft.policy.devices) {
    const PathFact* fact = wanted(draft, device);
    if (fact == nullptr) continue;
    draft.step(plan::step::Device{.path = fact->real, .id = fact->id}, plan::Layer::kFilesystem,
               label_of("devices", device.value), device.at.span);
    if (draft.facts.uid == 0 && !mode_allows(identity, *fact, 2)) {
      draft.note("device-may-fail",
                 fmt::format("{}: the target runs as uid {} without privileges (owner {}, group {}, mode {:04o})",
                             label_of("devices", device.value), identity.uid, fact->uid, fact->gid, fact->mode),
                 device.at.span);
    }
  }
}

}  // namespace cordon::planner
