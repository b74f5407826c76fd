// Observations: what a watched run asked for. Filled by observe/ from system-call notifications; read by `cordon
// profile`, `run --explain` and the report.
//
// They are what the target said, not what the kernel did: a path is read from the target once, by a supervisor that
// lets the call go on, and the target may have rewritten it in between. So nothing is ever decided by them; a draft
// made from them is shown to a person and enforced like any other policy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cordon::plan {

/// How closely a run is watched.
enum class Watching : std::uint8_t {
  kNothing,
  kPrograms,  ///< --record-exec: every program that was started
  kPaths,     ///< --explain, profile: every path that was named as well
};

/// What a path was named for; a set of these.
enum PathAct : std::uint32_t {
  kActRead = 1U << 0U,       ///< opened for reading, or the source of a link
  kActWrite = 1U << 1U,      ///< opened for writing, made, renamed, removed, or its metadata changed
  kActProbe = 1U << 2U,      ///< only looked at: stat, access, readlink
  kActExecute = 1U << 3U,    ///< given to execve
  kActEnumerate = 1U << 4U,  ///< opened as a directory
  kActConnect = 1U << 5U,    ///< connected to, a unix socket
  kActEnter = 1U << 6U,      ///< chdir
};

struct ObservedPath {
  std::string path;        ///< absolute, as the target sees it; no link followed, '..' only behind a name
  std::uint32_t acts = 0;  ///< PathAct
  std::uint64_t count = 0;
  std::vector<std::string> programs;  ///< that named it (resolved path of the program), at most 8, first come first
  std::vector<std::string> calls;     ///< names of the system calls, at most 8
  friend bool operator==(const ObservedPath&, const ObservedPath&) = default;
};

struct ExecutedProgram {
  std::string path;               ///< of the program that runs after the call: the kernel's own word, not the target's
  std::vector<std::string> argv;  ///< capped in number and length
  bool argv_cut = false;
  std::uint64_t count = 1;          ///< equal ones are counted
  std::vector<std::string> loaded;  ///< the `#!` chain and the loader, as the kernel opened them
  friend bool operator==(const ExecutedProgram&, const ExecutedProgram&) = default;
};

/// Calls that name a path which could not be told.
struct Loss {
  std::string why;  ///< kebab-case: "unreadable", "too-long", "directory-gone", "too-many", "end-not-seen"
  std::uint64_t count = 0;
  friend bool operator==(const Loss&, const Loss&) = default;
};

struct Observations {
  Watching watching = Watching::kNothing;
  std::vector<ObservedPath> paths;        ///< each once, in the order of first sight, bounded
  std::vector<ExecutedProgram> programs;  ///< in the order of first sight, bounded
  std::uint64_t lost = 0;                 ///< calls whose path, or program, could not be told or had no room
  std::vector<Loss> losses;               ///< the same by reason
  bool complete = true;                   ///< no bound was met and nothing was lost
  friend bool operator==(const Observations&, const Observations&) = default;
};

}  // namespace cordon::plan
