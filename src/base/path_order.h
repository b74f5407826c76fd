// The order of paths, in every table and list: '/' comes before all other bytes, so that a directory stands right
// before what lies below it, and both are one range. (By bytes alone ".ssh-old" would stand between ".ssh" and
// ".ssh/id".)
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cordon::base {

static_assert(std::endian::native == std::endian::little);

/// How many bytes both begin with. By words: paths of one home have long beginnings in common.
inline std::size_t common_prefix(std::string_view left, std::string_view right) {
  const std::size_t most = std::min(left.size(), right.size());
  std::size_t at = 0;
  for (; at + 8 <= most; at += 8) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::memcpy(&a, left.data() + at, 8);
    std::memcpy(&b, right.data() + at, 8);
    if (a != b) return at + static_cast<std::size_t>(std::countr_zero(a ^ b)) / 8;
  }
  while (at < most && left[at] == right[at]) ++at;
  return at;
}

inline bool path_before(std::string_view left, std::string_view right) {
  const std::size_t at = common_prefix(left, right);
  if (at == left.size() || at == right.size()) return left.size() < right.size();
  if (left[at] == '/' || right[at] == '/') return left[at] == '/';
  return static_cast<unsigned char>(left[at]) < static_cast<unsigned char>(right[at]);
}

/// Whether `path` is `directory` or lies below it, by whole components. Both normal; "/" holds everything absolute.
inline bool path_within(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace cordon::base
