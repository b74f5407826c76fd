// What a journal holds of one mount point: where it was made and by what it is known again.
//
// Fixed in size and plain, so that the janitor reads it with one call and believes none of it: valid() is asked first.
// It is written twice: before the point is made, without its identity, and after that with it. An entry without an
// identity is of a run that was killed in between; its point is known by its age, its owner and by being empty.
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "kernel/file.h"

namespace cordon::enforce::hold {

inline constexpr std::uint64_t kEntryMagic = 0x31444c4f48524f43;  // "CORHOLD1"
inline constexpr std::size_t kMostEntries = 1'024;

struct Identity {
  std::uint64_t device = 0, inode = 0;
  std::uint64_t birth_ns = 0;  ///< 0: the file system keeps none
  friend bool operator==(const Identity&, const Identity&) = default;
};

struct Entry {
  std::uint64_t magic = kEntryMagic;
  Identity directory_id;
  Identity point;                   ///< inode 0: not known
  std::uint64_t made_after_ns = 0;  ///< of the file system's clock
  std::uint32_t type = S_IFDIR;     ///< or S_IFREG
  std::uint32_t text = 0;           ///< plan::step::StubText
  std::array<char, 256> name{};
  std::array<char, 4096> directory{};
};
static_assert(sizeof(Entry) == 8 + 24 + 24 + 8 + 8 + 256 + 4096, "no padding: every byte is written");

/// What the run wrote into the point (the janitor knows no plan).
constexpr std::string_view text_of(const Entry& entry) { return entry.text == 0 ? "" : ".\n"; }

inline std::uint64_t nanoseconds(const struct ::statx_timestamp& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}
inline Identity identity_of(const struct ::statx& facts) {
  return {.device = ::makedev(facts.stx_dev_major, facts.stx_dev_minor),
          .inode = facts.stx_ino,
          .birth_ns = (facts.stx_mask & STATX_BTIME) != 0 ? nanoseconds(facts.stx_btime) : 0};
}
/// A device may have another number after a restart; an inode that was born at the same nanosecond is the same one.
inline bool is_same(const Identity& a, const Identity& b) {
  if (a.inode != b.inode || a.birth_ns != b.birth_ns) return false;
  return a.birth_ns != 0 || a.device == b.device;
}

inline bool is_terminated(const char* text, std::size_t size) { return std::memchr(text, '\0', size) != nullptr; }

inline bool valid(const Entry& entry) {
  if (entry.magic != kEntryMagic || entry.text > 1) return false;
  if (entry.type != S_IFDIR && entry.type != S_IFREG) return false;
  if (!is_terminated(entry.name.data(), entry.name.size())) return false;
  if (!is_terminated(entry.directory.data(), entry.directory.size()) || entry.directory[0] != '/') return false;
  const char* name = entry.name.data();
  const bool dots = std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
  return *name != '\0' && !dots && std::strchr(name, '/') == nullptr;
}

}  // namespace cordon::enforce::hold
