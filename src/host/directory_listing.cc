#include "host/directory_listing.h"

#include <algorithm>

namespace cordon::host {
namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Lower case; bytes that are not ASCII are left out, because a directory that folds case may take them for anything.
std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

/// All of `part`, in this order, somewhere in `whole`.
bool is_subsequence(std::string_view part, std::string_view whole) {
  for (const char c : whole) {
    if (!part.empty() && part.front() == c) part.remove_prefix(1);
  }
  return part.empty();
}

}  // namespace

DirectoryListing::DirectoryListing(const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    std::string plain = folded(entry);
    if (is_ascii(entry)) {
      ascii_.insert(std::move(plain));
    } else {
      others_.push_back(std::move(plain));
    }
  }
}

bool DirectoryListing::may_have(std::string_view name) const {
  const std::string plain = folded(name);
  return !is_ascii(name) || ascii_.contains(plain) ||
         std::ranges::any_of(others_, [&](const std::string& other) { return is_subsequence(other, plain); });
}

}  // namespace cordon::host
