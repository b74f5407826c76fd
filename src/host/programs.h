// Programs: a name or path followed to what the kernel would run in the end: PATH, `#!` lines, env(1).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "host/program_format.h"
#include "host/resolver.h"
#include "plan/host_facts.h"

namespace cordon::host {

/// Interpreters behind a program that the kernel follows before ELOOP; here for the whole chain, env included.
inline constexpr std::size_t kMostInterpreters = 5;

class Programs {
 public:
  Programs(Tree& tree, Resolver& resolver, std::string search_path)
      : tree_(tree), resolver_(resolver), search_path_(std::move(search_path)) {}

  /// `asked`: a path (relative ones from `working_directory`), or a bare name looked up on the search path, whose
  /// relative and empty entries are skipped: the directory that an attacker put us in must not choose the program.
  [[nodiscard]] plan::ProgramFact find(const std::string& asked, const std::string& working_directory);

 private:
  Resolver::Found look_up(const std::string& name, const std::string& working_directory,
                          std::vector<std::string>* passed_over);
  plan::ProgramHop describe(Resolver::Found found);
  void read_head(Node& file, plan::ProgramHop& hop);
  Resolver::Found follow(plan::ProgramHop& script, const std::string& working_directory);

  Tree& tree_;
  Resolver& resolver_;
  std::string search_path_;
};

}  // namespace cordon::host
