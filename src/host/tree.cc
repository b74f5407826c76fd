#include "host/tree.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/abs_path.h"
#include "kernel/file.h"
#include "kernel/system.h"

namespace cordon::host {
namespace {

using base::Fd;
using base::FdView;
using kernel::Errno;
using plan::PathState;

constexpr std::size_t kLongestName = 255;
constexpr int kLookFlags = O_PATH | O_NOFOLLOW;

PathState state_of(int code) {
  switch (code) {
    case ENOENT:
      return PathState::kAbsent;
    case EACCES:
      return PathState::kDenied;
    case ENAMETOOLONG:
      return PathState::kTooLong;
    default:
      return PathState::kFailed;
  }
}

void fail_with(Node& node, int code) {
  node.state = state_of(code);
  node.code = code;
}

void fill(Node& node, const struct ::statx& stat) {
  node.id = {.device = makedev(stat.stx_dev_major, stat.stx_dev_minor),
             .inode = stat.stx_ino,
             .type = static_cast<std::uint32_t>(stat.stx_mode & S_IFMT),
             .has_birth_time = (stat.stx_mask & STATX_BTIME) != 0,
             .birth_ns = 0};
  if (node.id.has_birth_time) node.id.birth_ns = stat.stx_btime.tv_sec * 1'000'000'000 + stat.stx_btime.tv_nsec;
  node.uid = stat.stx_uid;
  node.gid = stat.stx_gid;
  node.mode = static_cast<std::uint32_t>(stat.stx_mode & 07777);
  node.links = stat.stx_nlink;
  node.rdev = makedev(stat.stx_rdev_major, stat.stx_rdev_minor);
  node.mount_id = (stat.stx_mask & STATX_MNT_ID) != 0 ? stat.stx_mnt_id : 0;
  node.immutable = (stat.stx_attributes & STATX_ATTR_IMMUTABLE) != 0;
}

bool is_same(const plan::FileId& id, const struct ::statx& stat) {
  Node now;
  fill(now, stat);
  return now.id == id;
}

/// File systems whose permission bits are the whole answer for the owner (acl(5): its ACL entry is its bits).
bool bits_decide(const Mount& mount) {
  constexpr std::array<std::string_view, 9> kLocal = {"ext2", "ext3",  "ext4",  "xfs",    "btrfs",
                                                      "f2fs", "tmpfs", "ramfs", "overlay"};
  return std::ranges::find(kLocal, mount.type) != kLocal.end();
}

}  // namespace

void Watch::asks(std::string path) {
  const std::lock_guard lock(mutex_);
  question_ = {.path = std::move(path), .since = std::chrono::steady_clock::now()};
}

Watch::Question Watch::question() const {
  const std::lock_guard lock(mutex_);
  return question_;
}

std::string path_of(const Node& node) {
  if (node.parent == nullptr) return "/";
  std::size_t size = 0;
  for (const Node* at = &node; at->parent != nullptr; at = at->parent) size += at->name.size() + 1;
  std::string path(size, '/');
  for (const Node* at = &node; at->parent != nullptr; at = at->parent) {
    size -= at->name.size();
    path.replace(size, at->name.size(), at->name);
    --size;
  }
  return path;
}

Tree::Tree(TreeSettings settings, const MountTable& mounts, std::shared_ptr<PinStore> pins)
    : settings_(std::move(settings)), mounts_(mounts), pins_(std::move(pins)) {}

void Tree::asks(const Node& node) const {
  if (settings_.watch) settings_.watch->asks(path_of(node));
}

bool Tree::is_dead(const Node& node) const {
  if (settings_.dead_mounts.empty()) return false;
  const auto path = base::AbsPath::parse(path_of(node));
  return std::ranges::any_of(settings_.dead_mounts, [&](const std::string& point) {
    const auto dead = base::AbsPath::parse(point);
    return path && dead && path->is_within(*dead);
  });
}

Node& Tree::root() {
  if (root_) return *root_;
  root_ = std::make_unique<Node>();
  auto fd = kernel::openat(kernel::kHere, "/", O_PATH | O_DIRECTORY);
  if (!fd) {
    fail_with(*root_, fd.error().code);
    return *root_;
  }
  const auto stat = kernel::statx(*fd);
  if (!stat) {
    fail_with(*root_, stat.error().code);
    return *root_;
  }
  fill(*root_, *stat);
  root_->mount = mount_of(*fd, *stat);
  root_->slot = pins_->keep(std::move(*fd), Keep::kFirst);
  return *root_;
}

Node& Tree::child(Node& directory, std::string_view name, Keep keep) {
  if (const auto it = directory.children.find(name); it != directory.children.end()) {
    if (keep == Keep::kFirst) pins_->promote(it->second->slot);
    return *it->second;
  }
  auto node = std::make_unique<Node>();
  node->parent = &directory;
  node->name = name;
  if (directory.listing && !directory.listing->may_have(name)) {
    fail_with(*node, ENOENT);
  } else if (directory.is_present()) {
    look(*node, keep);
  } else {
    fail_with(*node, name.size() > kLongestName ? ENAMETOOLONG : ENOENT);
  }
  return *directory.children.emplace(node->name, std::move(node)).first->second;
}

void Tree::look(Node& node, Keep keep) {
  if (is_dead(node)) return fail_with(node, ETIMEDOUT);
  const auto directory = hold(*node.parent);
  if (!directory) return fail_with(node, directory.error().code == ENOENT ? ESTALE : directory.error().code);
  asks(node);
  auto fd = kernel::openat(directory->view, node.name.c_str(), kLookFlags);
  if (!fd) return fail_with(node, fd.error().code);
  auto stat = kernel::statx(*fd);
  if (!stat) return fail_with(node, stat.error().code);
  if ((stat->stx_attributes & STATX_ATTR_AUTOMOUNT) != 0) {
    trigger_automount(node, directory->view, *fd, *stat);
    if (!node.is_present()) return;
  }
  fill(node, *stat);
  if (std::ranges::find(settings_.as_absent, node.id, &plan::HeldPoint::id) != settings_.as_absent.end()) {
    return fail_with(node, ENOENT);
  }
  node.mount = mount_of(*fd, *stat);
  if (node.is_link()) return read_link(node, directory->view, *fd);
  node.slot = pins_->keep(std::move(*fd), keep);
}

/// A new mount namespace does not receive later automounts: what is mounted on demand must be mounted before we plan.
/// Opening with O_DIRECTORY mounts it; plain O_PATH does not.
void Tree::trigger_automount(Node& node, FdView directory, Fd& fd, struct ::statx& stat) {
  auto mounted = kernel::openat(directory, node.name.c_str(), kLookFlags | O_DIRECTORY);
  if (!mounted) return fail_with(node, mounted.error().code);
  const auto again = kernel::statx(*mounted);
  if (!again) return fail_with(node, again.error().code);
  fd = std::move(*mounted);
  stat = *again;
}

void Tree::read_link(Node& node, FdView directory, FdView link) {
  std::array<char, PATH_MAX> text;
  const auto n = kernel::readlinkat(link, "", text);
  if (!n) return fail_with(node, n.error().code);
  if (*n == 0 || *n == text.size()) return fail_with(node, ENAMETOOLONG);
  node.link_text.assign(text.data(), *n);
  if (node.mount->type != "proc") return;
  // The text of a magic link is only a name for what it leads to: nothing says that the two are the same object.
  const auto plain = kernel::openat2(directory, node.name.c_str(),
                                     {.flags = O_PATH, .mode = 0, .resolve = kernel::kResolveNoMagiclinks});
  node.magic_link = !plain && (plain.error().code == ELOOP || plain.error().code == ENOSYS);
}

const Mount* Tree::mount_of(FdView fd, const struct ::statx& stat) {
  const bool has_id = (stat.stx_mask & STATX_MNT_ID) != 0;
  if (has_id) {
    if (const Mount* listed = mounts_.find(stat.stx_mnt_id)) return listed;
    if (const auto it = unlisted_.find(stat.stx_mnt_id); it != unlisted_.end()) return it->second.get();
  }
  const auto answer = kernel::fstatfs(fd);
  auto mount = std::make_unique<Mount>(answer ? describe_mount(*answer) : Mount{.type = "unknown"});
  if (!has_id) return nameless_.emplace_back(std::move(mount)).get();
  return unlisted_.emplace(stat.stx_mnt_id, std::move(mount)).first->second.get();
}

base::Result<Tree::Held, Errno> Tree::hold(Node& node) {
  if (const FdView pinned = pins_->at(node.slot); pinned.valid()) return Held{.view = pinned, .own = Fd()};
  if (!node.is_present()) return base::fail(Errno{node.code, "openat"});
  if (node.parent == nullptr) {
    CORDON_TRY(Fd fd, kernel::openat(kernel::kHere, "/", O_PATH | O_DIRECTORY));
    return Held{.view = fd.view(), .own = std::move(fd)};
  }
  CORDON_TRY(const Held directory, hold(*node.parent));
  asks(node);
  CORDON_TRY(Fd fd, kernel::openat(directory.view, node.name.c_str(), kLookFlags));
  CORDON_TRY(const auto stat, kernel::statx(fd));
  // Not pinned, so another object may have taken the name meanwhile: what was said of the first does not hold for it.
  if (!is_same(node.id, stat)) return base::fail(Errno{ESTALE, "statx"});
  return Held{.view = fd.view(), .own = std::move(fd)};
}

/// What the permission bits leave possible; the kernel has the last word where they are not the whole answer.
Access Tree::possible_access(const Node& node) const {
  const bool is_owner = node.uid == settings_.uid;
  const bool is_root = settings_.uid == 0;
  std::uint32_t bits = (node.mode >> 3U) | node.mode;
  if (is_root) bits |= node.mode >> 6U;
  if (is_owner && !is_root) bits = node.mode >> 6U;
  const bool writable = is_root || (bits & 2U) != 0;
  // Root too executes only files with some execute bit; it searches every directory.
  const bool executable = (is_root && node.is_directory()) || (bits & 1U) != 0;
  const bool noexec = node.mount->noexec && !node.is_directory();
  return {.writable = writable && !node.mount->read_only && !node.immutable, .executable = executable && !noexec};
}

Access Tree::access(Node& node) {
  if (node.access) return *node.access;
  const Access possible = possible_access(node);
  const bool bits_bind = node.uid == settings_.uid && settings_.uid != 0;
  const bool certain = bits_decide(*node.mount) && (bits_bind || settings_.overrides_modes);
  if (certain || (!possible.writable && !possible.executable)) return *(node.access = possible);
  node.access = Access{};
  const auto held = hold(node);
  if (!held) return *node.access;
  asks(node);
  const auto ask = [&](int mode) {
    const auto answer = kernel::faccessat2(held->view, "", mode, AT_EMPTY_PATH | AT_EACCESS);
    // A filter of the host's answered, and not the file: the older call says it as well.
    const bool refused = !answer && (answer.error().code == ENOSYS || answer.error().code == EPERM);
    if (!refused) return answer.has_value();
    return kernel::faccessat(("/proc/self/fd/" + std::to_string(held->view.get())).c_str(), mode).has_value();
  };
  if (possible.writable && possible.executable && ask(W_OK | X_OK)) {
    node.access = possible;
  } else {
    node.access = Access{.writable = possible.writable && ask(W_OK), .executable = possible.executable && ask(X_OK)};
  }
  return *node.access;
}

bool Tree::has_acl(Node& node) {
  if (!node.acl) node.acl = look_for_acl(node);
  return *node.acl;
}

bool Tree::look_for_acl(Node& node) {
  const auto held = hold(node);
  if (!held) return true;
  // fgetxattr refuses an O_PATH descriptor.
  const std::string path = "/proc/self/fd/" + std::to_string(held->view.get());
  std::array<std::byte, 1024> unused;
  const auto acl = kernel::getxattr(path.c_str(), "system.posix_acl_access", unused);
  return acl.has_value() || (acl.error().code != ENODATA && acl.error().code != EOPNOTSUPP);
}

base::Result<Fd, Errno> Tree::open_file(Node& file) {
  if (!file.is_file() || file.parent == nullptr) return base::fail(Errno{EINVAL, "openat"});
  CORDON_TRY(const Held directory, hold(*file.parent));
  asks(file);
  CORDON_TRY(Fd fd, kernel::openat(directory.view, file.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  CORDON_TRY(const auto stat, kernel::statx(fd));
  if (!is_same(file.id, stat)) return base::fail(Errno{ESTALE, "statx"});
  return fd;
}

base::Result<std::vector<std::string>, Errno> Tree::entries(Node& directory, std::size_t most) {
  CORDON_TRY(std::vector<Entry> listed, typed_entries(directory, most));
  std::vector<std::string> names;
  names.reserve(listed.size());
  for (Entry& entry : listed) names.push_back(std::move(entry.name));
  return names;
}

base::Result<std::vector<Tree::Entry>, Errno> Tree::typed_entries(Node& directory, std::size_t most) {
  if (!directory.is_directory()) return base::fail(Errno{ENOTDIR, "getdents64"});
  CORDON_TRY(const Held held, hold(directory));
  asks(directory);
  CORDON_TRY(const Fd fd, kernel::openat(held.view, ".", O_RDONLY | O_DIRECTORY));
  constexpr std::size_t kLength = offsetof(struct dirent64, d_reclen);
  constexpr std::size_t kType = offsetof(struct dirent64, d_type);
  constexpr std::size_t kName = offsetof(struct dirent64, d_name);
  std::vector<Entry> entries;
  std::array<std::byte, 32768> buffer;
  for (;;) {
    asks(directory);
    CORDON_TRY(const std::size_t bytes, kernel::getdents64(fd, buffer));
    if (bytes == 0) return entries;
    for (std::size_t at = 0; at + kName < bytes;) {
      unsigned short length = 0;
      std::memcpy(&length, &buffer[at + kLength], sizeof length);
      if (length <= kName || at + length > bytes) return base::fail(Errno{EIO, "getdents64"});
      const char* start = reinterpret_cast<const char*>(&buffer[at + kName]);
      const std::string_view name(start, strnlen(start, length - kName));
      const auto type = std::to_integer<unsigned char>(buffer[at + kType]);
      if (name != "." && name != "..") entries.push_back({.name = std::string(name), .type = type});
      if (entries.size() > most) return base::fail(Errno{E2BIG, "getdents64"});
      at += length;
    }
  }
}

}  // namespace cordon::host
