// The walk over what the target is shown, for files that are a credential's second link. Made only where there is one.
#include <dirent.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "host/alias_search.h"
#include "kernel/file.h"

namespace cordon::host {
namespace {

using base::FdView;
using plan::AliasKind;
using plan::AliasScanEnd;

class Walk {
 public:
  explicit Walk(AliasSearch& search) : search_(search) {
    const bool quick = search.question.effort == plan::AliasEffort::kQuick;
    most_ = quick ? search.settings.bounds.quick_entries : search.settings.bounds.tree_entries;
    for (const Linked& linked : search.linked) {
      by_inode_.emplace(linked.key.inode, &linked);
      devices_.insert(linked.key.device);
    }
  }

  void tree(const std::string& path);
  void mounts_in(const std::string& path);

 private:
  void directory(FdView fd, std::uint64_t device, const std::string& path, std::size_t depth);
  void below(FdView parent, const std::string& name, const std::string& path, std::size_t depth);
  void compare(FdView directory, const Entry& entry, const std::string& path);
  void compare(const struct ::statx& stat, const std::string& path);
  void cannot_open(FdView parent, const char* name, const std::string& path, int code);
  bool lists_true_inodes(FdView fd, std::uint64_t device);

  AliasSearch& search_;
  std::size_t most_ = 0;
  std::unordered_multimap<std::uint64_t, const Linked*> by_inode_;
  std::set<std::uint64_t> devices_;
  std::map<std::uint64_t, bool> true_inodes_;
};

/// Whether a listing's inode numbers are those that statx(2) gives; where they may not be, each file is asked.
bool Walk::lists_true_inodes(FdView fd, std::uint64_t device) {
  constexpr std::array<std::uint64_t, 5> kMagics = {0xef53, 0x58465342, 0x9123683e, 0x01021994, 0xf2f52010};
  const auto known = true_inodes_.find(device);
  if (known != true_inodes_.end()) return known->second;
  const auto system = kernel::fstatfs(fd);
  const auto magic = system ? static_cast<std::uint64_t>(system->f_type) & 0xffffffffU : 0;
  return true_inodes_[device] = std::ranges::find(kMagics, magic) != kMagics.end();
}

void Walk::compare(const struct ::statx& stat, const std::string& path) {
  const FileKey key = key_of(stat);
  const auto [first, last] = by_inode_.equal_range(key.inode);
  const Linked* same = nullptr;
  for (auto at = first; at != last; ++at) {
    const Linked& one = *at->second;
    // A credential before code: what both are must not be read either.
    if (one.key == key && one.path != path && (same == nullptr || (same->code && !one.code))) same = &one;
  }
  if (same == nullptr || search_.is_hidden(path)) return;
  search_.found({.path = path, .credential = same->path, .kind = AliasKind::kHardLink});
}

void Walk::compare(FdView directory, const Entry& entry, const std::string& path) {
  const auto stat = kernel::statx(directory, entry.name.c_str(), AT_SYMLINK_NOFOLLOW);
  if (stat) return compare(*stat, path);
  if (stat.error().code != ENOENT) search_.stop(AliasScanEnd::kCannotBeRead, path, stat.error().code);
}

/// Whose directory the caller itself cannot list, the target cannot either; but its own it could open again.
void Walk::cannot_open(FdView parent, const char* name, const std::string& path, int code) {
  if (code == ENOENT || code == ENOTDIR || code == ELOOP) return;
  if (code == EACCES) {
    const auto stat = kernel::statx(parent, name, AT_SYMLINK_NOFOLLOW);
    if (!stat || stat->stx_uid != search_.settings.uid) return;
  }
  search_.stop(AliasScanEnd::kCannotBeRead, path, code);
}

void Walk::below(FdView parent, const std::string& name, const std::string& path, std::size_t depth) {
  if (search_.hidden.contains(path) || !search_.asks(path)) return;
  if (depth > search_.settings.bounds.tree_depth) return search_.stop(AliasScanEnd::kTooDeep, path);
  const auto fd = kernel::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd) return cannot_open(parent, name.c_str(), path, fd.error().code);
  const auto stat = kernel::statx(*fd);
  if (!stat) return search_.stop(AliasScanEnd::kCannotBeRead, path, stat.error().code);
  const std::uint64_t device = key_of(*stat).device;
  if (devices_.contains(device)) directory(*fd, device, path, depth);
}

void Walk::directory(FdView fd, std::uint64_t device, const std::string& path, std::size_t depth) {
  const bool trusted = lists_true_inodes(fd, device);
  std::vector<std::string> directories;
  const auto listed = for_each_entry(fd, [&](const Entry& entry) {
    const bool may_be_file = entry.type == DT_REG || entry.type == DT_UNKNOWN;
    const bool may_be_it = !trusted || entry.type == DT_UNKNOWN || by_inode_.contains(entry.inode);
    if (may_be_file && may_be_it) compare(fd, entry, below_of(path, entry.name));
    if (entry.type == DT_DIR || entry.type == DT_UNKNOWN) directories.push_back(entry.name);
    return search_.goes_on(1, most_, path);
  });
  if (!listed && listed.error().code != ENOENT)
    return search_.stop(AliasScanEnd::kCannotBeRead, path, listed.error().code);
  for (const std::string& name : directories) {
    if (search_.stopped()) return;
    below(fd, name, below_of(path, name), depth + 1);
  }
}

/// A root is looked at whatever its device is.
void Walk::tree(const std::string& path) {
  if (search_.is_hidden(path) || !search_.asks(path)) return;
  const auto stat = kernel::statx(kernel::kHere, path.c_str(), AT_SYMLINK_NOFOLLOW);
  if (!stat) return cannot_open(kernel::kHere, path.c_str(), path, stat.error().code);
  if (S_ISREG(stat->stx_mode)) return compare(*stat, path);
  if (!S_ISDIR(stat->stx_mode)) return;
  const auto fd = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!fd) return cannot_open(kernel::kHere, path.c_str(), path, fd.error().code);
  directory(*fd, key_of(*stat).device, path, 0);
}

/// A credential's device may be mounted below a directory that is pruned: its mount points are roots of their own,
/// where the walk would not come to them anyway.
void Walk::mounts_in(const std::string& path) {
  for (const auto& [id, mount] : search_.mounts.all()) {
    if (search_.stopped()) return;
    if (mount.point == path || !lies_in(mount.point, path) || !search_.asks(mount.point)) continue;
    const auto stat = kernel::statx(kernel::kHere, mount.point.c_str(), AT_SYMLINK_NOFOLLOW);
    if (!stat || !devices_.contains(key_of(*stat).device)) continue;
    const std::string parent = mount.point.substr(0, std::max<std::size_t>(mount.point.rfind('/'), 1));
    const auto above = kernel::statx(kernel::kHere, parent.c_str(), AT_SYMLINK_NOFOLLOW);
    if (parent != path && (!above || !devices_.contains(key_of(*above).device))) tree(mount.point);
  }
}

}  // namespace

void walk_trees(AliasSearch& search) {
  Walk walk(search);
  for (const plan::ExposedTree& exposed : search.question.exposed) {
    if (search.stopped()) return;
    walk.tree(exposed.path);
    walk.mounts_in(exposed.path);
  }
}

}  // namespace cordon::host
