// What the parts of the alias scan share: the question at hand, its bounds, and where it stopped.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "host/alias_scan.h"
#include "host/directory_listing.h"
#include "kernel/errno.h"

namespace cordon::host {

struct FileKey {
  std::uint64_t device = 0, inode = 0;
  friend bool operator==(const FileKey&, const FileKey&) = default;
  friend auto operator<=>(const FileKey&, const FileKey&) = default;
};
FileKey key_of(const struct ::statx& stat);

/// `path` is `ancestor` or lies below it; both are absolute and normal.
bool lies_in(std::string_view path, std::string_view ancestor);

/// A store, or a single file, that stands on this host.
struct Store {
  std::string path;  ///< real
  FileKey key;
  std::uint64_t mount = 0;  ///< statx's mount id; 0 where the kernel has none
};

/// A credential file, or one of code, with more than one link.
struct Linked {
  std::string path;
  FileKey key;
  bool code = false;
};

class AliasSearch {
 public:
  AliasSearch(const plan::AliasQuestion& asked, const MountTable& table, const AliasSettings& with);

  /// Counts `entries` and looks at the clock; false where the search has stopped.
  bool goes_on(std::size_t entries, std::size_t most, std::string_view where);
  void stop(plan::AliasScanEnd end, std::string_view where, int code = 0);
  [[nodiscard]] bool stopped() const { return answer.end != plan::AliasScanEnd::kComplete; }
  /// Tells the waiting thread what is asked; false (and stopped) where it lies on a dead mount.
  bool asks(const std::string& path);
  [[nodiscard]] bool is_hidden(std::string_view path) const;
  void found(plan::Alias alias);

  const plan::AliasQuestion& question;
  const MountTable& mounts;
  const AliasSettings& settings;
  std::vector<Store> stores;
  std::vector<Linked> linked;
  std::unordered_set<std::string> hidden;
  std::size_t entries_seen = 0;
  plan::AliasAnswer answer;

 private:
  std::chrono::steady_clock::time_point deadline_;
};

/// One entry of a directory, as getdents64(2) gives it.
struct Entry {
  std::string name;
  std::uint64_t inode = 0;
  unsigned char type = 0;  ///< DT_*
};
/// Every entry but "." and "..", handed to `each` as it comes; false from `each` ends it.
kernel::Sys<void> for_each_entry(base::FdView directory, const std::function<bool(const Entry&)>& each);

/// Fills `stores`, and `linked` where a hard link could be shown at all.
void look_at_stores(AliasSearch& search);
void compare_mounts(AliasSearch& search);
void walk_trees(AliasSearch& search);

}  // namespace cordon::host
