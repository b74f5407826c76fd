// Which of a command's changes are outputs: declared names, lock files, manifests of which only the allowed keys
// changed, directories that git ignores as a whole, build directories by their mark, machine code, and files made of a
// template.
//
// What git's index tracks is source, whatever its name says. Read from the host's files and from the run's own writes
// when every process of the run is gone; nothing is executed, and no link is followed.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "cli/command.h"
#include "cli/git_index.h"
#include "enforce/promote/promote.h"
#include "policy/ecosystem/ignore.h"

namespace cordon::cli {

class OutputClasses {
 public:
  /// `upper` holds what the run wrote, `workspace` is the host's.
  OutputClasses(const CommandRun& run, base::FdView upper, base::FdView workspace);

  [[nodiscard]] bool index_is_unreadable() const { return tracked_.is_unreadable(); }

  enforce::promote::Class of(std::string_view path, enforce::promote::Kind kind);

 private:
  [[nodiscard]] bool is_built(const std::string& path, bool is_directory) const;
  [[nodiscard]] bool is_machine_code(const std::string& path) const;
  [[nodiscard]] bool is_generated(const std::string& path) const;
  [[nodiscard]] bool is_library_of(const std::string& path) const;
  bool is_of_another(const std::string& path);
  [[nodiscard]] bool replaces_another_kind(const std::string& path, enforce::promote::Kind kind) const;
  [[nodiscard]] bool leads_to_output(const std::string& path) const;
  [[nodiscard]] bool shadows_a_module(const std::string& path) const;
  enforce::promote::Class of_declared(const policy::ecosystem::Output& output, const std::string& path) const;
  enforce::promote::Class where_ignored(const std::string& path);
  void read_rules(const std::string& base) { read_rules(base, base.empty() ? ".gitignore" : base + "/.gitignore"); }
  void read_rules(const std::string& base, const std::string& file);

  const CommandRun& run_;
  base::FdView upper_, workspace_;
  Tracked tracked_;
  std::string below_;  ///< where in the workspace the command stands
  policy::ecosystem::IgnoreRules rules_;
  std::set<std::string> read_;
  std::map<std::string, std::optional<Tracked>> others_;  ///< of directories below, where a repository is one
};

}  // namespace cordon::cli
