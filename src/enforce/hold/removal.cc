#include "enforce/hold/removal.h"

#include <dirent.h>

#include <cerrno>

#include "kernel/process.h"

namespace cordon::enforce::hold {
namespace {

constexpr std::uint64_t kNoLinks = kernel::kResolveNoSymlinks | kernel::kResolveNoMagiclinks;

/// What a killed run made but did not come to write down: not older than its intent.
bool is_young_enough(const struct statx& facts, std::uint64_t made_after_ns) {
  const bool has_birth = (facts.stx_mask & STATX_BTIME) != 0;
  return nanoseconds(has_birth ? facts.stx_btime : facts.stx_ctime) >= made_after_ns;
}

/// Empty, or as the run that made it wrote it.
bool is_untouched(const Entry& entry, FdView directory, const struct statx& facts) {
  const std::string_view text = text_of(entry);
  if (facts.stx_nlink != 1) return false;
  if (facts.stx_size == 0) return true;
  if (text.empty() || facts.stx_size != text.size()) return false;
  const auto file = kernel::openat(directory, entry.name.data(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return false;
  std::array<char, 8> there{};
  const auto length = kernel::pread(*file, std::as_writable_bytes(std::span(there)), 0);
  return length && std::string_view(there.data(), *length) == text;
}

bool is_the_point(const Entry& entry, FdView directory, const struct statx& facts) {
  if ((facts.stx_mode & S_IFMT) != entry.type || facts.stx_uid != ::geteuid()) return false;
  if (entry.type == S_IFREG && !is_untouched(entry, directory, facts)) return false;
  if (entry.point.inode == 0) return is_young_enough(facts, entry.made_after_ns);
  return is_same(entry.point, identity_of(facts));
}

/// Looks for one point in the journals of the runs that still go on.
class Search final : public Visitor {
 public:
  Search(FdView registry, const char* own, const Identity& wanted) : registry_(registry), own_(own), wanted_(wanted) {}
  [[nodiscard]] bool found() const { return found_; }

  void visit(const char* name) override {
    if (found_ || std::strcmp(name, own_) == 0) return;
    const Fd journal = open_journal(registry_, name);
    if (!journal.valid() || !is_live(journal)) return;
    Entry entry;
    for (std::size_t i = 0; !found_ && read_entry(journal, i, entry); ++i) {
      found_ = entry.point.inode != 0 && is_same(entry.point, wanted_);
    }
  }

 private:
  FdView registry_;
  const char* own_;
  const Identity& wanted_;
  bool found_ = false;
};

constexpr int kLockStepMs = 2;
constexpr int kLongestLockMs = 2'000;  // points of a thousand are made and removed in less
constexpr std::uint64_t kKeptForNs = 30ULL * 24 * 3600 * 1'000'000'000;

/// Its directory may be on a disk that is not there today, or moved; after a month nobody looks for it any more.
bool is_given_up(const Entry& entry) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 > entry.made_after_ns + kKeptForNs;
}

}  // namespace

bool read_entry(FdView journal, std::size_t index, Entry& entry) {
  if (index >= kMostEntries) return false;
  const auto bytes = kernel::pread(journal, std::as_writable_bytes(std::span(&entry, 1)), index * sizeof entry);
  return bytes && *bytes == sizeof entry && valid(entry);
}

Fd open_directory(const Entry& entry) {
  auto fd =
      kernel::openat2(kernel::kHere, entry.directory.data(), {.flags = O_PATH | O_DIRECTORY, .resolve = kNoLinks});
  if (!fd) return {};
  const auto facts = kernel::statx(*fd);
  if (!facts || !is_same(entry.directory_id, identity_of(*facts))) return {};
  return std::move(*fd);
}

void remove_point(const Entry& entry, FdView directory) {
  const auto facts = kernel::statx(directory, entry.name.data(), AT_SYMLINK_NOFOLLOW);
  if (!facts || !is_the_point(entry, directory, *facts)) return;
  // Not empty by now: it is somebody's, and stays.
  static_cast<void>(
      kernel::unlinkat(directory, entry.name.data(), entry.type == S_IFDIR ? AT_REMOVEDIR : 0).has_value());
}

/// Nobody may read it: a target that is shown the registry read-only cannot open it, so cannot lock it against us.
Sys<Fd> lock_all(FdView registry) {
  CORDON_TRY(Fd lock, kernel::openat(registry, "lock", O_WRONLY | O_CREAT | O_NOFOLLOW, 0200));
  CORDON_OK(kernel::fchmod(lock, 0200));
  for (int waited = 0;; waited += kLockStepMs) {
    const auto locked = kernel::flock(lock, LOCK_EX | LOCK_NB);
    if (locked) return lock;
    if (locked.error().code != EWOULDBLOCK || waited >= kLongestLockMs) return base::fail(locked.error());
    static_cast<void>(kernel::poll({}, kLockStepMs).has_value());
  }
}

Fd open_journal(FdView registry, const char* name) {
  auto journal = kernel::openat(registry, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!journal) return {};
  const auto facts = kernel::statx(*journal);
  if (!facts || !S_ISREG(facts->stx_mode) || facts->stx_uid != ::geteuid()) return {};
  return std::move(*journal);
}

bool is_live(FdView journal) {
  const auto locked = kernel::flock(journal, LOCK_SH | LOCK_NB);
  return !locked && locked.error().code == EWOULDBLOCK;
}

void each_journal(FdView registry, Visitor& visitor) {
  auto readable = kernel::openat(registry, ".", O_RDONLY | O_DIRECTORY);
  if (!readable) return;
  alignas(::dirent64) std::array<std::byte, 8192> block{};
  while (true) {
    const auto length = kernel::getdents64(*readable, block);
    if (!length || *length == 0) return;
    for (std::size_t at = 0; at < *length;) {
      const auto* record = reinterpret_cast<const ::dirent64*>(block.data() + at);
      if (std::strncmp(record->d_name, kJournalPrefix, std::strlen(kJournalPrefix)) == 0) visitor.visit(record->d_name);
      at += record->d_reclen;
    }
  }
}

void clean_up(FdView registry, FdView journal, const char* name, std::span<const Fd> directories) {
  Entry entry;
  bool all_found = true;
  for (std::size_t i = 0; read_entry(journal, i, entry); ++i) {
    Fd opened;
    if (i >= directories.size() || !directories[i].valid()) opened = open_directory(entry);
    const FdView directory = opened.valid() ? opened.view() : i < directories.size() ? directories[i].view() : FdView();
    if (!directory.valid()) {
      all_found = all_found && is_given_up(entry);
      continue;
    }
    Search search(registry, name, entry.point);
    if (entry.point.inode != 0) each_journal(registry, search);
    if (!search.found()) remove_point(entry, directory);
  }
  if (all_found) static_cast<void>(kernel::unlinkat(registry, name, 0).has_value());
}

}  // namespace cordon::enforce::hold
