#include "host/alias_scan.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "host/alias_search.h"
#include "kernel/file.h"

namespace cordon::host {

using plan::AliasScanEnd;
using std::chrono::steady_clock;

FileKey key_of(const struct ::statx& stat) {
  return {.device = makedev(stat.stx_dev_major, stat.stx_dev_minor), .inode = stat.stx_ino};
}

bool lies_in(std::string_view path, std::string_view ancestor) {
  if (ancestor == "/") return true;
  return path.starts_with(ancestor) && (path.size() == ancestor.size() || path[ancestor.size()] == '/');
}

AliasSearch::AliasSearch(const plan::AliasQuestion& asked, const MountTable& table, const AliasSettings& with)
    : question(asked), mounts(table), settings(with), hidden(asked.hidden.begin(), asked.hidden.end()) {
  answer.asked = asked;
  deadline_ = steady_clock::now() + settings.bounds.time;
}

void AliasSearch::stop(AliasScanEnd end, std::string_view where, int code) {
  if (stopped()) return;
  answer.end = end;
  answer.where = where;
  answer.code = code;
}

bool AliasSearch::goes_on(std::size_t entries, std::size_t most, std::string_view where) {
  entries_seen += entries;
  const bool quick = question.effort == plan::AliasEffort::kQuick;
  if (entries_seen > most) {
    stop(quick ? AliasScanEnd::kPartial : AliasScanEnd::kTooMany, where);
  } else if (steady_clock::now() > deadline_) {
    stop(quick ? AliasScanEnd::kPartial : AliasScanEnd::kTooLong, where);
  }
  return !stopped();
}

bool AliasSearch::asks(const std::string& path) {
  const auto holds = [&](const std::string& point) { return lies_in(path, point); };
  if (std::ranges::any_of(settings.dead_mounts, holds)) stop(AliasScanEnd::kCannotBeRead, path, ETIMEDOUT);
  if (settings.watch && !stopped()) settings.watch->asks(path);
  return !stopped();
}

bool AliasSearch::is_hidden(std::string_view path) const {
  if (hidden.empty()) return false;
  for (std::string at(path); at.size() > 1; at.resize(at.rfind('/'))) {
    if (hidden.contains(at)) return true;
  }
  return false;
}

void AliasSearch::found(plan::Alias alias) {
  if (answer.found.size() >= settings.bounds.names) return stop(AliasScanEnd::kTooMany, alias.path);
  answer.found.push_back(std::move(alias));
}

kernel::Sys<void> for_each_entry(base::FdView directory, const std::function<bool(const Entry&)>& each) {
  constexpr std::size_t kInode = offsetof(struct dirent64, d_ino);
  constexpr std::size_t kLength = offsetof(struct dirent64, d_reclen);
  constexpr std::size_t kType = offsetof(struct dirent64, d_type);
  constexpr std::size_t kName = offsetof(struct dirent64, d_name);
  std::array<std::byte, 32768> buffer;
  Entry entry;
  for (;;) {
    CORDON_TRY(const std::size_t bytes, kernel::getdents64(directory, buffer));
    if (bytes == 0) return {};
    for (std::size_t at = 0; at + kName < bytes;) {
      unsigned short length = 0;
      std::memcpy(&length, &buffer[at + kLength], sizeof length);
      if (length <= kName || at + length > bytes) return base::fail(kernel::Errno{EIO, "getdents64"});
      std::memcpy(&entry.inode, &buffer[at + kInode], sizeof entry.inode);
      entry.type = static_cast<unsigned char>(buffer[at + kType]);
      const char* start = reinterpret_cast<const char*>(&buffer[at + kName]);
      entry.name.assign(start, strnlen(start, length - kName));
      at += length;
      if (entry.name == "." || entry.name == "..") continue;
      if (!each(entry)) return {};
    }
  }
}

plan::AliasAnswer scan_aliases(const plan::AliasQuestion& question, const MountTable& mounts,
                               const AliasSettings& settings) {
  AliasSearch search(question, mounts, settings);
  look_at_stores(search);
  if (!search.stopped() && !search.stores.empty()) compare_mounts(search);
  search.entries_seen = 0;
  if (!search.stopped() && !search.linked.empty()) walk_trees(search);
  std::ranges::sort(search.answer.found);
  search.answer.found.erase(std::ranges::unique(search.answer.found).begin(), search.answer.found.end());
  return std::move(search.answer);
}

}  // namespace cordon::host
