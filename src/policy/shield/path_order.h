// The order of every table and list of shields: '/' comes before all other bytes, so that a directory stands right
// before what lies below it, and both are one range. (By bytes alone ".ssh-old" would stand between ".ssh" and
// ".ssh/id".)
#pragma once

#include <algorithm>
#include <string_view>

namespace cordon::policy::shield {

inline bool path_before(std::string_view left, std::string_view right) {
  const std::size_t common = std::min(left.size(), right.size());
  const std::size_t at = static_cast<std::size_t>(
      std::mismatch(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(common), right.begin()).first -
      left.begin());
  if (at == common) return left.size() < right.size();
  if (left[at] == '/' || right[at] == '/') return left[at] == '/';
  return static_cast<unsigned char>(left[at]) < static_cast<unsigned char>(right[at]);
}

/// Whether `path` is `directory` or lies below it, by whole components. Both normal; "/" holds everything absolute.
inline bool path_within(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace cordon::policy::shield
