#include "cli/leavings.h"

#include <dirent.h>

#include <array>
#include <ctime>
#include <memory>
#include <string_view>

#include "enforce/hold/hold.h"
#include "kernel/file.h"
#include "policy/approval/private_directory.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;

/// Private, or not used: as root, with somebody's $HOME, this must not be led elsewhere by that person's links.
base::Result<base::Fd> open_private(const std::string& state_directory, base::FdView state, const std::string& name,
                                    approval::Caller caller) {
  if (state.valid()) {
    approval::Opened there = approval::open_private_directory_in(state, name, caller);
    if (there.state == approval::Opened::State::kPrivate) return std::move(there.fd);
  }
  return approval::make_private_directory(state_directory + "/" + name, caller);
}

/// One that is older than any mount takes; it holds one directory of the kernel's, or nothing.
void clear_work_directory(base::FdView place, const std::string& name) {
  constexpr std::int64_t kOldSeconds = 60;
  const auto facts = kernel::statx(place, name.c_str(), AT_SYMLINK_NOFOLLOW);
  if (!facts || !S_ISDIR(facts->stx_mode) || std::time(nullptr) - facts->stx_ctime.tv_sec < kOldSeconds) return;
  static_cast<void>(kernel::unlinkat(place, (name + "/work").c_str(), AT_REMOVEDIR));
  static_cast<void>(kernel::unlinkat(place, name.c_str(), AT_REMOVEDIR));
}

void clear_work(base::FdView place) {
  auto readable = kernel::openat(place, ".", O_RDONLY | O_DIRECTORY);
  if (!readable) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(readable->get()), &::closedir);
  if (!stream) return;
  static_cast<void>(readable->release());
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name.starts_with("overlay-")) clear_work_directory(place, name);
  }
}

}  // namespace

std::vector<plan::HeldPoint> clean_holds(const std::string& state_directory) {
  return state_directory.empty() ? std::vector<plan::HeldPoint>()
                                 : enforce::hold::clean(hold_registry_of(state_directory));
}

std::string hold_registry_of(const std::string& state_directory) { return state_directory + "/holds"; }

base::Fd open_state(const std::string& state_directory, approval::Caller caller) {
  if (state_directory.empty()) return {};
  return approval::open_private_directory(state_directory, caller).fd;
}

std::string hold_registry(const std::string& state_directory, base::FdView state, approval::Caller caller) {
  if (state_directory.empty() || !open_private(state_directory, state, "holds", caller)) return {};
  return hold_registry_of(state_directory);
}

std::string work_place(const std::string& state_directory, base::FdView state, approval::Caller caller) {
  if (state_directory.empty()) return {};
  const auto directory = open_private(state_directory, state, "work", caller);
  if (!directory) return {};
  const auto facts = kernel::statx(*directory);
  // Two links: nothing is below. Some file systems do not count them, and are looked at.
  if (facts && facts->stx_nlink != 2) clear_work(*directory);
  return state_directory + "/work";
}

}  // namespace cordon::cli
