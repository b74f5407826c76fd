// exec: as a list, second half: every mount is noexec but for what the closure names. A program is bound over itself
// without noexec and may be started (by Landlock's rules nothing else may); a library may be mapped.
//
// Of the system's own libraries the whole directory that the loader lies in may be mapped, and of a known interpreter
// its directory of modules: much of what is in them is loaded by name while a program runs, and no reading of files
// tells what. So a program that lies among them can be mapped by a loader that is started for it (`ld.so PROGRAM`); it
// is the system's, root's own, and nothing that the target brought or wrote. Nobody is shown a file because of this
// list.
//
// Another run of the same approval decides again what a name, a link and a search lead to. So wherever the target may
// write on the way to a file (a directory that is searched before it, a link, a directory left by ".."), it is refused.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "planner/draft.h"
#include "planner/identity.h"
#include "planner/mounts.h"

namespace cordon::planner {

struct ExecQuestions {
  std::vector<std::string> paths, programs, libraries;
  std::string library_path;
};
/// Nothing but where exec is a list.
ExecQuestions exec_list_questions(const policy::Policy& policy, const plan::HostFacts& facts);

/// After every other want is known. Answers the real paths of what may be started.
std::vector<std::string> want_exec_list(Draft& draft, const Identity& identity, std::vector<Want>& wants);

/// What is started or mapped and may have another name (hard links) whose bytes the target could change; sorted. The
/// system's own files are root's.
std::vector<std::string> linked_code(const Draft& draft, const Identity& identity);

/// Directories outside the base that may be mapped whole, with the line of the list.
struct ListedModules {
  std::string directory;
  base::Span at;
};
std::vector<ListedModules> listed_modules(const policy::Policy& policy, const plan::HostFacts& facts);

/// Programs of the list, by their real paths, whose work is to run what they are given; with the line of each.
struct ListedInterpreter {
  std::string program;
  base::Span at;
};
std::vector<ListedInterpreter> listed_interpreters(const policy::Policy& policy, const plan::HostFacts& facts);

}  // namespace cordon::planner
