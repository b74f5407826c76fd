#include "planner/devices.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
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

/// What a person may name. By name and by number: a node of another name is another device, whatever it is called.
struct Known {
  std::string_view name;  ///< below /dev; what ends with '*' is a beginning
  unsigned major;         ///< 0: one that the kernel gives out as drivers come
  int minor = -1;         ///< -1: any
};

// Documentation/admin-guide/devices.txt and the drivers. Everything else is refused: a list of what opens the host
// would always be one driver short (userfaultfd, hvc, fb, mtd, usbmon, ng…n1).
constexpr std::array kKnown = std::to_array<Known>({
    {"kvm", 10, 232},   {"hwrng", 10, 183},   {"dri/renderD*", 226},   {"nvidia*", 195},
    {"nvidia-uvm*", 0}, {"nvidia-caps/*", 0}, {"nvidia-modeset", 195}, {"kfd", 0},
    {"accel/*", 261},   {"snd/*", 116},       {"video*", 81},          {"media*", 0},
    {"ttyUSB*", 188},   {"ttyACM*", 166},     {"ttyAMA*", 204},        {"rtc*", 0},
    {"i2c-*", 89},      {"spidev*", 153},     {"gpiochip*", 0},        {"dma_heap/*", 0},
});

/// Majors that a device of a number given out as it came cannot have: those that are spoken for.
bool is_given_out(unsigned number) { return number >= 234; }

/// null, zero, full, random and urandom under any name give nothing that a run has not.
bool is_harmless(std::uint64_t number) {
  constexpr std::array<unsigned, 5> kHarmless = {3, 5, 7, 8, 9};
  return major(number) == 1 && std::ranges::find(kHarmless, minor(number)) != kHarmless.end();
}

bool is_known(std::string_view name, std::uint64_t number) {
  if (is_harmless(number)) return true;
  return std::ranges::any_of(kKnown, [&](const Known& known) {
    const bool begins = known.name.ends_with('*');
    const std::string_view text = begins ? known.name.substr(0, known.name.size() - 1) : known.name;
    if (begins ? !name.starts_with(text) : name != text) return false;
    const bool right = known.major == 0 ? is_given_out(major(number)) : known.major == major(number);
    return right && (known.minor < 0 || static_cast<unsigned>(known.minor) == minor(number));
  });
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
  if (!is_known(std::string_view(fact->real).substr(kPlace.size()), fact->rdev)) {
    return refuse(
        draft, device, Code::kDeviceKept,
        fmt::format("(number {}:{}) is none that a run may have: by most devices a program leaves its sandbox",
                    major(fact->rdev), minor(fact->rdev)),
        "remove it; may be named: kvm, dri/renderD*, nvidia*, kfd, accel/*, snd/*, video*, media*, ttyUSB*, "
        "ttyACM*, rtc*, i2c-*, spidev*, gpiochip*, hwrng");
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
