#include "cgroup/place.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>

#include "cgroup/numbers.h"
#include "kernel/file.h"
#include "kernel/process.h"
#include "kernel/system.h"

namespace cordon::cgroup {
namespace {

using base::Error;
using base::Fd;
using base::FdView;
using base::Result;

Result<Fd> open_directory(const std::string& path) {
  auto fd = kernel::openat2(kernel::kHere, path.c_str(),
                            {.flags = O_RDONLY | O_DIRECTORY, .resolve = kernel::kResolveNoSymlinks});
  if (!fd) return base::fail(kernel::error_at(fd.error(), path));
  const auto facts = kernel::fstatfs(*fd);
  constexpr long kCgroup2Magic = 0x63677270;
  if (!facts || facts->f_type != kCgroup2Magic)
    return base::fail(Error{.operation = "statfs", .subject = path, .detail = "is no cgroup v2 directory"});
  return std::move(*fd);
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

/// systemd says on a group that it leaves it, and everything below, to whoever is in it.
bool is_delegated(FdView directory) {
  for (const char* name : {"user.delegate", "trusted.delegate"}) {
    std::array<std::byte, 1> value{};
    const auto size = kernel::fgetxattr(directory, name, value);
    if (size && *size == 1 && value[0] == std::byte{'1'}) return true;
  }
  return false;
}

/// What a user's manager was given is that manager's: it takes controllers away from groups that it does not know.
bool is_of_a_manager(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("user@") && name.ends_with(".service");
}

bool is_ours(const Hierarchy& hierarchy, std::string path) {
  for (; path != "/"; path = parent_of(path)) {
    const auto directory = open_directory(hierarchy.mount + path);
    if (directory && is_delegated(*directory)) return !is_of_a_manager(path);
  }
  return false;
}

std::string whole_file(const char* path) {
  std::string out;
  const auto file = kernel::openat(kernel::kHere, path, O_RDONLY);
  std::array<std::byte, 4096> piece;
  constexpr std::size_t kMost = std::size_t{4} << 20;
  while (file && out.size() < kMost) {
    const auto size = kernel::read(*file, piece);
    if (!size || *size == 0) break;
    out.append(reinterpret_cast<const char*>(piece.data()), *size);
  }
  return out;
}

}  // namespace

Result<std::string> read_file(FdView directory, const std::string& name, std::string_view where) {
  const std::string subject = fmt::format("{}/{}", where, name);
  const auto file = kernel::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW);
  if (!file) return base::fail(kernel::error_at(file.error(), subject));
  std::string out;
  std::array<std::byte, 4096> piece;
  while (true) {
    const auto size = kernel::read(*file, piece);
    if (!size) return base::fail(kernel::error_at(size.error(), subject));
    if (*size == 0) return out;
    out.append(reinterpret_cast<const char*>(piece.data()), *size);
  }
}

Result<void> write_file(FdView directory, const std::string& name, std::string_view text, std::string_view where) {
  const std::string subject = fmt::format("{}/{}", where, name);
  const auto file = kernel::openat(directory, name.c_str(), O_WRONLY | O_NOFOLLOW);
  if (!file) return base::fail(kernel::error_at(file.error(), subject));
  const auto written = kernel::write(*file, std::as_bytes(std::span(text)));
  if (!written) return base::fail(kernel::error_at(written.error(), subject));
  return {};
}

Hierarchy read_hierarchy() {
  Hierarchy out;
  out.membership = whole_file("/proc/self/cgroup");
  out.mount = unified_mount(whole_file("/proc/self/mountinfo"));
  out.own = unified_path(out.membership).value_or("");
  if (out.own.starts_with("/..")) out.own.clear();  // beyond our cgroup namespace: not to be reached from here
  out.systemd = kernel::statx(kernel::kHere, "/run/systemd/system", AT_SYMLINK_NOFOLLOW).has_value();
  return out;
}

Result<Place> direct_place(const Hierarchy& hierarchy, Claim claim) {
  if (hierarchy.mount.empty() || hierarchy.own.empty())
    return base::fail(
        Error{.operation = "mount", .subject = "cgroup2", .detail = "no cgroup v2 hierarchy is in reach"});
  const std::string path = parent_of(hierarchy.own);
  if (claim == Claim::kOnlyOurs && hierarchy.systemd && !is_ours(hierarchy, path))
    return base::fail(Error{.operation = "getxattr",
                            .subject = hierarchy.mount + path,
                            .code = EPERM,
                            .detail = "is managed by systemd and not delegated to this process"});
  const std::string whole = path == "/" ? hierarchy.mount : hierarchy.mount + path;
  CORDON_TRY(Fd directory, open_directory(whole));
  return Place{.directory = std::move(directory), .path = whole, .helper = {}};
}

Result<Place> scope_place(const Hierarchy& hierarchy, const std::string& id) {
  if (hierarchy.mount.empty())
    return base::fail(
        Error{.operation = "mount", .subject = "cgroup2", .detail = "no cgroup v2 hierarchy is in reach"});
  const uid_t uid = ::geteuid();
  const std::string socket = uid == 0 ? "/run/systemd/private" : fmt::format("/run/user/{}/systemd/private", uid);
  if (auto there = kernel::statx(kernel::kHere, socket.c_str(), AT_SYMLINK_NOFOLLOW); !there)
    return base::fail(kernel::error_at(there.error(), socket));
  Place out;
  CORDON_TRY(out.helper, Helper::start(socket, fmt::format("cordon-{}.scope", id)));
  const std::string where = fmt::format("/proc/{}/cgroup", out.helper.pid());
  const auto path = unified_path(whole_file(where.c_str()));
  if (!path || !path->ends_with(".scope"))
    return base::fail(Error{.operation = "read", .subject = where, .detail = "the helper is in no scope"});
  out.path = hierarchy.mount + *path;
  CORDON_TRY(out.directory, open_directory(out.path));
  // Only a group without processes of its own may give controllers to those below it.
  if (auto made = kernel::mkdirat(out.directory, "keep", 0755); !made)
    return base::fail(kernel::error_at(made.error(), out.path + "/keep"));
  CORDON_OK(write_file(out.directory, "keep/cgroup.procs", fmt::format("{}", out.helper.pid()), out.path));
  return out;
}

}  // namespace cordon::cgroup
