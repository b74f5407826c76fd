// The stores of credentials on this host: which there are, and whether a file in them has a second link. Read by
// directory: a home's own entries say at once which of its hundred possible stores stand there.
#include <dirent.h>

#include <algorithm>
#include <array>
#include <climits>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "host/alias_search.h"
#include "kernel/file.h"

namespace cordon::host {
namespace {

using base::Fd;
using base::FdView;
using plan::AliasScanEnd;

constexpr std::size_t kWorthListing = 4;  // a listing costs as many calls as this many names
constexpr int kReadable = O_RDONLY | O_DIRECTORY;

/// What is done with a path: nothing, or it is compared with mounts; or every file in it is looked at as well, of
/// code without following links: they are anybody's, and what they lead to is no code.
enum class Look : std::uint8_t { kNone, kMounts, kCode, kFiles };

/// The paths that are looked for, by component.
struct Branch {
  Look look = Look::kNone;
  std::map<std::string, std::unique_ptr<Branch>, std::less<>> children;
};

void grow(Branch& root, const std::vector<std::string>& paths, Look look) {
  for (const std::string& path : paths) {
    Branch* at = &root;
    for (std::size_t start = 1; start <= path.size();) {
      const std::size_t end = std::min(path.find('/', start), path.size());
      auto& child = at->children[path.substr(start, end - start)];
      if (!child) child = std::make_unique<Branch>();
      at = child.get();
      start = end + 1;
    }
    at->look = std::max(at->look, look);
  }
}

bool is_nothing(int code) { return code == ENOENT || code == ENOTDIR; }

class Stores {
 public:
  explicit Stores(AliasSearch& search) : search_(search) {}

  void find(FdView directory, const std::string& relative, const std::string& path, const Branch& branch);
  void read_files();

 private:
  enum class Where { kAnchor, kInStore };
  void descend(FdView directory, const std::string& path, const Branch& branch);
  void add(FdView directory, const std::string& relative, const std::string& path, Look look);
  void follow(FdView directory, const std::string& name, const std::string& path, Where where, Look look);
  void note_file(const std::string& path, const struct ::statx& stat, Look look);
  void note_directory(const std::string& path, const struct ::statx& stat);
  void read_top(const std::string& path);
  void read_directory(FdView fd, const std::string& path, std::size_t depth);
  void read_entry(FdView directory, const Entry& entry, const std::string& path, std::size_t depth);
  void unless_nothing(const kernel::Errno& error, const std::string& path);
  [[nodiscard]] bool holds_a_home(const std::string& path) const;
  [[nodiscard]] bool in_a_home(const std::string& path) const;

