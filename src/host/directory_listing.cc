#include "host/directory_listing.h"

#include <algorithm>
#include <cstdint>

namespace cordon::host {
namespace {

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_ascii(c); });
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Lower case; bytes that are not ASCII are left out, because a directory that folds case may take them for anything.
std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_ascii(c)) out += lower(c);
  }
  return out;
}

/// The same for every spelling of one name (FNV-1a).
std::size_t mark_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(lower(c))) * 0x100000001b3;
  return static_cast<std::size_t>(hash ^ (hash >> 32U));
}

/// All of `part`, in this order, somewhere in `whole`.
bool is_subsequence(std::string_view part, std::string_view whole) {
  for (const char c : whole) {
    if (!part.empty() && part.front() == c) part.remove_prefix(1);
  }
  return part.empty();
}

}  // namespace

std::string below_of(std::string_view directory, std::string_view name) {
  const std::string_view start = directory == "/" ? std::string_view() : directory;
  std::string out;
  out.reserve(start.size() + 1 + name.size());
  out.append(start);
  if (!name.empty()) out.append("/").append(name);
  return out.empty() ? "/" : out;
}

DirectoryListing::DirectoryListing(const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    std::string plain = folded(entry);
    if (is_ascii(entry)) {
      marks_.set(mark_of(entry) % kMarks);
      ascii_.insert(std::move(plain));
    } else {
      others_.push_back(std::move(plain));
    }
  }
}

bool DirectoryListing::may_have(std::string_view name) const {
  if (!is_ascii(name)) return true;
  if (others_.empty() && !marks_.test(mark_of(name) % kMarks)) return false;
  const std::string plain = folded(name);
  return ascii_.contains(plain) ||
         std::ranges::any_of(others_, [&](const std::string& other) { return is_subsequence(other, plain); });
}

}  // namespace cordon::host
