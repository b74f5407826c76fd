// The calls that a watched run reports: which of their arguments name paths, and what for.
//
// One table for every machine: the planner makes the filter from the names (libseccomp knows their numbers there) and
// puts the numbers into the plan; observe/ reads the arguments by the same rows. Calls that the library does not know
// yet have their number here: from 424 on it is the same on all machines. Descriptors are not followed: what fstat,
// fchmod or an empty path with AT_EMPTY_PATH mean was named when it was opened. fork, clone and close are not here:
// a notification of each would cost much and tell nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "plan/observation.h"

namespace cordon::plan {

enum class CallForm : std::uint8_t {
  kPlain,
  kOpen,      ///< the flags decide
  kHow,       ///< they stand in a structure of the target's
  kExec,      ///< execve, execveat
  kSocket,    ///< the path is in an address, if that is of a unix socket
  kSend,      ///< sendto: only an address counts, and only where there is one
  kMessage,   ///< sendmsg: the address, if any, stands in a structure of the target's
  kMessages,  ///< sendmmsg: several of these
  kStart,     ///< called once by what has just been executed
  kEnd,       ///< the last call of a process
};

/// What an empty or a missing path means, where it means anything.
enum class Unnamed : std::uint8_t {
  kNothing,
  kByFlag,  ///< the descriptor, with AT_EMPTY_PATH
  kAlways,  ///< the descriptor
};

struct PathArgument {
  int directory = -1;  ///< which argument is a descriptor that it starts from; -1: the working directory
  int path = -1;       ///< which argument points to it; -1: none
  std::uint32_t acts = 0;
};

struct PathCall {
  const char* name = "";
  CallForm form = CallForm::kPlain;
  PathArgument first, second;
  int flags = -1;  ///< which argument they are (kOpen: open's; kHow: the structure, its size behind it; else AT_…)
  Unnamed unnamed = Unnamed::kNothing;
  int number = -1;
};

namespace path_calls {

constexpr PathCall named(const char* name, std::uint32_t acts) {
  return {.name = name, .first = {.path = 0, .acts = acts}};
}
constexpr PathCall named_at(const char* name, std::uint32_t acts) {
  return {.name = name, .first = {.directory = 0, .path = 1, .acts = acts}};
}
constexpr PathCall flagged_at(const char* name, std::uint32_t acts, int flags, int number = -1) {
  return {.name = name,
          .first = {.directory = 0, .path = 1, .acts = acts},
          .flags = flags,
          .unnamed = Unnamed::kByFlag,
          .number = number};
}
constexpr PathCall unnamed_at(const char* name, std::uint32_t acts) {
  PathCall out = named_at(name, acts);
  out.unnamed = Unnamed::kAlways;
  return out;
}
constexpr PathCall moved(const char* name) {
  return {.name = name, .first = {.path = 0, .acts = kActWrite}, .second = {.path = 1, .acts = kActWrite}};
}
constexpr PathCall moved_at(const char* name) {
  return {.name = name,
          .first = {.directory = 0, .path = 1, .acts = kActWrite},
          .second = {.directory = 2, .path = 3, .acts = kActWrite}};
}

}  // namespace path_calls

inline constexpr std::array kPathCalls = std::to_array<PathCall>({
    // The first four are all that is asked for where only programs are recorded.
    {.name = "execve", .form = CallForm::kExec, .first = {.path = 0, .acts = kActExecute}},
    {.name = "execveat",
     .form = CallForm::kExec,
     .first = {.directory = 0, .path = 1, .acts = kActExecute},
     .flags = 4,
     .unnamed = Unnamed::kByFlag},
    {.name = "set_tid_address", .form = CallForm::kStart},
    {.name = "exit_group", .form = CallForm::kEnd},
    // Opened.
    {.name = "open", .form = CallForm::kOpen, .first = {.path = 0}, .flags = 1},
    {.name = "openat", .form = CallForm::kOpen, .first = {.directory = 0, .path = 1}, .flags = 2},
    {.name = "openat2", .form = CallForm::kHow, .first = {.directory = 0, .path = 1}, .flags = 2, .number = 437},
    path_calls::named("creat", kActWrite),
    // Looked at.
    path_calls::named("stat", kActProbe),
    path_calls::named("lstat", kActProbe),
    path_calls::named("access", kActProbe),
    path_calls::named("readlink", kActProbe),
    path_calls::named("statfs", kActProbe),
    path_calls::named("getxattr", kActProbe),
    path_calls::named("lgetxattr", kActProbe),
    path_calls::named("listxattr", kActProbe),
    path_calls::named("llistxattr", kActProbe),
    path_calls::flagged_at("newfstatat", kActProbe, 3),
    path_calls::flagged_at("statx", kActProbe, 2),
    path_calls::named_at("faccessat", kActProbe),
    path_calls::flagged_at("faccessat2", kActProbe, 3, 439),
    path_calls::unnamed_at("readlinkat", kActProbe),
    path_calls::flagged_at("name_to_handle_at", kActProbe, 4),
    path_calls::flagged_at("getxattrat", kActProbe, 2, 464),
    path_calls::flagged_at("listxattrat", kActProbe, 2, 465),
    path_calls::flagged_at("file_getattr", kActProbe, 4, 468),
    {.name = "inotify_add_watch", .first = {.path = 1, .acts = kActProbe}},
    {.name = "fanotify_mark", .first = {.directory = 3, .path = 4, .acts = kActProbe}, .unnamed = Unnamed::kAlways},
    // Changed.
    path_calls::moved("rename"),
    path_calls::moved_at("renameat"),
    path_calls::moved_at("renameat2"),
    path_calls::named("mkdir", kActWrite),
    path_calls::named_at("mkdirat", kActWrite),
    path_calls::named("rmdir", kActWrite),
    path_calls::named("unlink", kActWrite),
    path_calls::named_at("unlinkat", kActWrite),
    path_calls::named("truncate", kActWrite),
    path_calls::named("mknod", kActWrite),
    path_calls::named_at("mknodat", kActWrite),
    path_calls::named("chmod", kActWrite),
    path_calls::named_at("fchmodat", kActWrite),
    path_calls::flagged_at("fchmodat2", kActWrite, 3, 452),
    path_calls::named("chown", kActWrite),
    path_calls::named("lchown", kActWrite),
    path_calls::flagged_at("fchownat", kActWrite, 4),
    path_calls::named("utime", kActWrite),
    path_calls::named("utimes", kActWrite),
    path_calls::unnamed_at("utimensat", kActWrite),
    path_calls::unnamed_at("futimesat", kActWrite),
    path_calls::named("setxattr", kActWrite),
    path_calls::named("lsetxattr", kActWrite),
    path_calls::named("removexattr", kActWrite),
    path_calls::named("lremovexattr", kActWrite),
    path_calls::flagged_at("setxattrat", kActWrite, 2, 463),
    path_calls::flagged_at("removexattrat", kActWrite, 2, 466),
    path_calls::flagged_at("file_setattr", kActWrite, 4, 469),
    {.name = "link", .first = {.path = 0, .acts = kActRead}, .second = {.path = 1, .acts = kActWrite}},
    {.name = "linkat",
     .first = {.directory = 0, .path = 1, .acts = kActRead},
     .second = {.directory = 2, .path = 3, .acts = kActWrite},
     .flags = 4,
     .unnamed = Unnamed::kByFlag},
    {.name = "symlink", .first = {.path = 1, .acts = kActWrite}},
    {.name = "symlinkat", .first = {.directory = 1, .path = 2, .acts = kActWrite}},
    {.name = "bind", .form = CallForm::kSocket, .first = {.path = 1, .acts = kActWrite}},
    // Gone to.
    {.name = "connect", .form = CallForm::kSocket, .first = {.path = 1, .acts = kActConnect}},
    {.name = "chdir", .first = {.path = 0, .acts = kActEnter}},
    // Sent to, without a connection. The filter leaves out what can have no address.
    {.name = "sendto", .form = CallForm::kSend, .first = {.path = 4, .acts = kActConnect}},
    {.name = "sendmsg", .form = CallForm::kMessage, .first = {.path = 1, .acts = kActConnect}, .flags = 2},
    {.name = "sendmmsg", .form = CallForm::kMessages, .first = {.path = 1, .acts = kActConnect}},
});
inline constexpr std::size_t kProgramCalls = 4;

/// A flag of sendmsg that means nothing to a unix socket (MSG_CONFIRM). The launcher's messages have it and are not
/// notified: the one that brings the listener could never be answered.
inline constexpr std::uint32_t kOwnMessage = 0x800;

/// The rows that a run which is watched so closely is notified of.
constexpr std::span<const PathCall> calls_of(Watching watching) {
  if (watching == Watching::kNothing) return {};
  return std::span(kPathCalls).first(watching == Watching::kPrograms ? kProgramCalls : kPathCalls.size());
}

}  // namespace cordon::plan
