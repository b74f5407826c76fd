#include "enforce/hold/overlay_marks.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <variant>

#include "kernel/file.h"
#include "kernel/system.h"

namespace cordon::enforce::hold {
namespace {

using base::Fd;
using base::FdView;

/// The first is the only one that a directory gets which leads to no stub.
constexpr std::array kMarks{"user.overlay.opaque", "user.overlay.origin", "user.overlay.impure"};

/// What makes an overlay show another directory than the stubs' one, or refuse to show any.
constexpr std::array kHiding{"user.overlay.opaque", "user.overlay.redirect", "user.overlay.metacopy"};

/// The directories of "a/b/c", the last name left out: "", "a", "a/b".
void add_ways(std::string_view stub, std::vector<std::string>& out) {
  out.emplace_back();
  for (std::size_t slash = stub.find('/'); slash != std::string_view::npos; slash = stub.find('/', slash + 1))
    out.emplace_back(stub.substr(0, slash));
}

kernel::Sys<Fd> open_directory(FdView below, const char* path) {
  return kernel::openat2(below, path,
                         {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK,
                          .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS});
}

bool is_since(const struct ::statx& facts, const timespec& since) {
  if (facts.stx_ctime.tv_sec != since.tv_sec) return facts.stx_ctime.tv_sec > since.tv_sec;
  return facts.stx_ctime.tv_nsec >= static_cast<std::uint64_t>(since.tv_nsec);
}

}  // namespace

namespace {

std::vector<std::string> ways_of(const plan::step::StubOverlay& overlay) {
  std::vector<std::string> out;
  for (const plan::step::Stub& stub : overlay.stubs) add_ways(stub.path, out);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

}  // namespace

OverlayMarks::OverlayMarks(const plan::Plan& plan) : since_(kernel::coarse_time()) {
  for (const plan::Step& step : plan.steps) {
    const auto* overlay = std::get_if<plan::step::StubOverlay>(&step.act);
    if (overlay == nullptr) continue;
    Place place{.path = overlay->source, .id = overlay->id, .made = !overlay->create.empty(), .merged = {}};
    place.merged = ways_of(*overlay);
    places_.push_back(std::move(place));
  }
}

std::optional<PlantedMark> planted_mark(const plan::Step& step) {
  const auto* overlay = std::get_if<plan::step::StubOverlay>(&step.act);
  if (overlay == nullptr) return std::nullopt;
  const auto root = open_directory(kernel::kHere, overlay->source.c_str());
  if (!root) return std::nullopt;
  for (const std::string& way : ways_of(*overlay)) {
    const auto directory = open_directory(*root, way.empty() ? "." : way.c_str());
    if (!directory) continue;
    for (const char* mark : kHiding) {
      if (!kernel::fgetxattr(*directory, mark, {})) continue;
      return PlantedMark{.directory = way.empty() ? overlay->source : overlay->source + "/" + way, .attribute = mark};
    }
  }
  return std::nullopt;
}

void OverlayMarks::remove_from_ways() const { remove(Depth::kItself); }
void OverlayMarks::remove() const { remove(Depth::kAndDirectoriesIn); }

void OverlayMarks::remove(Depth depth) const {
  for (const Place& place : places_) {
    const auto root = open_directory(kernel::kHere, place.path.c_str());
    const auto facts = root ? kernel::statx(*root) : kernel::Sys<struct ::statx>();
    if (!root || !facts) continue;
    const bool same = facts->stx_ino == place.id.inode && kernel::device_of(*facts) == place.id.device;
    if (!place.made && !same) continue;
    for (const std::string& way : place.merged) {
      const auto directory = open_directory(*root, way.empty() ? "." : way.c_str());
      if (!directory) continue;
      for (const char* mark : kMarks) unmark(*directory, mark);
      if (depth == Depth::kAndDirectoriesIn) unmark_below(*directory);
    }
  }
}

void OverlayMarks::unmark_below(FdView directory) const {
  std::array<std::byte, 32'768> buffer{};
  while (true) {
    const auto got = kernel::getdents64(directory, buffer);
    if (!got || *got == 0) return;
    for (std::size_t at = 0; at < *got;) {
      std::uint16_t size = 0;
      std::memcpy(&size, &buffer.at(at + offsetof(::dirent64, d_reclen)), sizeof size);
      const auto type = static_cast<unsigned char>(buffer.at(at + offsetof(::dirent64, d_type)));
      const char* name = reinterpret_cast<const char*>(&buffer.at(at + offsetof(::dirent64, d_name)));
      const bool is_directory = type == DT_DIR || type == DT_UNKNOWN;
      if (is_directory && std::string_view(name) != "." && std::string_view(name) != "..") {
        if (const auto inner = open_directory(directory, name)) unmark(*inner, kMarks.front());
      }
      at += size;
    }
  }
}

void OverlayMarks::unmark(FdView directory, const char* mark) const {
  if (!kernel::fgetxattr(directory, mark, {})) return;
  const auto facts = kernel::statx(directory);
  if (facts && is_since(*facts, since_)) static_cast<void>(kernel::fremovexattr(directory, mark));
}

}  // namespace cordon::enforce::hold
