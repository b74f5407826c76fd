// Ways below a root: each opened anew from the root's descriptor, by a path that the kernel walks through no link and
// no mount. No chain of descriptors is held, and nothing that an earlier look found good is believed.
#pragma once

#include <dirent.h>
#include <fcntl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "kernel/file.h"

namespace cordon::enforce::promote {

using base::Fd;
using base::FdView;
using kernel::Sys;
using Facts = struct ::statx;

inline std::string below(std::string_view directory, std::string_view name) {
  std::string out(directory);
  if (!out.empty()) out += '/';
  return out.append(name);
}
inline std::string_view directory_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}
inline std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// "" is the root itself.
inline Sys<Fd> open_beneath(FdView root, std::string_view path, int flags) {
  const std::string text(path.empty() ? "." : path);
  if ((flags & O_PATH) == 0) flags |= O_NONBLOCK | O_NOCTTY;  // EINVAL beside O_PATH
  return kernel::openat2(root, text.c_str(),
                         {.flags = static_cast<std::uint64_t>(flags) | O_NOFOLLOW,
                          .resolve = kernel::kResolveBeneath | kernel::kResolveNoSymlinks | kernel::kResolveNoXdev |
                                     kernel::kResolveNoMagiclinks});
}
inline Sys<Fd> open_directory(FdView root, std::string_view path) {
  return open_beneath(root, path, O_RDONLY | O_DIRECTORY);
}
/// Opens a directory of ours that nobody may enter, by giving its owner every permission.
Sys<Fd> open_locked_directory(FdView root, std::string_view path);

/// A directory of the upper that its owner may not write to, for us to take something out of it.
Sys<void> make_writable(FdView directory);

inline Sys<Facts> look(FdView directory, const char* name) {
  return kernel::statx(directory, name, AT_SYMLINK_NOFOLLOW);
}

inline bool is_directory(const Facts& facts) { return S_ISDIR(facts.stx_mode); }
inline bool is_mount(const Facts& facts) { return (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0; }
inline bool is_whiteout(const Facts& facts) {
  return S_ISCHR(facts.stx_mode) && facts.stx_rdev_major == 0 && facts.stx_rdev_minor == 0;
}
inline bool is_since(const Facts& facts, const timespec& since) {
  if (facts.stx_ctime.tv_sec != since.tv_sec) return facts.stx_ctime.tv_sec > since.tv_sec;
  return facts.stx_ctime.tv_nsec >= static_cast<std::uint64_t>(since.tv_nsec);
}

/// Calls `visit(name, d_type)` for each entry until it answers false; what is added meanwhile may be missed.
template <class Visit>
Sys<void> each_entry(FdView directory, Visit visit) {
  std::array<std::byte, 32'768> buffer{};
  while (true) {
    const auto got = kernel::getdents64(directory, buffer);
    if (!got) return base::fail(got.error());
    if (*got == 0) return {};
    for (std::size_t at = 0; at < *got;) {
      std::uint16_t size = 0;
      std::memcpy(&size, &buffer.at(at + offsetof(::dirent64, d_reclen)), sizeof size);
      const auto type = static_cast<unsigned char>(buffer.at(at + offsetof(::dirent64, d_type)));
      const char* name = reinterpret_cast<const char*>(&buffer.at(at + offsetof(::dirent64, d_name)));
      at += size;
      if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
      if (!visit(name, type)) return {};
    }
  }
}

}  // namespace cordon::enforce::promote