  AliasSearch& search_;
  std::vector<std::string> directories_, code_;
  bool follows_ = true;
  std::set<FileKey> seen_;
};

/// What the caller may not read, neither may the target; that is told, and any other failure stops the search.
void Stores::unless_nothing(const kernel::Errno& error, const std::string& path) {
  if (is_nothing(error.code)) return;
  if (error.code == EACCES) {
    search_.answer.unread.push_back(path);
  } else {
    search_.stop(AliasScanEnd::kCannotBeRead, path, error.code);
  }
}

bool Stores::holds_a_home(const std::string& path) const {
  const auto& homes = search_.question.homes;
  return path == "/" || std::ranges::any_of(homes, [&](const std::string& home) { return lies_in(home, path); });
}

bool Stores::in_a_home(const std::string& path) const {
  const auto& homes = search_.question.homes;
  return std::ranges::any_of(homes, [&](const std::string& home) { return lies_in(path, home); });
}

void Stores::find(FdView directory, const std::string& relative, const std::string& path, const Branch& branch) {
  if (search_.stopped()) return;
  if (branch.look != Look::kNone) add(directory, relative, path, branch.look);
  // All that is below is read then.
  if (branch.look == Look::kFiles || branch.children.empty()) return;
  if (branch.children.size() == 1) {
    const auto& [name, child] = *branch.children.begin();
    return find(directory, relative.empty() ? name : relative + "/" + name, below_of(path, name), *child);
  }
  if (!search_.asks(path)) return;
  auto fd = kernel::openat(directory, relative.empty() ? "." : relative.c_str(), kReadable);
  if (!fd && fd.error().code == EACCES) {
    fd = kernel::openat(directory, relative.empty() ? "." : relative.c_str(), O_PATH | O_DIRECTORY);
    if (fd) {
      for (const auto& [name, child] : branch.children) find(*fd, name, below_of(path, name), *child);
      return;
    }
  }
  if (!fd) return unless_nothing(fd.error(), path);
  descend(*fd, path, branch);
}

void Stores::descend(FdView directory, const std::string& path, const Branch& branch) {
  if (branch.children.size() < kWorthListing) {
    for (const auto& [name, child] : branch.children) find(directory, name, below_of(path, name), *child);
    return;
  }
  std::vector<std::string> there;
  const auto listed = for_each_entry(directory, [&](const Entry& entry) {
    if (branch.children.contains(entry.name)) there.push_back(entry.name);
    return search_.goes_on(1, search_.settings.bounds.store_entries, path);
  });
  if (!listed) return unless_nothing(listed.error(), path);
  for (const std::string& name : there)
    find(directory, name, below_of(path, name), *branch.children.find(name)->second);
}

void Stores::note_file(const std::string& path, const struct ::statx& stat, Look look) {
  const FileKey key = key_of(stat);
  if (stat.stx_nlink > 1) search_.linked.push_back({.path = path, .key = key, .code = look == Look::kCode});
}

void Stores::note_directory(const std::string& path, const struct ::statx& stat) {
  if (!seen_.insert(key_of(stat)).second) return;
  directories_.push_back(path);
}

/// A name that the corpus gives. Its own path need not be real; what stands there is.
void Stores::add(FdView directory, const std::string& relative, const std::string& path, Look look) {
  if (!search_.asks(path)) return;
  const auto stat = kernel::statx(directory, relative.c_str(), AT_SYMLINK_NOFOLLOW);
  if (!stat) return unless_nothing(stat.error(), path);
  if (S_ISLNK(stat->stx_mode) && look == Look::kCode) return;
  if (S_ISLNK(stat->stx_mode)) return follow(directory, relative, path, Where::kAnchor, look);
  if (!S_ISDIR(stat->stx_mode) && !S_ISREG(stat->stx_mode)) return;
  search_.stores.push_back({.path = path, .key = key_of(*stat), .mount = stat->stx_mnt_id});
  if (look == Look::kMounts) return;
  if (S_ISDIR(stat->stx_mode) && look == Look::kCode) return code_.push_back(path);
  if (S_ISDIR(stat->stx_mode)) return note_directory(path, *stat);
  note_file(path, *stat, look);
}

/// A link in a store leads to the credential itself (dotfile farms), where it leads into a home. One that leads to a
/// home or above it would make everything a credential.
void Stores::follow(FdView directory, const std::string& name, const std::string& path, Where where, Look look) {
  const auto fd = kernel::openat(directory, name.c_str(), O_PATH);
  if (!fd) {
    if (fd.error().code != ELOOP) unless_nothing(fd.error(), path);
    return;
  }
  const auto stat = kernel::statx(*fd);
  if (!stat) return unless_nothing(stat.error(), path);
  std::array<char, PATH_MAX> text;
  const auto length = kernel::readlinkat(kernel::kHere, ("/proc/self/fd/" + std::to_string(fd->get())).c_str(), text);
  if (!length) return search_.stop(AliasScanEnd::kCannotBeRead, path, length.error().code);
  const std::string real(text.data(), *length);
  if (holds_a_home(real) || (where == Where::kInStore && !in_a_home(real))) return;
  if (!S_ISDIR(stat->stx_mode) && !S_ISREG(stat->stx_mode)) return;
  search_.stores.push_back({.path = real, .key = key_of(*stat), .mount = stat->stx_mnt_id});
  search_.hidden.insert(real);  // its own name: a shield's matter, and no other name
  if (look == Look::kMounts) return;
  if (S_ISDIR(stat->stx_mode)) return note_directory(real, *stat);
  note_file(real, *stat, look);
}

void Stores::read_entry(FdView directory, const Entry& entry, const std::string& path, std::size_t depth) {
  const std::string here = below_of(path, entry.name);
  if (entry.type == DT_LNK && !follows_) return;
  if (entry.type == DT_LNK) return follow(directory, entry.name, here, Where::kInStore, Look::kFiles);
  if (entry.type == DT_DIR) {
    // Git links objects between clones; they are no credentials.
    if (entry.name == "objects" && path.ends_with("/.git")) return;
    if (depth >= search_.settings.bounds.store_depth) return search_.stop(AliasScanEnd::kTooDeep, here);
    if (!search_.asks(here)) return;
    const auto fd = kernel::openat(directory, entry.name.c_str(), kReadable | O_NOFOLLOW);
    if (!fd) return unless_nothing(fd.error(), here);
    return read_directory(*fd, here, depth + 1);
  }
  if (entry.type != DT_REG && entry.type != DT_UNKNOWN) return;
  const auto stat = kernel::statx(directory, entry.name.c_str(), AT_SYMLINK_NOFOLLOW);
  if (!stat) return unless_nothing(stat.error(), here);
  if (S_ISREG(stat->stx_mode)) return note_file(here, *stat, follows_ ? Look::kFiles : Look::kCode);
  if (entry.type != DT_UNKNOWN) return;
  Entry known = entry;
  known.type = S_ISDIR(stat->stx_mode) ? DT_DIR : S_ISLNK(stat->stx_mode) ? DT_LNK : DT_SOCK;
  if (known.type != DT_SOCK) read_entry(directory, known, path, depth);
}

void Stores::read_directory(FdView fd, const std::string& path, std::size_t depth) {
  std::vector<Entry> entries;
  const auto listed = for_each_entry(fd, [&](const Entry& entry) {
    entries.push_back(entry);
    return search_.goes_on(1, search_.settings.bounds.store_entries, path);
  });
  if (!listed) return unless_nothing(listed.error(), path);
  for (const Entry& entry : entries) {
    if (search_.stopped()) return;
    read_entry(fd, entry, path, depth);
  }
}

/// Grows while it is read: a link in a store may lead to another directory.
void Stores::read_files() {
  for (std::size_t i = 0; i < directories_.size() && !search_.stopped(); ++i) read_top(std::string(directories_[i]));
  follows_ = false;
  for (std::size_t i = 0; i < code_.size() && !search_.stopped(); ++i) read_top(code_[i]);
}

void Stores::read_top(const std::string& path) {
  if (!search_.asks(path)) return;
  const auto fd = kernel::openat(kernel::kHere, path.c_str(), kReadable);
  if (!fd) return unless_nothing(fd.error(), path);
  read_directory(*fd, path, 0);
}

/// A hard link stays on its device: where nothing that is shown lies on one of the stores', there is none to find.
bool could_be_linked(const AliasSearch& search) {
  std::set<std::uint64_t> devices;
  std::set<std::string_view> file_systems;
  for (const Store& store : search.stores) {
    devices.insert(store.key.device);
    if (const Mount* mount = search.mounts.find(store.mount)) file_systems.insert(mount->device);
  }
  const auto shown = [&](const std::string& path) {
    return std::ranges::any_of(search.question.exposed, [&](const auto& tree) { return lies_in(path, tree.path); });
  };
  return std::ranges::any_of(search.question.exposed,
                             [&](const plan::ExposedTree& tree) { return devices.contains(tree.device); }) ||
         std::ranges::any_of(search.stores, [&](const Store& store) { return shown(store.path); }) ||
         std::ranges::any_of(search.mounts.all(), [&](const auto& entry) {
           return file_systems.contains(entry.second.device) && shown(entry.second.point);
         });
}

}  // namespace

void look_at_stores(AliasSearch& search) {
  Stores stores(search);
  Branch root;
  grow(root, search.question.credentials, Look::kFiles);
  grow(root, search.question.only_mounts, Look::kMounts);
  grow(root, search.question.code, Look::kCode);
  stores.find(kernel::kHere, "/", "/", root);
  if (search.stopped() || search.stores.empty()) return;
  if (could_be_linked(search)) return stores.read_files();
  search.linked.clear();
}

}  // namespace cordon::host
