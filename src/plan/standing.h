// Standing: what can be told of a path by the calls that named it and what stands there: a directory that was only
// found, as by `mkdir -p`; a link that was only named and not followed. Read by the draft and by the report, which must
// judge alike.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "plan/observation.h"
#include "plan/path_calls.h"

namespace cordon::plan {

/// Of a directory that stood before the run. Nothing is ever made in its place: mkdir, symlink, link and mknod fail
/// there, and whoever calls one and then only looks, enters or lists is on the way to something else.
inline bool only_finds_it_standing(const ObservedPath& one) {
  constexpr std::size_t kMostCalls = 8;  // of which there may have been more
  constexpr std::array kMakers = std::to_array<std::string_view>(
      {"link", "linkat", "mkdir", "mkdirat", "mknod", "mknodat", "symlink", "symlinkat"});
  const auto is_maker = [&](std::string_view call) { return std::ranges::find(kMakers, call) != kMakers.end(); };
  const auto changes_nothing = [&](std::string_view call) {
    if (is_maker(call)) return true;
    const auto row =
        std::ranges::find(kPathCalls, call, [](const PathCall& each) { return std::string_view(each.name); });
    if (row == kPathCalls.end()) return false;
    if (row->form == CallForm::kOpen || row->form == CallForm::kHow)
      return (one.acts & (kActRead | kActEnumerate)) != 0;  // opened for reading: for writing no directory is
    return ((row->first.acts | row->second.acts) & kActWrite) == 0;
  };
  return one.calls.size() < kMostCalls && std::ranges::any_of(one.calls, is_maker) &&
         std::ranges::all_of(one.calls, changes_nothing);
}

/// Whether this call goes where a link of that name leads. Who makes, renames, removes or looks at a link goes nowhere.
inline bool call_follows_link(std::string_view call) {
  constexpr std::array kNever = std::to_array<std::string_view>(
      {"lchown",    "lgetxattr", "link",    "linkat",    "llistxattr", "lremovexattr", "lsetxattr", "lstat",
       "mkdir",     "mkdirat",   "mknod",   "mknodat",   "readlink",   "readlinkat",   "rename",    "renameat",
       "renameat2", "rmdir",     "symlink", "symlinkat", "unlink",     "unlinkat"});
  return std::ranges::find(kNever, call) == kNever.end();
}

/// Whether some call of it did.
inline bool follows_link(const ObservedPath& one) {
  return one.calls.empty() || std::ranges::any_of(one.calls, call_follows_link);
}

}  // namespace cordon::plan
