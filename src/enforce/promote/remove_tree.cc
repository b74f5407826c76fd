#include "enforce/promote/remove_tree.h"

#include <fmt/format.h>

#include "enforce/promote/beneath.h"
#include "kernel/inode.h"

namespace cordon::enforce::promote {
namespace {

/// Every directory that is met is emptied, its directories moved up beside it, and removed: whatever the depth was, two
/// levels are left, and no path becomes long.
class Remover {
 public:
  Remover(FdView top, std::uint64_t most) : top_(top), most_(most) {}

  Sys<void> empty_top() {
    for (bool found = true; found;) {
      found = false;
      CORDON_TRY(const Fd listing, kernel::openat(top_, ".", O_RDONLY | O_DIRECTORY));
      Sys<void> result{};
      CORDON_OK(each_entry(listing, [&](const char* name, unsigned char type) {
        found = true;
        result = remove(name, type);
        return result.has_value();
      }));
      CORDON_OK(result);
    }
    return {};
  }
  [[nodiscard]] std::uint64_t entries() const { return entries_; }

 private:
  static constexpr unsigned kMostAgain = 1'000;

  Sys<void> count() {
    if (++entries_ > most_) return base::fail(kernel::Errno{EFBIG, "unlinkat"});
    return {};
  }

  Sys<void> remove(const char* name, unsigned char type) {
    CORDON_OK(count());
    if (type != DT_DIR) {
      const auto gone = kernel::unlinkat(top_, name, 0);
      if (gone || (gone.error().code != EISDIR && gone.error().code != EPERM)) return gone;
    }
    CORDON_TRY(const Fd directory, open_locked_directory(top_, name));
    Sys<void> result{};
    CORDON_OK(each_entry(directory, [&](const char* inner, unsigned char inner_type) {
      result = take_out(directory, name, inner, inner_type);
      return result.has_value();
    }));
    CORDON_OK(result);
    const auto gone = kernel::unlinkat(top_, name, AT_REMOVEDIR);
    // A listing may pass over what moved in it meanwhile: the next round finds this directory again.
    if (!gone && gone.error().code == ENOTEMPTY && ++again_ < kMostAgain) return {};
    if (gone) again_ = 0;
    return gone;
  }

  Sys<void> take_out(FdView directory, const char* directory_name, const char* name, unsigned char type) {
    if (type != DT_DIR) {
      auto gone = kernel::unlinkat(directory, name, 0);
      if (!gone && gone.error().code == EACCES) {
        CORDON_OK(unlock(top_, directory_name));
        gone = kernel::unlinkat(directory, name, 0);
      }
      if (gone) return count();
      if (gone.error().code != EISDIR && gone.error().code != EPERM) return gone;
    }
    auto moved = move_up(directory, name);
    if (moved || moved.error().code != EACCES) return moved;
    CORDON_OK(unlock(top_, directory_name));
    CORDON_OK(unlock(directory, name));
    return move_up(directory, name);
  }

  static Sys<void> unlock(FdView above, const char* name) {
    CORDON_TRY(const Fd object, open_beneath(above, name, O_PATH | O_DIRECTORY));
    return kernel::chmod_object(object, 0700);
  }

  /// Over an empty directory of that name, or onto a free name.
  Sys<void> move_up(FdView directory, const char* name) {
    while (true) {
      const std::string free = fmt::format(".{:x}", moved_++);
      const auto moved = kernel::renameat2(directory, name, top_, free.c_str(), 0);
      if (moved || (moved.error().code != ENOTEMPTY && moved.error().code != EEXIST && moved.error().code != ENOTDIR))
        return moved;
    }
  }

  FdView top_;
  std::uint64_t most_;
  std::uint64_t entries_ = 0, moved_ = 0;
  unsigned again_ = 0;
};

}  // namespace

base::Result<Removal> remove_tree(FdView directory, const std::string& name, std::uint64_t most) {
  const auto wrong = [&](kernel::Errno why) { return base::fail(kernel::error_at(why, name)); };
  const auto facts = look(directory, name.c_str());
  if (!facts) {
    if (facts.error().code == ENOENT) return Removal{};
    return wrong(facts.error());
  }
  if (!is_directory(*facts)) {
    if (const auto gone = kernel::unlinkat(directory, name.c_str(), 0); !gone) return wrong(gone.error());
    return Removal{.entries = 1};
  }
  auto top = open_locked_directory(directory, name);
  if (!top) return wrong(top.error());
  // Its own directories are moved up into it: it must be writable before anything is.
  if ((facts->stx_mode & 0700U) != 0700)
    if (const auto opened = kernel::chmod_object(*top, 0700); !opened) return wrong(opened.error());
  Remover remover(*top, most);
  if (const auto emptied = remover.empty_top(); !emptied) return wrong(emptied.error());
  if (const auto gone = kernel::unlinkat(directory, name.c_str(), AT_REMOVEDIR); !gone) return wrong(gone.error());
  return Removal{.entries = remover.entries() + 1};
}

}  // namespace cordon::enforce::promote
