// Version managers put a small program of each name on PATH that finds the real one and starts it. Under exec: none
// that second start is refused, and under exec: all the manager's own files would have to be visible; so the planner
// finds what the manager would find, from the same files, and starts that.
//
// Known: the pyenv family (shims/NAME, a script), asdf (the same, with its own installs), mise and volta (links to one
// binary). What the files do not say for sure is not guessed: the shim is then refused, or started as it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/draft.h"

namespace cordon::planner {

/// The chain of the program that the policy asks for, with a shim in it replaced by what it would start; nothing where
/// nobody looked it up.
std::optional<plan::ProgramFact> program_chain(const policy::Policy& policy, const plan::HostFacts& facts);

struct ShimQuestions {
  std::vector<std::string> paths, directories, texts, programs;
};
ShimQuestions shim_questions(const policy::Policy& policy, const plan::HostFacts& facts);

/// The place in `chain` of an interpreter that only starts another program; nothing if every one does its own work.
std::optional<std::size_t> shim_in(const policy::Policy& policy, const plan::ProgramFact& chain);

}  // namespace cordon::planner
