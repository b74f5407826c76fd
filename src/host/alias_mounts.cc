// Mounts that show a store once more: `mount --bind ~ /mnt/backup` shows ~/.ssh under a name of its own. The mount
// table says which directory of a file system each mount shows, so that no tree need be walked; identity confirms it.
#include <algorithm>
#include <array>

#include "host/alias_search.h"
#include "kernel/file.h"

namespace cordon::host {
namespace {

using plan::AliasKind;
using plan::AliasScanEnd;

/// Their mounts do not say what of the file system they show, and asking may hang.
bool is_network(std::string_view type) {
  constexpr std::array<std::string_view, 12> kTypes = {"nfs",       "nfs4",       "cifs",       "smb3",
                                                       "ceph",      "9p",         "afs",        "lustre",
                                                       "glusterfs", "fuse.sshfs", "fuse.davfs", "fuse.s3fs"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

/// What of `path` comes below `directory`; "" where they are the same.
std::string_view rest_of(std::string_view path, std::string_view directory) {
  if (directory == "/") return path == "/" ? std::string_view() : path.substr(1);
  return path.size() == directory.size() ? std::string_view() : path.substr(directory.size() + 1);
}

class Mounts {
 public:
  explicit Mounts(AliasSearch& search) : search_(search) {}

  void compare(const Store& store);

 private:
  void compare(const Store& store, const std::string& inside, const Mount& other);
  void confirm(const Store& store, const std::string& alias, const std::string& original);
  [[nodiscard]] const Mount* mount_of(const Store& store) const;
  [[nodiscard]] const plan::ExposedTree* shown(std::string_view path) const;

  AliasSearch& search_;
};

/// By its id; for kernels that give none, the innermost mount point above it.
const Mount* Mounts::mount_of(const Store& store) const {
  if (const Mount* mount = search_.mounts.find(store.mount)) return mount;
  const Mount* innermost = nullptr;
  for (const auto& [id, mount] : search_.mounts.all()) {
    if (!lies_in(store.path, mount.point)) continue;
    if (innermost == nullptr || innermost->point.size() <= mount.point.size()) innermost = &mount;
  }
  return innermost;
}

/// The tree that shows this path, or lies in it.
const plan::ExposedTree* Mounts::shown(std::string_view path) const {
  const auto& exposed = search_.question.exposed;
  const auto found = std::ranges::find_if(
      exposed, [&](const plan::ExposedTree& tree) { return lies_in(path, tree.path) || lies_in(tree.path, path); });
  return found == exposed.end() ? nullptr : &*found;
}

void Mounts::confirm(const Store& store, const std::string& alias, const std::string& original) {
  const plan::ExposedTree* tree = shown(alias);
  if (tree == nullptr || alias == original || search_.is_hidden(alias)) return;
  if (!search_.asks(alias)) return;
  const auto there = kernel::statx(kernel::kHere, alias.c_str(), AT_SYMLINK_NOFOLLOW);
  // Another mount may cover it, or the caller may not come there: then the target does not either.
  if (!there) {
    const int code = there.error().code;
    if (code != ENOENT && code != ENOTDIR && code != EACCES) search_.stop(AliasScanEnd::kCannotBeRead, alias, code);
    return;
  }
  const auto here = kernel::statx(kernel::kHere, original.c_str(), AT_SYMLINK_NOFOLLOW);
  if (here && key_of(*here) != key_of(*there)) return;
  search_.found({.path = lies_in(alias, tree->path) ? alias : tree->path,
                 .credential = original == store.path ? store.path : original,
                 .kind = AliasKind::kBindMount});
}

void Mounts::compare(const Store& store, const std::string& inside, const Mount& other) {
  if (is_network(other.type)) {
    if (shown(other.point) == nullptr || search_.is_hidden(other.point)) return;
    return search_.found({.path = other.point, .credential = store.path, .kind = AliasKind::kNetworkMount});
  }
  if (lies_in(inside, other.root)) {
    return confirm(store, below_of(other.point, rest_of(inside, other.root)), store.path);
  }
  if (!lies_in(other.root, inside)) return;
  confirm(store, other.point, below_of(store.path, rest_of(other.root, inside)));
}

void Mounts::compare(const Store& store) {
  const Mount* mount = mount_of(store);
  // A file system that the table does not know: it cannot be said where else it is mounted.
  if (mount == nullptr || !lies_in(store.path, mount->point))
    return search_.stop(AliasScanEnd::kMountTable, store.path);
  const std::string inside = below_of(mount->root, rest_of(store.path, mount->point));
  for (const auto& [id, other] : search_.mounts.all()) {
    if (search_.stopped()) return;
    if (&other != mount && other.device == mount->device) compare(store, inside, other);
  }
}

}  // namespace

void compare_mounts(AliasSearch& search) {
  if (!search.mounts.is_whole()) return search.stop(AliasScanEnd::kMountTable, "");
  Mounts mounts(search);
  for (const Store& store : search.stores) {
    if (search.stopped()) return;
    mounts.compare(store);
  }
}

}  // namespace cordon::host
