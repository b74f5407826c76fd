// exec: as a list, second half: every mount is noexec but for what the closure names. A program is bound over itself
// without noexec and may be started (by Landlock's rules nothing else may); a library may be mapped.
//
// Of the system's own libraries the whole directory that the loader lies in may be mapped, and of an interpreter its
// directory of modules: much of what is in them is loaded by name while a program runs, and no reading of files tells
// what. So a program that lies among them can be mapped by a loader that is started for it (`ld.so PROGRAM`); it is the
// system's, root's own, and nothing that the target brought or wrote. Nobody is shown a file because of this list.
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

/// Programs of the list, by their real paths, whose work is to run what they are given; with the line of each.
struct ListedInterpreter {
  std::string program;
  base::Span at;
};
std::vector<ListedInterpreter> listed_interpreters(const policy::Policy& policy, const plan::HostFacts& facts);

}  // namespace cordon::planner
