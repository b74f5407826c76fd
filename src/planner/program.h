// What is started: the entrypoint or its interpreter, followed through `#!` lines, `env` and links to the ELF file that
// the kernel would end at.
//
// That file is started directly, with the argv that the kernel (and env) would have made: so a script runs under
// exec: none, where one execve is let through and env's would be a second, and the same interpreter runs whatever PATH
// says inside. What still needs a second start (a wrapper, a version manager's shim) is refused under exec: none with
// the line that asked, and started as it is under exec: all.
#pragma once

#include <string>
#include <vector>

#include "planner/draft.h"
#include "planner/identity.h"
#include "planner/mounts.h"

namespace cordon::planner {

struct Program {
  bool found = false;
  std::string path;               ///< the ELF file, real
  std::vector<std::string> argv;  ///< argv[0] as spelled: venvs and multi-call programs look at it
  std::string working_directory;
  const plan::PathFact* entrypoint = nullptr;
  plan::ProgramFact chain;  ///< shims left out
};

/// Everything wrong with the entrypoint and the interpreter is refused; then found is false.
Program find_program(Draft& draft, const Identity& identity);

/// Paths that must be known once the program is: install prefixes, virtual environments, the ELF loader, the store.
std::vector<std::string> program_questions(const policy::Policy& policy, const plan::HostFacts& facts);

/// The files of the chain, their links, and what an interpreter needs beside itself.
void want_program(const Draft& draft, const Program& program, std::vector<Want>& wants, std::vector<Link>& links);

/// The real path of the program's ELF loader; "" for a static program or where it is not known.
std::string loader_of(const plan::HostFacts& facts, const Program& program);

}  // namespace cordon::planner
