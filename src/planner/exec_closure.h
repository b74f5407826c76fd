// exec: as a list, first half: from the names in the list to the files that must be executable for them. Of each
// program its `#!` interpreters (env included, and what env looks up), its ELF loader, the libraries that the loader
// maps.
//
// The entrypoint's own chain is always in it. Names are looked up on the target's PATH, which is what the target's own
// look-ups will find. What is not known yet is a question; what cannot be is a problem with the line that asked. A file
// is a loader, a library or an interpreter's module by its name and place, and not because a file says so: whatever a
// program's headers name would be startable or mappable otherwise.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "planner/draft.h"

namespace cordon::planner {

enum class ExecKind : std::uint8_t {
  kProgram,  ///< may be started
  kLibrary,  ///< may be mapped executable, and not started
};

struct ExecFile {
  plan::PathFact fact;
  ExecKind kind = ExecKind::kProgram;
  std::string asked_by;  ///< "exec: git", quoted where need be; "entrypoint"
  base::Span at;
  bool named = false;  ///< the line itself names it
};

class ExecClosure {
 public:
  ExecClosure(const policy::Policy& policy, const plan::HostFacts& facts);

  // What is still to be asked; all empty where the closure is whole.
  std::vector<std::string> ask_paths, ask_programs, ask_libraries;
  std::string library_path;  ///< the target's LD_LIBRARY_PATH

  std::vector<ExecFile> files;
  std::vector<std::string> library_directories;  ///< the loaders' own: the system's libraries, opened whole
  std::vector<std::string> module_directories;   ///< where an interpreter of this name keeps what it loads later
  struct Problem {
    Code code;
    base::Span at;
    std::string message, mend;
  };
  std::vector<Problem> problems;
  /// Looked into before or at a find: whoever may write in one of them chooses what the next run starts or maps.
  struct Searched {
    std::string directory;
    std::string asked_by;
    std::string what;  ///< "git", "a library"
    base::Span at;
  };
  std::vector<Searched> searched;
  struct Missing {
    std::string asked_by, library;
    base::Span at;
  };
  std::vector<Missing> missing;

 private:
  struct Asker {
    std::string words;
    base::Span at;
    bool may_fail = false;  ///< of the entrypoint: its own checks have said what is wrong
  };
  enum class Chain { kFromHere, kAsStarted };  ///< env's choice: the target's PATH, or what the planner itself starts
  void entrypoint();
  void entry(const policy::PathGrant& grant);
  void program(const std::string& path, const Asker& asker, bool named);
  void look_up(const std::string& name, const Asker& asker);
  void follow(const plan::ProgramFact& program, const Asker& asker, Chain chain, bool named);
  bool check(const plan::ProgramFact& program, std::size_t hop, const Asker& asker);
  void elf(const plan::ProgramHop& hop, const Asker& asker);
  void loader(const plan::ProgramHop& hop, const Asker& asker);
  void libraries(const plan::ProgramHop& hop, const Asker& asker);
  void modules(const plan::PathFact& file);
  void libraries_of_java(const std::string& prefix);
  void modules_below(const std::string& prefix, const std::set<std::string>& names);
  void search(std::string directory, std::string what, const Asker& asker);
  void add(const plan::PathFact& fact, ExecKind kind, const Asker& asker, bool named = false);
  void fail(Code code, const Asker& asker, std::string message, std::string mend);
  /// What no check of the entrypoint says.
  void fail_for_all(Code code, const Asker& asker, std::string message, std::string mend);
  const plan::PathFact* known(const std::string& path);

  const policy::Policy& policy_;
  const plan::HostFacts& facts_;
  std::string search_path_;
  std::set<std::string> programs_, names_, searched_;
  std::size_t look_ups_ = 0;
  std::map<std::string, std::size_t> at_;  ///< into `files`, by real path
};

}  // namespace cordon::planner
