#include "enforce/promote/clean.h"

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "kernel/inode.h"
#include "kernel/system.h"

namespace cordon::enforce::promote {
namespace {

constexpr std::array<std::string_view, 2> kPrefixes{"user.overlay.", "trusted.overlay."};

/// The kernel's limit for all names of one object (xattr(7)).
constexpr std::size_t kMostNames = 65'536;

/// The value's first byte, '\0' for an empty one; nothing where there is no such attribute.
std::optional<char> first_byte(FdView object, std::string_view prefix, std::string_view name) {
  std::array<std::byte, 256> value{};
  const auto size = kernel::fgetxattr(object, (std::string(prefix) + std::string(name)).c_str(), value);
  if (!size) return size.error().code == ERANGE ? std::optional('?') : std::nullopt;
  return *size == 0 ? '\0' : static_cast<char>(value.front());
}

bool is_overlays_own(std::string_view name) {
  for (std::string_view prefix : kPrefixes) {
    // What is escaped ("user.overlay.overlay.x") was written by the run.
    if (name.starts_with(prefix) && !name.substr(prefix.size()).starts_with("overlay.")) return true;
  }
  return false;
}

/// Labels that the host's own security module writes on everything; a run cannot, and nobody can take them away.
bool is_label(std::string_view name) { return name.starts_with("security.") && name != "security.capability"; }

}  // namespace

Sys<Mark> overlay_mark(FdView object) {
  // Nearly everything has no attribute at all: one call instead of six.
  const auto size = kernel::flistxattr(object, {});
  if (!size && size.error().code != EOPNOTSUPP) return base::fail(size.error());
  if (!size || *size == 0) return Mark::kNone;
  Mark out = Mark::kNone;
  for (std::string_view prefix : kPrefixes) {
    if (first_byte(object, prefix, "redirect") || first_byte(object, prefix, "metacopy")) return Mark::kUnknown;
    const auto opaque = first_byte(object, prefix, "opaque");
    if (opaque == 'y') out = Mark::kOpaque;
    if (opaque == 'x' && out == Mark::kNone) out = Mark::kOpaqueWithMarkedFiles;
  }
  return out;
}

bool is_marked_as_whiteout(FdView file) {
  return first_byte(file, kPrefixes[0], "whiteout").has_value() ||
         first_byte(file, kPrefixes[1], "whiteout").has_value();
}

Sys<Stripped> strip_attributes(FdView object, Spare spare) {
  std::array<char, 1024> few{};
  auto size = kernel::flistxattr(object, few);
  if (!size && size.error().code == EOPNOTSUPP) return Stripped::kNothing;
  std::string many;
  std::span<char> names(few);
  if (!size && size.error().code == ERANGE) {
    many.resize(kMostNames);
    names = many;
    size = kernel::flistxattr(object, names);
  }
  if (!size) return base::fail(size.error());
  Stripped out = Stripped::kNothing;
  for (std::size_t at = 0; at < *size;) {
    const std::string_view name(&names[at]);
    at += name.size() + 1;
    if (is_label(name) || (spare == Spare::kMarks && is_overlays_own(name))) continue;
    CORDON_OK(kernel::fremovexattr(object, name.data()));
    if (!is_overlays_own(name)) out = Stripped::kSomething;
  }
  return out;
}

}  // namespace cordon::enforce::promote
